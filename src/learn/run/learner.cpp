// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/learner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"
#include "cox/learn/loss_scale.hpp"
#include "cox/learn/number_format.hpp"
#include "cox/learn/optimize.hpp"
#include "cox/learn/schedule.hpp"

#include "learn/compress/compressor.hpp"
#include "learn/kernels/step_kernels.hpp"
#include "learn/run/elastic_copies.hpp"
#include "learn/run/gossip_copies.hpp"
#include "learn/run/shard_copies.hpp"
#include "learn/run/tree_sum.hpp"
#include "learn/run/versions.hpp"

namespace cox::learn {
namespace {

/// Of local steps, kept from round to round.
struct Local {
  Optimizer optimizer;
  std::vector<float> variate;  ///< SCAFFOLD's c_i
};

}  // namespace

class Learner::Impl {
 public:
  Impl(Problem& problem, const OptimizerSpec& optimizer, const Way& way, const StepShare& share, int workers,
       std::uint64_t seed)
      : problem_(problem),
        inner_(optimizer),
        way_(way),
        share_(share),
        numbering_(workers),
        size_(static_cast<std::size_t>(problem.parameters())),
        versions_(problem, workers),
        optimizer_(optimizer, problem.tensors()),
        outer_(outer_of(way, workers), problem.tensors()),
        sum_(size_, master_format(way)),
        variates_(size_),
        gradient_(size_),
        compressor_(way.compressor, problem.tensors(), seed) {
    workers_.resize(static_cast<std::size_t>(workers));
    if (way_.control_variates) variate_.assign(size_, 0.0F);
    if (way_.rule == Rule::Gossip || way_.rule == Rule::Pairs)
      copies_.emplace(problem, optimizer, way.graph, workers);
    if (way_.centre > 0) elastic_.emplace(versions_.newest(), workers, way_.centre / workers);
    if (way_.rule == Rule::Shards) shards_.emplace(problem, optimizer, way.shards_of(workers), workers);
    if (way_.compressor.loss_scale) scale_.emplace(*way_.compressor.loss_scale);
  }

  bool take(const sync::StreamEvent& event) {
    if (diverged_) return false;
    const sync::Update& u = event.update;
    if (shards_) return take_piece(event);
    switch (event.kind) {
      case sync::StreamEvent::Kind::Read:
        versions_.read(u.worker);
        if (way_.rule == Rule::Pairs) copies_->keep(u.worker);
        return true;
      case sync::StreamEvent::Kind::Delivered:
        deliver(u);
        return !diverged_;
      case sync::StreamEvent::Kind::Advanced:
        advance();
        return true;
      case sync::StreamEvent::Kind::Averaged:
        COX_ASSERT(copies_.has_value(), "workers with parameters of their own");
        copies_->average(u.worker, u.with);
        return true;
      case sync::StreamEvent::Kind::Left:
        versions_.forget(u.worker);
        return true;
      case sync::StreamEvent::Kind::Abandoned:
        workers_[static_cast<std::size_t>(u.worker)].step += u.steps;
        wasted_ += share_.batch() * u.steps;
        versions_.forget(u.worker);
        return true;
      case sync::StreamEvent::Kind::Joined:
        COX_ASSERT(static_cast<std::size_t>(u.worker) == workers_.size(),
                   "workers are numbered as they come");
        workers_.push_back({.step = slowest()});
        versions_.add_worker();
        if (elastic_) elastic_->add_worker(versions_.newest());
        return true;
    }
    return true;
  }

  [[nodiscard]] const std::optional<Divergence>& diverged() const { return diverged_; }
  [[nodiscard]] std::span<const float> parameters() const {
    if (way_.rule == Rule::Pairs) return mean_of_copies();
    return shards_ ? shards_->newest() : versions_.newest();
  }
  [[nodiscard]] std::int64_t version() const { return version_; }
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  [[nodiscard]] std::int64_t wasted() const { return wasted_; }
  [[nodiscard]] Bytes sent() const { return sent_; }
  [[nodiscard]] ScaledSteps scaled_steps() const {
    if (!scale_) return {};
    return {.factor = static_cast<double>(scale_->factor()),
            .skipped = scale_->skipped(),
            .vanished = nonzero_ > 0 ? static_cast<double>(vanished_) / static_cast<double>(nonzero_) : 0,
            .last_overflow = last_overflow_};
  }

