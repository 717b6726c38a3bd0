// SPDX-License-Identifier: Apache-2.0
#include "train/run/mixed_shards.hpp"

#include <algorithm>
#include <thread>

#include "cox/base/assert.hpp"
#include "cox/learn/schedule.hpp"

#include "train/run/shards.hpp"
#include "train/transport/exchange.hpp"

namespace cox::train {
namespace {

constexpr std::int64_t kCodeBytes = sizeof(std::uint16_t);

template <class Value>
std::span<Value> within(std::span<Value> all, const Stretch& s) {
  return all.subspan(static_cast<std::size_t>(s.first), static_cast<std::size_t>(s.count));
}

Bytes code_bytes(const Stretch& s) {
  return Bytes{s.count * kCodeBytes};
}

std::size_t elements(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

}  // namespace

std::vector<Stretch> working_units(const learn::Problem& problem) {
  std::vector<Stretch> units;
  for (const learn::ParameterUnit& u : problem.units()) units.push_back({.first = u.first, .count = u.count});
  return units;
}

Parting held_parting(const learn::Problem& problem, TrainLayout layout, int ranks) {
  if (layout != TrainLayout::DataParallel) return parting_of(problem, layout, ranks);
  return {{{.first = 0, .count = problem.parameters()}}, 1};
}

MixedShards::MixedShards(const TrainJob& job, const learn::CompressorSpec& precision, TrainLayout layout,
                         const learn::OptimizerSpec& optimizer, Transport& transport, Marks& marks,
                         std::unique_ptr<learn::Problem> problem)
    : job_(job),
      layout_(layout),
      format_(precision.kind == learn::CompressorKind::Fp16 ? learn::NumberFormat::Fp16
                                                            : learn::NumberFormat::Bf16),
      spec_(optimizer),
      transport_(transport),
      marks_(marks),
      problem_(std::move(problem)),
      parting_(parting_of(*problem_, layout, transport.ranks())),
      work_(working_units(*problem_)),
      held_(held_parting(*problem_, layout, transport.ranks())),
      x_(problem_->parameters(), memory_, Use::Parameters),
      g_(problem_->parameters(), memory_, Use::Gradients),
      sum_(job.workers, parting_, transport.rank(), memory_, format_),
      optimizer_(optimizer, elements(held_.kept(is_whole() ? 0 : transport.rank()))),
      pieces_(pieces_of(held_, is_whole() ? 0 : transport.rank(), problem_->tensors())),
      alone_(transport, 0, {transport.rank()}),
      norms_(held_, problem_->tensors(), is_whole() ? static_cast<Transport&>(alone_) : transport),
      order_(units_needed(work_.size())),
      most_leaves_(most_leaves(job.workers, transport.ranks())),
      passes_(problem_->passes(job.samples)),
      users_(work_.size()) {
  const std::size_t all = elements(parting_.elements()), kept = elements(parting_.kept(transport.rank()));
  const std::size_t held = is_whole() ? all : kept;
  if (precision.loss_scale) scale_.emplace(*precision.loss_scale);
  codes_ = CountedCodes(memory_, Use::Parameters, parts_parameters() ? kept : all);
  g_codes_ = CountedCodes(memory_, Use::Gradients, parts_gradients() ? kept : all);
  master_ = CountedFloats(memory_, Use::Master, held);
  const std::size_t floats = learn::moments_of(spec_.kind) * held + learn::direction_floats(spec_.kind, held);
  memory_.take(Use::Optimizer, Bytes{static_cast<std::int64_t>(floats * sizeof(float))});
  std::vector<float> first(all);
  problem_->initial(first);
  take_master(first);
}

template <class Value>
std::span<Value> MixedShards::part_in(std::span<Value> values, bool parted, std::size_t unit) const {
  const Stretch part = parting_.part(unit, transport_.rank());
  const std::int64_t first = parted ? parting_.place(unit, transport_.rank()) : part.first;
  return within(values, Stretch{.first = first, .count = part.count});
}

/// The master copy's part of all parameters, and the codes of as many as are here.
void MixedShards::take_master(std::span<const float> all) {
  for (std::size_t u = 0; u < parting_.units(); ++u) {
    const std::span<const float> own = part_in(all, false, u);
    if (!is_whole()) std::ranges::copy(own, part_in(master_.all(), true, u).begin());
    if (parts_parameters()) learn::encode_all(format_, own, 1, part_in(codes_.all(), true, u));
  }
  if (is_whole()) std::ranges::copy(all, master_.all().begin());
  if (!parts_parameters()) learn::encode_all(format_, all, 1, codes_.all());
}

MixedShards::Codes MixedShards::held_gradients() {
  if (is_whole() || parts_gradients()) return g_codes_.all();
  return part_in(g_codes_.all(), false, 0);
}

Result<std::optional<learn::Divergence>> MixedShards::step(std::int64_t number) {
  diverged_.reset();
  COX_CHECK(add_leaves(number));
  if (!parts_gradients()) {
    marks_.begin(is_whole() ? StepPart::AllReduce : StepPart::ReduceScatter,
                 Bytes{parting_.elements() * kCodeBytes});
    const Status summed = [&]() -> Status {
      COX_CHECK(reduce(0, parting_.units()));
      if (!is_whole()) return {};
      gather_unit<std::uint16_t>(transport_, parting_, 0, part_in(g_codes_.all(), false, 0), g_codes_.all());
      return transport_.wait();
    }();
    marks_.end();
    COX_CHECK(summed);
  }
  name_first();
  if (diverged_) return diverged_;
  COX_TRY(const bool over, overflowed());
  const float each = 1.0F / static_cast<float>(job_.workers);
  const float factor = scale_ ? each / scale_->factor() : each;
  if (!scale_ || scale_->end_step(over)) COX_CHECK(update(factor));
  return diverged_;
}

Status MixedShards::add_leaves(std::int64_t step) {
  const learn::StepShare share{.leaves = 1, .samples = job_.samples};
  const Stretch& own = sum_.leaves();
  bad_ = {};
  loss_ = 0;
  needed_ = 0;
  step_ = step;
  marks_.begin(StepPart::Gradient, {});
  if (injected_.delay > Seconds{}) std::this_thread::sleep_for(injected_.delay);
  // Those with fewer leaves wait first, so that the last leaf is everybody's last.
  for (leaf_ = 0; leaf_ < most_leaves_ && ended_; ++leaf_) {
    worker_ = own.end() - most_leaves_ + leaf_;
    if (worker_ < own.first) {
      idle_leaf();
      continue;
    }
    const learn::Shard shard = share.shard(job_.workers, static_cast<int>(worker_), step, 0);
    loss_ += problem_->gradient_by_units(x_.all(), shard, g_.all(), *this);
  }
  marks_.end();
  return ended_;
}

/// The gathers of a leaf that others have.
void MixedShards::idle_leaf() {
  if (!parts_parameters()) return;
  for (std::int64_t pass = 0; pass < passes_; ++pass)
    for (const std::size_t unit : order_) {
      need(unit);
      release(unit);
    }
}

void MixedShards::gather(std::size_t unit) {
  COX_ASSERT(!on_its_way_, "units are needed in their order");
  coming_ = CountedCodes(memory_, Use::Parameters, elements(work_[unit].count));
  gather_unit<std::uint16_t>(transport_, parting_, unit, part_in(codes_.all(), true, unit), coming_.all());
  on_its_way_ = unit;
}

void MixedShards::need(std::size_t unit) {
  if (!ended_) return;
  if (parts_parameters()) {
    marks_.end();
    marks_.begin(StepPart::AllGather, code_bytes(work_[unit]));
    if (on_its_way_ != unit) gather(unit);
    keep(transport_.wait());
    on_its_way_.reset();
    marks_.end();
    marks_.begin(StepPart::Gradient, {});
  }
  if (users_[unit]++ == 0) x_.open(work_[unit]);
  const Codes here = parts_parameters() ? coming_.all() : within(codes_.all(), work_[unit]);
  learn::decode_all(format_, here, 1, x_.of(work_[unit]));
  coming_ = {};
  if (!parts_parameters()) return;
  ++needed_;
  const std::size_t all = order_.size() * elements(passes_ * most_leaves_);
  const std::size_t next = order_[needed_ % order_.size()];
  if (ended_ && needed_ < all && users_[next] == 0) gather(next);
}

void MixedShards::release(std::size_t unit) {
  if (users_[unit] > 0 && --users_[unit] == 0) x_.close(work_[unit]);
}

void MixedShards::look_for_bad(const Stretch& unit) {
  const std::span<const float> leaf = g_.of(unit);
  const std::size_t at = learn::first_not_finite(leaf);
  if (at == leaf.size()) return;
  const Bad found{.worker = worker_, .at = unit.first + static_cast<std::int64_t>(at)};
  if (found.worker < bad_.worker || (found.worker == bad_.worker && found.at < bad_.at)) bad_ = found;
}

void MixedShards::done(std::size_t unit) {
  if (!ended_) return;
  if (unit == 0 && injected_.nan == step_ && leaf_ + 1 == most_leaves_)
    g_.all().front() = std::numeric_limits<float>::quiet_NaN();
  look_for_bad(work_[unit]);
  if (parts_gradients()) leaf_codes_ = CountedCodes(memory_, Use::Gradients, elements(work_[unit].count));
  const Codes codes = parts_gradients() ? leaf_codes_.all() : within(g_codes_.all(), work_[unit]);
  learn::encode_all(format_, g_.of(work_[unit]), scale_ ? scale_->factor() : 1, codes);
  g_.close(work_[unit]);
  // Layouts that keep all gradients sum them as one unit, when the last part of it is there.
  if (!parts_gradients()) {
    if (unit == 0) sum_.add(0, g_codes_.all());
    return;
  }
  if (sum_.add(unit, codes)) {
    marks_.end();
    marks_.begin(StepPart::ReduceScatter, code_bytes(work_[unit]));
    keep(reduce(unit, unit + 1));
    marks_.end();
    marks_.begin(StepPart::Gradient, {});
  }
  leaf_codes_ = {};
}

Status MixedShards::reduce(std::size_t first, std::size_t end) {
  // The unit that is done last has the first of all ranks' gradients that are no numbers with it, ahead of what is sent of the sums.
  if (first == 0) begin_exchange(transport_, bad_, votes_);
  for (std::size_t u = first; u < end; ++u) sum_.begin(transport_, u);
  COX_CHECK(transport_.wait());
  for (std::size_t u = first; u < end; ++u) {
    const Codes sum = sum_.finish(u), own = part_in(g_codes_.all(), parts_gradients(), u);
    if (sum.data() != own.data()) std::ranges::copy(sum, own.begin());
    sum_.end(u);
  }
  return {};
}

/// Nobody's where only the sum is none.
void MixedShards::name_first() {
  const Bad& first = *std::ranges::min_element(votes_, {}, &Bad::worker);
  if (first.worker >= job_.workers) return;
  diverged_ =
      learn::Divergence{.worker = static_cast<int>(first.worker),
                        .step = step_,
                        .tensor = learn::tensor_at(problem_->tensors(), static_cast<std::size_t>(first.at))};
}

Result<bool> MixedShards::overflowed() {
  if (!scale_) return false;
  const bool mine = !learn::all_finite(format_, held_gradients());
  if (is_whole()) return mine;
  COX_TRY(const std::vector<std::uint8_t> all, exchange(transport_, static_cast<std::uint8_t>(mine ? 1 : 0)));
  return std::ranges::find(all, 1) != all.end();
}

Status MixedShards::update(float factor) {
  marks_.begin(StepPart::Optimizer, {});
  const Codes sum = held_gradients();
  CountedFloats mean;  // of all at once where norms are taken
  const bool at_once = learn::takes_norms(spec_);
  if (at_once) {
    mean = CountedFloats(memory_, Use::Gradients, sum.size());
    learn::decode_all(format_, sum, factor, mean.all());
  }
  std::vector<learn::OptimizerPiece> pieces;
  std::size_t at = 0;
  for (const KeptPiece& p : pieces_) {
    pieces.push_back({.weight = problem_->tensors()[p.tensor].columns > 1,
                      .tensor = p.tensor,
                      .count = static_cast<std::size_t>(p.elements.count),
                      .x = master_.all().data() + at,
                      .g = at_once ? mean.all().data() + at : nullptr});
    at += pieces.back().count;
  }
  const double rate = learn::rate_factor(spec_, optimizer_.steps() + 1, job_.workers * job_.samples);
  Status stepped;
  if (at_once)
    stepped = optimizer_.step(pieces, rate, norms_);
  else
    optimizer_.step(pieces, rate, [&](std::size_t from, std::span<float> out) {
      learn::decode_all(format_, sum.subspan(from, out.size()), factor, out);
    });
  if (stepped && is_whole()) learn::encode_all(format_, master_.all(), 1, codes_.all());
  for (std::size_t u = 0; u < parting_.units() && stepped && !is_whole(); ++u)
    learn::encode_all(format_, part_in(master_.all(), true, u), 1,
                      part_in(codes_.all(), parts_parameters(), u));
  marks_.end();
  COX_CHECK(stepped);
  return is_whole() || parts_parameters() ? Status{} : send_parameters();
}

Status MixedShards::send_parameters() {
  marks_.begin(StepPart::AllGather, Bytes{parting_.elements() * kCodeBytes});
  for (std::size_t u = 0; u < parting_.units(); ++u)
    gather_unit<std::uint16_t>(transport_, parting_, u, part_in(codes_.all(), false, u),
                               within(codes_.all(), parting_.unit(u)));
  const Status gathered = transport_.wait();
  marks_.end();
  return gathered;
}

Result<std::span<const float>> MixedShards::whole(bool on_all_ranks) {
  if (is_whole()) return master_.all();
  collected_.resize(elements(parting_.elements()));
  COX_CHECK(collect(transport_, parting_, std::as_const(master_).all(), on_all_ranks, collected_));
  if (transport_.rank() != 0 && !on_all_ranks) collected_ = std::vector<float>();  // {} would keep its room
  return collected_;
}

Result<bool> MixedShards::all_finite() {
  const std::span<const float> own = std::as_const(master_).all();
  const bool finite = learn::first_not_finite(own) == own.size();
  if (is_whole()) return finite;
  COX_TRY(const std::vector<int> all, exchange(transport_, finite ? 1 : 0));
  return std::ranges::find(all, 0) == all.end();
}

Bytes MixedShards::optimizer_bytes() const {
  return Bytes{static_cast<std::int64_t>(optimizer_.state().size_bytes())};
}

void MixedShards::go_on(const SavedState& state) {
  take_master(state.parameters);
  std::vector<float> own;
  for (int m = 0; m < moments(); ++m)
    for (std::size_t u = 0; u < held_.units(); ++u) {
      const Stretch part = held_.part(u, is_whole() ? 0 : transport_.rank());
      const auto from = state.moments.begin() + m * parting_.elements() + part.first;
      own.insert(own.end(), from, from + part.count);
    }
  if (scale_ && state.scale) scale_->go_on(*state.scale);
  optimizer_.go_on(state.version - (scale_ ? scale_->skipped() : 0), own);
}

std::vector<SavedSpan> MixedShards::saved() {
  const std::span<const float> master = std::as_const(master_).all(), state = optimizer_.state();
  std::vector<SavedSpan> all;
  for (std::size_t u = 0; u < parting_.units(); ++u) {
    SavedSpan one{.elements = parting_.part(u, transport_.rank()),
                  .values = {part_in(master, !is_whole(), u)}};
    for (int m = 0; m < moments(); ++m)
      one.values.push_back(
          part_in(state.subspan(static_cast<std::size_t>(m) * master.size(), master.size()), !is_whole(), u));
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace cox::train
