// SPDX-License-Identifier: Apache-2.0
#include "train/run/shards.hpp"

#include <algorithm>
#include <thread>

#include "cox/learn/schedule.hpp"

#include "train/transport/exchange.hpp"

namespace cox::train {
namespace {

std::vector<Stretch> units_of(const learn::Problem& problem, TrainLayout layout) {
  if (layout < TrainLayout::Zero2) return {{.first = 0, .count = problem.parameters()}};
  std::vector<Stretch> units;
  for (const learn::ParameterUnit& u : problem.units()) units.push_back({.first = u.first, .count = u.count});
  return units;
}

}  // namespace

Parting parting_of(const learn::Problem& problem, TrainLayout layout, int ranks) {
  return {units_of(problem, layout), ranks};
}

std::vector<std::size_t> units_needed(std::size_t units) {
  std::vector<std::size_t> order;
  for (std::size_t u = 0; u < units; ++u) order.push_back(u);
  for (std::size_t u = units; u-- > 2;) order.push_back(u - 1);
  return order;
}

std::int64_t most_leaves(std::int64_t leaves, int ranks) {
  return part_of(leaves, 0, ranks).count;
}

Shards::Shards(const TrainJob& job, TrainLayout layout, const learn::OptimizerSpec& optimizer,
               Transport& transport, Marks& marks, std::unique_ptr<learn::Problem> problem)
    : job_(job),
      layout_(layout),
      spec_(job.local ? job.local->outer : optimizer),
      transport_(transport),
      marks_(marks),
      problem_(std::move(problem)),
      parting_(parting_of(*problem_, layout, transport.ranks())),
      x_(problem_->parameters(), memory_, Use::Parameters),
      g_(problem_->parameters(), memory_, Use::Gradients),
      sum_(job.workers, parting_, transport.rank(), memory_),
      pieces_(pieces_of(parting_, transport.rank(), problem_->tensors())),
      norms_(parting_, problem_->tensors(), transport),
      order_(units_needed(parting_.units())),
      most_leaves_(most_leaves(job.workers, transport.ranks())),
      passes_(problem_->passes(job.samples)),
      users_(parting_.units()) {
  const Stretch all{.first = 0, .count = parting_.elements()};
  const auto own = static_cast<std::size_t>(parting_.kept(transport.rank()));
  std::size_t floats = learn::moments_of(spec_.kind);
  if (layout == TrainLayout::DataParallel) {
    whole_.emplace(spec_, problem_->tensors());
    floats *= static_cast<std::size_t>(all.count);
    std::size_t largest = 0;
    for (const learn::Tensor& t : problem_->tensors())
      largest = std::max(largest, static_cast<std::size_t>(t.size()));
    floats += learn::direction_floats(spec_.kind, largest);
  } else {
    parted_.emplace(spec_, own);
    floats = floats * own + learn::direction_floats(spec_.kind, own);
  }
  memory_.take(Use::Optimizer, Bytes{static_cast<std::int64_t>(floats * sizeof(float))});
  if (!parts_parameters()) {
    x_.open(all);
    problem_->initial(x_.all());
  } else {
    own_x_ = CountedFloats(memory_, Use::Parameters, own);
    std::vector<float> initial(static_cast<std::size_t>(all.count));
    problem_->initial(initial);
    for (std::size_t u = 0; u < parting_.units(); ++u)
      std::ranges::copy(
          std::span(initial).subspan(static_cast<std::size_t>(parting_.part(u, transport.rank()).first),
                                     kept(own_x_, u).size()),
          kept(own_x_, u).begin());
  }
  if (job.local) {
    local_.emplace(job, optimizer, *problem_, sum_.leaves(), memory_);
    if (job.local->after > 0) {
      before_.emplace(optimizer, problem_->tensors());
      const LocalRounds plain{};
      memory_.take(Use::Optimizer, Bytes{LocalSteps::floats(plain, optimizer, *problem_)} * sizeof(float));
    }
    if (job.local->variates) {
      variate_sum_.emplace(job.workers, parting_, transport.rank(), memory_);
      change_ = CountedFloats(memory_, Use::Gradients, static_cast<std::size_t>(all.count));
      variate_ = CountedFloats(memory_, Use::Optimizer, static_cast<std::size_t>(all.count));
      std::ranges::fill(variate_.all(), 0.0F);
    }
    worker_floats_ = LocalSteps::kept_floats(*job.local, optimizer, problem_->parameters());
  }
  if (parts_gradients())
    own_g_ = CountedFloats(memory_, Use::Gradients, own);
  else
    g_.open(all);
}

Status Shards::choose(const SumBy& by) {
  if (!by.algorithm) return {};
  COX_TRY(executor_, Executor::make({.kind = model::Collective::AllReduce,
                                     .algorithm = *by.algorithm,
                                     .ranks = transport_.ranks(),
                                     .bytes = Bytes{parting_.elements()} * sizeof(float),
                                     .group = by.group},
                                    transport_.rank()));
  memory_.take(Use::Received, executor_->room());
  sum_.alone();
  if (variate_sum_) variate_sum_->alone();
  return {};
}

std::span<float> Shards::kept(CountedFloats& of, std::size_t unit) {
  return of.all().subspan(static_cast<std::size_t>(parting_.place(unit, transport_.rank())),
                          static_cast<std::size_t>(parting_.part(unit, transport_.rank()).count));
}

void Shards::keep_own(std::span<const float> all) {
  for (std::size_t u = 0; u < parting_.units(); ++u) {
    const std::span<float> own = kept(own_x_, u);
    std::ranges::copy(
        all.subspan(static_cast<std::size_t>(parting_.part(u, transport_.rank()).first), own.size()),
        own.begin());
  }
}

double Shards::factor(const learn::Optimizer& optimizer) const {
  if (in_round()) return 1;
  return learn::rate_factor(optimizer.spec(), optimizer.steps() + 1, job_.workers * job_.samples);
}

void Shards::scale(std::span<float> sum) const {
  const float over = 1.0F / static_cast<float>(job_.workers);
  if (job_.workers > 1)
    for (float& v : sum) v *= over;
}

Result<std::optional<learn::Divergence>> Shards::step(std::int64_t number) {
  diverged_.reset();
  COX_CHECK(add_leaves(number));
  if (layout_ == TrainLayout::DataParallel) {
    COX_CHECK(update_all());
    return diverged_;
  }
  if (layout_ == TrainLayout::Zero1) {
    marks_.begin(StepPart::ReduceScatter, Bytes{parting_.elements()} * sizeof(float));
    const Status reduced = reduce(0, parting_.units());
    marks_.end();
    COX_CHECK(reduced);
  }
  name_first(votes_, std::vector(votes_.size(), number));
  if (!diverged_) COX_CHECK(update_part());
  return diverged_;
}

Status Shards::add_leaves(std::int64_t step) {
  const learn::StepShare share{.leaves = 1, .samples = job_.samples};
  const Stretch& own = sum_.leaves();
  bad_ = {};
  bad_step_ = step;
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
    if (in_round()) {
      take_round();
      continue;
    }
    const learn::Shard shard = share.shard(job_.workers, static_cast<int>(worker_), step, 0);
    loss_ += problem_->gradient_by_units(x_.all(), shard, g_.all(), *this);
  }
  marks_.end();
  return ended_;
}