 private:
  /// The centre of elastic averaging goes an equal part of the way with each worker that meets it.
  static OptimizerSpec outer_of(const Way& way, int workers) {
    if (!(way.centre > 0)) return way.outer;
    return {.kind = OptimizerKind::Sgd, .rate = way.centre / workers};
  }

  struct Worker {
    std::int64_t step = 0;  ///< finished
    std::optional<Local> local{};
    std::optional<Feedback> unsent{};
  };

  [[nodiscard]] std::int64_t slowest() const {
    const auto at = std::ranges::min_element(workers_, {}, &Worker::step);
    return at == workers_.end() ? 0 : at->step;
  }

  /// The samples of leaf `leaf` of a worker's step.
  [[nodiscard]] Shard shard(int worker, std::int64_t step, std::int64_t leaf) const {
    constexpr std::int64_t kMostWorkers = 1 << 20;
    const bool joined = worker >= numbering_;
    if (!joined) return share_.shard(numbering_, worker, step, leaf);
    const std::int64_t number = -(((step * kMostWorkers + worker) * share_.leaves + leaf) + 1);
    return {
        .first = number * share_.samples, .count = share_.samples, .worker = share_.data_of(worker, leaf)};
  }

  /// The first value that is not finite, and whose it is.
  [[nodiscard]] std::optional<Divergence> spoiled(std::span<const float> values, int worker,
                                                  std::int64_t step) const {
    const std::size_t at = first_not_finite(values);
    if (at == values.size()) return std::nullopt;
    return Divergence{.worker = worker, .step = step, .tensor = tensor_at(problem_.tensors(), at)};
  }

  void check(std::span<const float> values, int worker, std::int64_t step) {
    if (auto found = spoiled(values, worker, step)) diverged_ = std::move(found);
  }

  void deliver(const sync::Update& u) {
    Worker& w = workers_[static_cast<std::size_t>(u.worker)];
    const std::int64_t samples = share_.batch() * u.steps;
    if (u.applied) {
      age_ = u.age();
      in_rounds_ = way_.is_local() && w.step >= way_.synchronous_steps;
      const std::span<const float> x = versions_.of(u.worker);
      if (copies_)
        step_copy(u.worker, w.step);
      else if (in_rounds_)
        add_difference(u, w, elastic_ ? elastic_->of(u.worker) : x);
      else
        add_gradient(u, w, x);
      samples_ += samples;
      batch_ += samples;
      ++updates_;
    } else {
      wasted_ += samples;
    }
    w.step += u.steps;
    versions_.forget(u.worker);
  }

  /// Shards: their own versions, and one gradient of a step at what its worker had read of all.
  bool take_piece(const sync::StreamEvent& event) {
    const sync::Update& u = event.update;
    if (u.worker == sync::kServer) {
      if (event.kind == sync::StreamEvent::Kind::Read) shards_->copy(u.shard);
      if (event.kind == sync::StreamEvent::Kind::Joined) shards_->restore(u.shard, u.version_read);
      return true;
    }
    Worker& w = workers_[static_cast<std::size_t>(u.worker)];
    if (event.kind == sync::StreamEvent::Kind::Read) {
      shards_->read(u.worker, u.shard);
    } else if (event.kind == sync::StreamEvent::Kind::Delivered) {
      age_ = u.age();
      if (shards_->begins(u.worker)) {
        mean_gradient(shards_->of(u.worker), u.worker, w.step);
        check(gradient_, u.worker, w.step);
        if (diverged_) return false;
        std::ranges::copy(gradient_, shards_->gradient(u.worker).begin());
      }
      if (shards_->deliver(u.worker, u.shard)) {
        ++w.step;
        samples_ += share_.batch();
      }
    } else if (event.kind == sync::StreamEvent::Kind::Advanced) {
      shards_->advance(u.shard, factor() * rate_factor(inner_, shards_->steps(u.shard) + 1, share_.batch()));
      version_ = ++pieces_ / shards_->shards();
    }
    return true;
  }

  /// Pairs: the mean of all, taken when it is asked for.
  [[nodiscard]] std::span<const float> mean_of_copies() const {
    if (mean_is_of_ != version_ || mean_.empty()) {
      mean_.resize(size_);
      copies_->mean(mean_);
      mean_is_of_ = version_;
    }
    return mean_;
  }

