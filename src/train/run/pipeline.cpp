// SPDX-License-Identifier: Apache-2.0
#include "train/run/pipeline.hpp"

#include <algorithm>
#include <thread>

namespace cox::train {
namespace {

Bytes bytes_of(std::span<const float> values) {
  return Bytes{static_cast<std::int64_t>(values.size_bytes())};
}

}  // namespace

Pipeline::Pipeline(const TrainJob& job, const StagePlan& plan, GroupTransport& links, Marks& marks,
                   MemoryCount& memory, std::vector<std::unique_ptr<learn::ProblemStage>> chunks)
    : job_(job), plan_(plan), links_(links), marks_(marks), memory_(memory), share_(job.share()) {
  std::int64_t largest = 0;
  for (auto& made : chunks) {
    const learn::ProblemStage::Sizes& sizes = made->sizes();
    largest = std::max(largest, sizes.kept);
    chunks_.push_back({.stage = std::move(made),
                       .given = floats(sizes.given),
                       .of_taken = floats(sizes.taken),
                       .given_sent = {},
                       .of_taken_sent = {}});
  }
  if (job.pipeline->recompute) again_ = floats(largest);
}

CountedFloats Pipeline::floats(std::int64_t of_sample) {
  return {memory_, Use::Activations, static_cast<std::size_t>(of_sample * share_.samples)};
}

std::uint64_t Pipeline::number_of(int place, int micro_batch, bool back) const {
  const std::int64_t message = std::int64_t{place} * plan_.most_leaves() + micro_batch;
  return first_number_ + static_cast<std::uint64_t>(2 * message + (back ? 1 : 0));
}

learn::Shard Pipeline::shard(int micro_batch) const {
  const std::int64_t leaf = plan_.leaves().first + micro_batch;
  return share_.shard(job_.workers, static_cast<int>(leaf / share_.leaves), step_, leaf % share_.leaves);
}

Status Pipeline::take(int place, std::uint64_t number, std::span<float> values) {
  const int from = plan_.stage_of(place);
  links_.receive(from, number, std::as_writable_bytes(values));
  marks_.wait(links_.member(from));
  const Status came = links_.wait_for(from, number);
  marks_.came(links_.member(from), bytes_of(values));
  return came;
}

Status Pipeline::make_free(int place, std::optional<std::uint64_t>& sent) {
  if (!sent) return {};
  const int to = plan_.stage_of(place);
  marks_.wait(links_.member(to));
  const Status taken = links_.wait_for(to, *sent);
  marks_.taken();
  sent.reset();
  return taken;
}

void Pipeline::send(int place, std::uint64_t number, std::span<const float> values,
                    std::optional<std::uint64_t>& sent) {
  const int to = plan_.stage_of(place);
  marks_.sent(links_.member(to), bytes_of(values));
  links_.send(to, number, std::as_bytes(values));
  sent = number;
}

std::span<float> Pipeline::kept(const Key& key, Live& live) {
  if (!job_.pipeline->recompute) return live.kept.all();
  const std::int64_t count =
      chunks_[static_cast<std::size_t>(key.first)].stage->sizes().kept * share_.samples;
  return again_.all().first(static_cast<std::size_t>(count));
}

void Pipeline::compute_forward(const Key& key, Live& live, std::span<float> given) {
  Chunk& chunk = chunks_[static_cast<std::size_t>(key.first)];
  marks_.begin(StepPart::Forward, {});
  const double loss = chunk.stage->forward(x_, shard(key.second), live.taken.all(), kept(key, live), given);
  marks_.end();
  if (given.data() == chunk.given.all().data()) loss_ += loss;
  here_ = key;
}

void Pipeline::recall(const Key& key, Live& live, std::span<float> room) {
  if (job_.pipeline->recompute && here_ != key) compute_forward(key, live, room);
}

Status Pipeline::forward(const Key& key, Seconds pause) {
  const int place = plan_.place(key.first);
  Chunk& chunk = chunks_[static_cast<std::size_t>(key.first)];
  const learn::ProblemStage::Sizes& sizes = chunk.stage->sizes();
  Live live{.taken = floats(sizes.taken), .kept = {}, .of_given = {}, .between = {}};
  if (!job_.pipeline->recompute) live.kept = floats(sizes.kept);
  if (sizes.taken > 0) COX_CHECK(take(place - 1, number_of(place - 1, key.second, false), live.taken.all()));
  COX_CHECK(make_free(place + 1, chunk.given_sent));
  if (pause > Seconds{}) {
    marks_.begin(StepPart::Forward, {});
    std::this_thread::sleep_for(pause);
    marks_.end();
  }
  compute_forward(key, live, chunk.given.all());
  if (sizes.given > 0)
    send(place + 1, number_of(place, key.second, false), chunk.given.all(), chunk.given_sent);
  live_.emplace(key, std::move(live));
  return {};
}

Status Pipeline::backward(const Key& key) {
  const int place = plan_.place(key.first);
  Chunk& chunk = chunks_[static_cast<std::size_t>(key.first)];
  const learn::ProblemStage::Sizes& sizes = chunk.stage->sizes();
  Live& live = live_.at(key);
  live.of_given = floats(sizes.given);
  live.between = floats(sizes.between);
  recall(key, live, live.of_given.all());
  if (sizes.given > 0)
    COX_CHECK(take(place + 1, number_of(place + 1, key.second, true), live.of_given.all()));
  COX_CHECK(make_free(place - 1, chunk.of_taken_sent));
  marks_.begin(StepPart::Gradient, {});
  chunk.stage->backward(x_, shard(key.second), live.taken.all(), kept(key, live), live.of_given.all(),
                        live.between.all(), chunk.of_taken.all());
  marks_.end();
  if (sizes.taken > 0)
    send(place - 1, number_of(place, key.second, true), chunk.of_taken.all(), chunk.of_taken_sent);
  return {};
}

void Pipeline::gradient(const Key& key, bool apart, const Done& done) {
  const auto at = live_.find(key);
  Live& live = at->second;
  learn::ProblemStage& stage = *chunks_[static_cast<std::size_t>(key.first)].stage;
  if (apart && job_.pipeline->recompute) {  // others may have been computed again since
    CountedFloats room = floats(stage.sizes().given);
    recall(key, live, room.all());
  }
  marks_.begin(StepPart::Gradient, {});
  stage.gradient(shard(key.second), live.taken.all(), kept(key, live), live.of_given.all(),
                 live.between.all(), g_);
  live_.erase(at);
  done(key.first, plan_.leaves().first + key.second);
  marks_.end();
}

Status Pipeline::run(std::int64_t step, std::span<const float> x, std::span<float> g, Seconds pause,
                     const Done& done) {
  step_ = step;
  x_ = x;
  g_ = g;
  loss_ = 0;
  here_.reset();
  first_number_ = links_.numbers(static_cast<std::uint64_t>(2 * plan_.places() * plan_.most_leaves()));
  using Kind = simulate::StageOp::Kind;
  for (const simulate::StageOp& op : plan_.order()) {
    const Key key{op.chunk, op.micro_batch};
    if (op.kind == Kind::Forward) COX_CHECK(forward(key, op.chunk == 0 ? pause : Seconds{}));
    if (op.kind == Kind::Backward || op.kind == Kind::BackwardInput) COX_CHECK(backward(key));
    if (op.kind == Kind::Backward || op.kind == Kind::BackwardWeight)
      gradient(key, op.kind == Kind::BackwardWeight, done);
  }
  for (int c = 0; c < plan_.chunks(); ++c) {
    Chunk& chunk = chunks_[static_cast<std::size_t>(c)];
    COX_CHECK(make_free(plan_.place(c) + 1, chunk.given_sent));
    COX_CHECK(make_free(plan_.place(c) - 1, chunk.of_taken_sent));
  }
  return {};
}

}  // namespace cox::train