/// The leaf is what its worker brings of a round.
void Shards::take_round() {
  const bool last = leaf_ + 1 == most_leaves_;
  const LocalSteps::Round made =
      local_->take(worker_, step_, x_.all(), g_.all(), {.mean = variate_.all(), .change = change_.all()},
                   last ? injected_.nan : -1);
  loss_ += made.loss;
  if (made.bad && worker_ < bad_.worker) {
    bad_ = {.worker = worker_, .at = made.bad->at};
    bad_step_ = made.bad->step;
  }
  sum_.add(0, g_.all());
  if (variate_sum_) variate_sum_->add(0, change_.all());
}

/// The gathers of a leaf that others have.
void Shards::idle_leaf() {
  if (!parts_parameters()) return;
  for (std::int64_t pass = 0; pass < passes_; ++pass)
    for (const std::size_t unit : order_) {
      need(unit);
      release(unit);
    }
}

void Shards::gather(std::size_t unit) {
  if (users_[unit]++ == 0) x_.open(parting_.unit(unit));
  begin_gather(transport_, parting_, unit, kept(own_x_, unit), x_.all());
  on_its_way_ = unit;
}

void Shards::need(std::size_t unit) {
  if (!parts_parameters() || !ended_) return;
  marks_.end();
  marks_.begin(StepPart::AllGather, Bytes{parting_.unit(unit).count} * sizeof(float));
  if (on_its_way_ != unit) gather(unit);
  keep(transport_.wait());
  on_its_way_.reset();
  marks_.end();
  marks_.begin(StepPart::Gradient, {});
  ++needed_;
  const std::size_t all = order_.size() * static_cast<std::size_t>(passes_ * most_leaves_);
  const std::size_t next = order_[needed_ % order_.size()];
  // What is here still is used, and comes anew when it is needed.
  if (ended_ && needed_ < all && users_[next] == 0) gather(next);
}