  /// Gossip: the worker's own step at its own parameters; in pairs, at those that it had when the step began.
  void step_copy(int worker, std::int64_t step) {
    mean_gradient(way_.rule == Rule::Pairs ? copies_->kept(worker) : copies_->of(worker), worker, step);
    check(gradient_, worker, step);
    if (!diverged_)
      copies_->step(worker, gradient_, rate_factor(inner_, copies_->steps(worker) + 1, share_.batch()));
  }

  void add_gradient(const sync::Update& u, Worker& w, std::span<const float> x) {
    if (compresses()) {
      mean_gradient(as_read(x), u.worker, w.step);
      check(gradient_, u.worker, w.step);
      if (diverged_) return;
      if (way_.compressor.master)
        add_rounded(gradient_, u.worker, w);
      else if (scale_)
        add_scaled(gradient_, u.worker, w);
      else
        add_compressed(gradient_, u.worker, w, inner_.rate * factor() * scheduled(share_.batch()));
      return;
    }
    for (std::int64_t leaf = 0; leaf < share_.leaves; ++leaf) {
      const std::span<float> g = sum_.room();
      problem_.gradient(x, shard(u.worker, w.step, leaf), g);
      check(g, u.worker, w.step);
      if (diverged_) return;
      sum_.add_room();
    }
  }

  /// What sums are rounded to.
  [[nodiscard]] static std::optional<NumberFormat> master_format(const Way& way) {
    if (!way.compressor.master) return std::nullopt;
    return way.compressor.kind == CompressorKind::Fp16 ? NumberFormat::Fp16 : NumberFormat::Bf16;
  }
  /// Parameters as a gradient is taken at them.
  [[nodiscard]] std::span<const float> as_read(std::span<const float> x) {
    if (!way_.compressor.master) return x;
    read_.resize(size_);
    round_to(*master_format(way_), x, read_);
    return read_;
  }

  [[nodiscard]] bool compresses() const { return way_.compressor.kind != CompressorKind::Dense; }

  /// What arrives of what a worker brings, for a step of `rate`.
  void add_compressed(std::span<float> brought, int worker, Worker& w, double rate) {
    if (!w.unsent) w.unsent.emplace(way_.compressor.feedback, problem_.parameters());
    sent_ += w.unsent->compress(compressor_, brought, rate, w.step, worker, brought);
    sum_.add(brought);
  }

  /// The same in FP16 under the loss scale; one that overflows takes its step from all.
  void add_scaled(std::span<float> brought, int worker, Worker& w) {
    const float factor = scale_->factor();
    std::int64_t nonzero = 0;
    for (float& v : brought) {
      nonzero += v != 0 ? 1 : 0;
      v *= factor;
    }
    sent_ += compressor_.compress(brought, w.step, worker, brought);
    if (auto found = spoiled(brought, worker, w.step)) {
      last_overflow_ = std::move(found);
      overflowed_ = true;
      std::fill(brought.begin(), brought.end(), 0.0F);
    } else {
      nonzero_ += nonzero;
      for (float& v : brought) {
        nonzero -= v != 0 ? 1 : 0;
        v /= factor;
      }
      vanished_ += nonzero;
    }
    sum_.add(brought);
  }

  /// Mixed precision: whether the step overflows is seen of the sum.
  void add_rounded(std::span<float> brought, int worker, Worker& w) {
    const float factor = scale_ ? scale_->factor() : 1;
    std::int64_t nonzero = 0;
    for (float& v : brought) {
      nonzero += v != 0 ? 1 : 0;
      v *= factor;
    }
    sent_ += compressor_.compress(brought, w.step, worker, brought);
    nonzero_ += nonzero;
    for (const float v : brought) nonzero -= v != 0 ? 1 : 0;
    vanished_ += nonzero;
    if (auto found = spoiled(brought, worker, w.step)) last_overflow_ = std::move(found);
    sum_.add(brought);
  }

  /// Over the worker's leaves, into `gradient_`.
  void mean_gradient(std::span<const float> x, int worker, std::int64_t step) {
    if (share_.leaves == 1) {
      problem_.gradient(x, shard(worker, step, 0), gradient_);
      return;
    }
    for (std::int64_t leaf = 0; leaf < share_.leaves; ++leaf) {
      problem_.gradient(x, shard(worker, step, leaf), gradient_);
      own_sum_.add(gradient_);
    }
    const std::span<float> mean = own_sum_.take();
    const float over = 1.0F / static_cast<float>(share_.leaves);
    for (std::size_t i = 0; i < size_; ++i) gradient_[i] = mean[i] * over;
  }

  /// Mean gradient of one local step, corrected as the way says.
  void local_gradient(std::span<const float> y, std::span<const float> began, int worker, std::int64_t step,
                      const Local& local) {
    mean_gradient(y, worker, step);
    if (way_.proximal > 0) {
      const auto pull = static_cast<float>(way_.proximal);
      for (std::size_t i = 0; i < size_; ++i) gradient_[i] += pull * (y[i] - began[i]);
    }
    if (way_.control_variates)
      for (std::size_t i = 0; i < size_; ++i) gradient_[i] += variate_[i] - local.variate[i];
  }

  void add_difference(const sync::Update& u, Worker& w, std::span<const float> began) {
    if (!w.local)
      w.local.emplace(Local{.optimizer = Optimizer(inner_, problem_.tensors()),
                            .variate = std::vector<float>(way_.control_variates ? size_ : 0)});
    Local& local = *w.local;
    if (way_.local_state == LocalState::Reset) local.optimizer.reset();
    local_.assign(began.begin(), began.end());
    double factors = 0;
    for (int k = 0; k < u.steps; ++k) {
      local_gradient(local_, began, u.worker, w.step + k, local);
      check(gradient_, u.worker, w.step + k);
      if (diverged_) return;
      const double factor = rate_factor(inner_, local.optimizer.steps() + 1, share_.batch());
      local.optimizer.step(local_, gradient_, factor);
      factors += factor;
    }
    for (std::size_t i = 0; i < size_; ++i) local_[i] = began[i] - local_[i];
    if (elastic_) elastic_->exchange(u.worker, versions_.newest(), local_);
    if (way_.control_variates) move_variate(local, factors);
    if (compresses())
      add_compressed(local_, u.worker, w, 1);
    else
      sum_.add(local_);
  }

  /// c_i+ = c_i - c + (x - y) / (K rate); `local_` is x - y, `factors` stands for K: those on the rate, summed over the
  /// steps. Changes of variates are summed for the mean one.
  void move_variate(Local& local, double factors) {
    const auto over = static_cast<float>(1 / (factors * inner_.rate));
    for (std::size_t i = 0; i < size_; ++i) {
      const float change = local_[i] * over - variate_[i];
      local.variate[i] += change;
      gradient_[i] = change;
    }
    variates_.add(gradient_);
  }

  [[nodiscard]] double factor() const {
    const auto age = static_cast<double>(age_);
    switch (way_.weight) {
      case AgeWeight::None:
        return 1;
      case AgeWeight::Inverse:
        return 1 / (1 + age);
      case AgeWeight::Exponential:
        return exponential(-way_.decay * age);
    }
    return 1;
  }

  /// Of the optimizer's next step, with so many samples.
  [[nodiscard]] double scheduled(std::int64_t batch) const {
    return rate_factor(inner_, optimizer_.steps() + 1, batch);
  }

  /// Of drawn clients, the part of all: what a mean over them moves the mean over all by.
  [[nodiscard]] float drawn_part(std::int64_t updates) const {
    if (way_.rule != Rule::Rounds) return 1;
    return static_cast<float>(static_cast<double>(updates) / static_cast<double>(workers_.size()));
  }

  void advance() {
    if (way_.rule == Rule::Pairs) {
      ++version_;
      updates_ = batch_ = 0;
      return;
    }
    if (copies_) {
      copies_->combine(version_++);
      copies_->mean(versions_.next());
      updates_ = batch_ = 0;
      return;
    }
    const std::int64_t leaves = sum_.leaves();
    COX_ASSERT(leaves > 0, "a version is made of updates");
    const std::span<float> mean = sum_.take();
    const float over = 1.0F / static_cast<float>(leaves);
    if (way_.compressor.master && scale_) overflowed_ = first_not_finite(mean) < mean.size();
    const float factor_off = way_.compressor.master && scale_ ? over / scale_->factor() : over;
    if (factor_off != 1)
      for (float& v : mean) v *= factor_off;
    const std::span<float> x = versions_.next();
    ++version_;
    const std::int64_t batch = std::exchange(batch_, 0);
    const std::int64_t updates = std::exchange(updates_, 0);
    if (scale_ && !scale_->end_step(std::exchange(overflowed_, false))) return;
    if (in_rounds_)
      outer_.step(x, mean, elastic_ ? static_cast<double>(updates) : factor());
    else
      optimizer_.step(x, mean, factor() * scheduled(batch));
    if (in_rounds_ && way_.control_variates) {
      const std::span<float> change = variates_.take();
      const float part = over * drawn_part(updates);
      for (std::size_t i = 0; i < size_; ++i) variate_[i] += change[i] * part;
    }
  }