void Shards::release(std::size_t unit) {
  if (!parts_parameters() || users_[unit] == 0) return;
  if (--users_[unit] == 0) x_.close(parting_.unit(unit));
}

void Shards::open(std::size_t unit) {
  if (parts_gradients()) g_.open(parting_.unit(unit));
}

void Shards::look_for_bad(const Stretch& unit) {
  const std::span<const float> leaf = g_.of(unit);
  const std::size_t at = learn::first_not_finite(leaf);
  if (at == leaf.size()) return;
  const Bad found{.worker = worker_, .at = unit.first + static_cast<std::int64_t>(at)};
  if (found.worker < bad_.worker || (found.worker == bad_.worker && found.at < bad_.at)) bad_ = found;
}

void Shards::done(std::size_t unit) {
  if (!ended_) return;
  if (unit == 0 && injected_.nan == step_ && leaf_ + 1 == most_leaves_)
    g_.all().front() = std::numeric_limits<float>::quiet_NaN();
  // Layouts that keep all gradients have one unit, whatever the problem has: it is done with the first.
  if (!parts_gradients()) {
    if (unit > 0) return;
    look_for_bad(parting_.unit(0));
    sum_.add(0, g_.all());
    return;
  }
  look_for_bad(parting_.unit(unit));
  if (sum_.add(unit, g_.of(parting_.unit(unit)))) {
    marks_.end();
    marks_.begin(StepPart::ReduceScatter, Bytes{parting_.unit(unit).count} * sizeof(float));
    keep(reduce(unit, unit + 1));
    marks_.end();
    marks_.begin(StepPart::Gradient, {});
  }
  g_.close(parting_.unit(unit));
}

Bytes vote_bytes(TrainLayout layout) {
  return Bytes{layout == TrainLayout::DataParallel ? 0 : 2 * static_cast<std::int64_t>(sizeof(std::int64_t))};
}

Status Shards::reduce(std::size_t first, std::size_t end) {
  // The unit that is done last has the first of all ranks' gradients that are no numbers with it, ahead of what is sent of the sums.
  if (first == 0 && layout_ != TrainLayout::DataParallel) begin_exchange(transport_, bad_, votes_);
  for (std::size_t u = first; u < end; ++u) sum_.begin(transport_, u);
  if (sums_variates()) variate_sum_->begin(transport_, 0);
  COX_CHECK(transport_.wait());
  for (std::size_t u = first; u < end; ++u) {
    const std::span<float> sum = sum_.finish(u);
    scale(sum);
    const std::span<float> own =
        parts_gradients() ? kept(own_g_, u) : g_.of(parting_.part(u, transport_.rank()));
    if (sum.data() != own.data()) std::ranges::copy(sum, own.begin());
    sum_.end(u);
  }
  if (sums_variates()) {
    const std::span<float> sum = variate_sum_->finish(0);
    const Stretch part = parting_.part(0, transport_.rank());
    const std::span<float> own = change_.all().subspan(static_cast<std::size_t>(part.first), sum.size());
    if (sum.data() != own.data()) std::ranges::copy(sum, own.begin());
    variate_sum_->end(0);
  }
  return {};
}