  Problem& problem_;
  OptimizerSpec inner_;
  Way way_;
  StepShare share_;
  std::int64_t numbering_;  ///< workers that the numbers of samples are made for
  std::size_t size_;
  Versions versions_;
  Optimizer optimizer_;
  Optimizer outer_;
  TreeSum sum_;
  TreeSum variates_;
  TreeSum own_sum_{size_};
  std::vector<float> gradient_;
  std::vector<float> read_;  ///< mixed precision: rounded parameters
  Compressor compressor_;
  Bytes sent_{};  ///< compressed
  std::vector<float> local_;
  std::vector<float> variate_;  ///< SCAFFOLD's c
  std::vector<Worker> workers_;
  std::int64_t version_ = 0, samples_ = 0, wasted_ = 0;
  std::int64_t updates_ = 0;  ///< applied since the last version
  std::int64_t batch_ = 0;    ///< samples of what was applied since the last version
  std::int64_t age_ = 0;      ///< of the last update that was applied
  bool in_rounds_ = false;    ///< it was a difference
  std::optional<GossipCopies>
      copies_;                       ///< gossip: `versions_` has their mean; in pairs it stays where it began
  mutable std::vector<float> mean_;  ///< pairs: of version `mean_is_of_`
  mutable std::int64_t mean_is_of_ = 0;
  std::optional<ElasticCopies> elastic_;  ///< elastic averaging: `versions_` has the centre
  std::optional<ShardCopies> shards_;     ///< shards: `versions_` stays where it began
  std::int64_t pieces_ = 0;               ///< applied to shards
  std::optional<LossScale> scale_;
  bool overflowed_ = false;  ///< somebody, since the last version
  std::int64_t nonzero_ = 0, vanished_ = 0;
  std::optional<Divergence> last_overflow_;
  std::optional<Divergence> diverged_;
};

std::size_t first_not_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  if (step_kernels().all_finite(values.size(), values.data())) return values.size();
  const auto bad = [](float v) { return (std::bit_cast<std::uint32_t>(v) & kExponent) == kExponent; };
  return static_cast<std::size_t>(std::ranges::find_if(values, bad) - values.begin());
}

std::string tensor_at(std::span<const Tensor> tensors, std::size_t at) {
  std::string name;
  for (const Tensor& t : tensors)
    if (t.first <= static_cast<std::int64_t>(at)) name = t.name;
  return name;
}

std::string Divergence::place() const {
  return fmt::format("worker {}, step {}, {}", worker, step, tensor);
}

std::string Divergence::text() const {
  return fmt::format("worker {}, step {}: {} is not a number any more", worker, step, tensor);
}

Learner::Learner(Problem& problem, const OptimizerSpec& optimizer, const Way& way, const StepShare& share,
                 int workers, std::uint64_t seed)
    : impl_(std::make_unique<Impl>(problem, optimizer, way, share, workers, seed)) {}
Learner::~Learner() = default;
Learner::Learner(Learner&&) noexcept = default;
bool Learner::take(const sync::StreamEvent& event) {
  return impl_->take(event);
}
const std::optional<Divergence>& Learner::diverged() const {
  return impl_->diverged();
}
std::span<const float> Learner::parameters() const {
  return impl_->parameters();
}
std::int64_t Learner::version() const {
  return impl_->version();
}
std::int64_t Learner::samples() const {
  return impl_->samples();
}
std::int64_t Learner::wasted_samples() const {
  return impl_->wasted();
}
ScaledSteps Learner::scaled_steps() const {
  return impl_->scaled_steps();
}
Bytes Learner::sent() const {
  return impl_->sent();
}

}  // namespace cox::learn