/// Every rank steps with the mean of everything.
Status Shards::update_all() {
  marks_.begin(StepPart::AllReduce, Bytes{parting_.elements()} * sizeof(float));
  const auto summed = [&]() -> Status {
    if (executor_) {
      const std::span<float> own = sum_.own(0);
      COX_CHECK(executor_->run(transport_, own));
      scale(own);
      return sums_variates() ? executor_->run(transport_, variate_sum_->own(0)) : Status{};
    }
    COX_CHECK(reduce(0, 1));
    const Stretch part = parting_.part(0, transport_.rank());
    begin_gather(transport_, parting_, 0, g_.of(part), g_.all());
    if (sums_variates())
      begin_gather(
          transport_, parting_, 0,
          change_.all().subspan(static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count)),
          change_.all());
    return transport_.wait();
  }();
  marks_.end();
  COX_CHECK(summed);
  if (learn::first_not_finite(g_.all()) < g_.all().size()) {
    COX_TRY(const std::vector<Bad> all, exchange(transport_, bad_));
    COX_TRY(const std::vector<std::int64_t> steps, exchange(transport_, bad_step_));
    name_first(all, steps);
  }
  if (diverged_) return {};
  marks_.begin(StepPart::Optimizer, {});
  learn::Optimizer& optimizer = before_ && !in_round() ? *before_ : *whole_;
  optimizer.step(x_.all(), g_.all(), factor(optimizer));
  if (sums_variates()) {
    const float over = 1.0F / static_cast<float>(job_.workers);
    const std::span<float> mean = variate_.all();
    const std::span<const float> change = change_.all();
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += change[i] * over;
  }
  marks_.end();
  return {};
}

/// Every rank steps with the mean of its own part; then parameters go round, where all have them all.
Status Shards::update_part() {
  marks_.begin(StepPart::Optimizer, {});
  std::vector<learn::OptimizerPiece> pieces;
  std::size_t at = 0;  // among what is kept
  for (const KeptPiece& p : pieces_) {
    const learn::Tensor& tensor = problem_->tensors()[p.tensor];
    pieces.push_back({.weight = tensor.columns > 1,
                      .tensor = p.tensor,
                      .count = static_cast<std::size_t>(p.elements.count),
                      .x = parts_parameters() ? own_x_.all().data() + at : x_.of(p.elements).data(),
                      .g = parts_gradients() ? own_g_.all().data() + at : g_.of(p.elements).data()});
    at += pieces.back().count;
  }
  const Status stepped = parted_->step(
      pieces, learn::rate_factor(spec_, parted_->steps() + 1, job_.workers * job_.samples), norms_);
  marks_.end();
  COX_CHECK(stepped);
  if (parts_parameters()) return {};
  marks_.begin(StepPart::AllGather, Bytes{parting_.elements()} * sizeof(float));
  for (std::size_t u = 0; u < parting_.units(); ++u)
    begin_gather(transport_, parting_, u, x_.of(parting_.part(u, transport_.rank())), x_.all());
  const Status gathered = transport_.wait();
  marks_.end();
  return gathered;
}

/// Nobody's where only their sum is none.
void Shards::name_first(const std::vector<Bad>& all, std::span<const std::int64_t> steps) {
  const auto at = std::ranges::min_element(all, {}, &Bad::worker);
  const Bad& first = *at;
  if (first.worker >= job_.workers) return;
  diverged_ =
      learn::Divergence{.worker = static_cast<int>(first.worker),
                        .step = steps[static_cast<std::size_t>(at - all.begin())],
                        .tensor = learn::tensor_at(problem_->tensors(), static_cast<std::size_t>(first.at))};
}

Status collect(Transport& transport, const Parting& parting, std::span<const float> own, bool on_all_ranks,
               std::span<float> into) {
  const int rank = transport.rank();
  const auto inside = [&](std::size_t u, int r) {
    const Stretch part = parting.part(u, r);
    return into.subspan(static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count));
  };
  for (std::size_t u = 0; u < parting.units(); ++u) {
    const auto mine = own.subspan(static_cast<std::size_t>(parting.place(u, rank)),
                                  static_cast<std::size_t>(parting.part(u, rank).count));
    if (on_all_ranks) {
      begin_gather(transport, parting, u, mine, into);
      continue;
    }
    const std::uint64_t number = transport.numbers(1);
    if (rank != 0) {
      transport.send(0, number, std::as_bytes(mine));
      continue;
    }
    std::ranges::copy(mine, inside(u, 0).begin());
    for (int r = 1; r < transport.ranks(); ++r)
      transport.receive(r, number, std::as_writable_bytes(inside(u, r)));
  }
  return transport.wait();
}

Result<std::span<const float>> Shards::whole(bool on_all_ranks) {
  if (!parts_parameters()) return x_.all();
  collected_.resize(static_cast<std::size_t>(parting_.elements()));
  COX_CHECK(collect(transport_, parting_, own_x_.all(), on_all_ranks, collected_));
  if (transport_.rank() != 0 && !on_all_ranks) collected_ = std::vector<float>();  // {} would keep its room
  return collected_;
}

Result<bool> Shards::all_finite() {
  if (!parts_parameters()) return learn::first_not_finite(x_.all()) == x_.all().size();
  const int finite = learn::first_not_finite(own_x_.all()) == own_x_.all().size() ? 1 : 0;
  COX_TRY(const std::vector<int> all, exchange(transport_, finite));
  return std::ranges::find(all, 0) == all.end();
}

int Shards::moments() const {
  return static_cast<int>(learn::moments_of(spec_.kind) +
                          (before_ ? learn::moments_of(before_->spec().kind) : 0)) +
         (variate_sum_ ? 1 : 0);
}

Bytes Shards::optimizer_bytes() const {
  const std::int64_t kept =
      layout_ == TrainLayout::DataParallel ? parting_.elements() : parting_.kept(transport_.rank());
  const Bytes together = Bytes{kept * moments()} * sizeof(float);
  return together + (local_ ? local_->state_bytes() : Bytes{});
}

std::vector<std::span<const float>> Shards::states() {
  std::vector<std::span<const float>> all;
  const auto add = [&](std::span<const float> state, learn::OptimizerKind kind) {
    const std::size_t moments = learn::moments_of(kind);
    for (std::size_t m = 0; m < moments; ++m)
      all.push_back(state.subspan(m * (state.size() / moments), state.size() / moments));
  };
  add(whole_ ? whole_->state() : parted_->state(), spec_.kind);
  if (before_) add(before_->state(), before_->spec().kind);
  if (variate_sum_) all.push_back(std::as_const(variate_).all());
  return all;
}

void Shards::go_on(const SavedState& state) {
  const std::int64_t all = parting_.elements();
  if (parts_parameters())
    keep_own(state.parameters);
  else
    std::ranges::copy(state.parameters, x_.all().begin());
  if (whole_) {
    std::span<const float> left = state.moments;
    const auto take = [&](std::size_t arrays) {
      const std::span<const float> taken = left.first(arrays * static_cast<std::size_t>(all));
      left = left.subspan(taken.size());
      return taken;
    };
    const std::int64_t single = job_.local ? std::min(state.version, job_.local->after) : 0;
    whole_->go_on(state.version - single, take(learn::moments_of(spec_.kind)));
    if (before_) before_->go_on(single, take(learn::moments_of(before_->spec().kind)));
    if (variate_sum_) std::ranges::copy(take(1), variate_.all().begin());
    if (local_) local_->go_on(state.version - single, state.workers);
    return;
  }
  std::vector<float> own;
  for (int m = 0; m < moments(); ++m)
    for (std::size_t u = 0; u < parting_.units(); ++u) {
      const Stretch part = parting_.part(u, transport_.rank());
      const auto from = state.moments.begin() + m * all + part.first;
      own.insert(own.end(), from, from + part.count);
    }
  parted_->go_on(state.version, own);
}

std::vector<SavedSpan> Shards::saved() {
  const std::vector<std::span<const float>> kept = states();
  std::vector<SavedSpan> all;
  for (std::size_t u = 0; u < parting_.units(); ++u) {
    const Stretch part = parting_.part(u, transport_.rank());
    const auto count = static_cast<std::size_t>(part.count);
    const auto place = static_cast<std::size_t>(parting_.place(u, transport_.rank()));
    SavedSpan one{.elements = part, .values = {}};
    one.values.push_back(parts_parameters() ? own_x_.all().subspan(place, count) : x_.of(part));
    for (const std::span<const float> state : kept)
      one.values.push_back(state.subspan(whole_ ? static_cast<std::size_t>(part.first) : place, count));
    all.push_back(std::move(one));
  }
  if (worker_floats_ > 0) all.push_back({.elements = sum_.leaves(), .values = local_->kept()});
  return all;
}

}  // namespace cox::train
