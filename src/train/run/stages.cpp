// SPDX-License-Identifier: Apache-2.0
#include "train/run/stages.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/learn/optimize.hpp"
#include "cox/learn/problem_stage.hpp"
#include "cox/learn/schedule.hpp"

#include "train/executor/paged_floats.hpp"
#include "train/executor/piece_norms.hpp"
#include "train/executor/unit_sum.hpp"
#include "train/run/pipeline.hpp"
#include "train/run/stage_plan.hpp"
#include "train/transport/exchange.hpp"
#include "train/transport/group.hpp"

namespace cox::train {
namespace {

/// The first leaf whose gradient is no number, as far as a rank has seen it, and its loss.
struct Vote {
  std::int64_t leaf = std::numeric_limits<std::int64_t>::max();  ///< none
  std::int64_t at = 0;                                           ///< parameter
  double loss = 0;
};
static_assert(Bytes{sizeof(Vote)} == kStageVote);

class Stages final : public Held {
 public:
  Stages(const TrainJob& job, const learn::OptimizerSpec& optimizer, Transport& transport, Marks& marks,
         std::unique_ptr<learn::Problem> problem, StagePlan plan,
         std::vector<std::unique_ptr<learn::ProblemStage>> chunks)
      : job_(job),
        spec_(optimizer),
        transport_(transport),
        marks_(marks),
        problem_(std::move(problem)),
        plan_(std::move(plan)),
        links_(transport, plan_.stage(), plan_.own_pipeline()),
        alike_(transport, plan_.pipeline(), plan_.own_stage()),
        parting_(plan_.stage_parting()),
        x_(problem_->parameters(), memory_, Use::Parameters),
        g_(problem_->parameters(), memory_, Use::Gradients),
        pieces_(pieces_of(parting_, plan_.stage(), problem_->tensors())),
        norms_(parting_, problem_->tensors(), links_),
        optimizer_(optimizer, kept()) {
    const std::size_t floats =
        learn::moments_of(spec_.kind) * kept() + learn::direction_floats(spec_.kind, kept());
    memory_.take(Use::Optimizer, Bytes{static_cast<std::int64_t>(floats * sizeof(float))});
    std::vector<float> all(static_cast<std::size_t>(problem_->parameters()));
    problem_->initial(all);
    for (int c = 0; c < plan_.chunks(); ++c) {
      x_.open(elements(c));
      g_.open(elements(c));
      cut_.push_back(plan_.chunk_parting(c));
    }
    keep_own(all);
    for (const Parting& p : cut_) sums_.emplace_back(job.leaves(), p, plan_.pipeline(), memory_);
    pipeline_.emplace(job_, plan_, links_, marks_, memory_, std::move(chunks));
    if (plan_.pipelines() > 1) marks_.meets(plan_.own_stage(), plan_.pipeline(), "stage");
  }

  void inject(const Injected& fault) override {
    if (fault.rank == transport_.rank()) injected_ = fault;
  }

  Result<std::optional<learn::Divergence>> step(std::int64_t number) override {
    mine_ = {};
    const Seconds pause = injected_.delay / static_cast<double>(plan_.leaves().count);
    COX_CHECK(pipeline_->run(number, x_.all(), g_.all(), pause,
                             [&](int chunk, std::int64_t leaf) { add_leaf(chunk, leaf, number); }));
    mine_.loss = pipeline_->loss();
    COX_CHECK(reduce());
    COX_TRY(const std::vector<Vote> votes, exchange(transport_, mine_));
    loss_ = votes[static_cast<std::size_t>(plan_.own_pipeline().back())].loss;
    if (auto found = first_of(votes, number)) return found;
    COX_CHECK(update());
    return std::optional<learn::Divergence>{};
  }

  Result<std::span<const float>> whole(bool on_all_ranks) override {
    const bool wanted = on_all_ranks || transport_.rank() == 0;
    const bool gives = on_all_ranks || plan_.pipeline() == 0;
    if (wanted) collected_.resize(static_cast<std::size_t>(parting_.elements()));
    for (std::size_t u = 0; u < parting_.units(); ++u) {
      const std::uint64_t number = links_.numbers(1);
      const int owner = plan_.stage_of(static_cast<int>(u));
      const Stretch& unit = parting_.unit(u);
      const auto place = [&] {
        return std::span(collected_)
            .subspan(static_cast<std::size_t>(unit.first), static_cast<std::size_t>(unit.count));
      };
      if (owner == plan_.stage()) {
        if (wanted) std::ranges::copy(x_.of(unit), place().begin());
        for (int s = 0; s < plan_.stages() && gives; ++s)
          if (s != owner && (on_all_ranks || s == 0))
            links_.send(s, number, std::as_bytes(std::span<const float>(x_.of(unit))));
      } else if (wanted) {
        links_.receive(owner, number, std::as_writable_bytes(place()));
      }
    }
    COX_CHECK(links_.wait());
    return std::span<const float>(collected_);
  }

  Result<bool> all_finite() override {
    int finite = 1;
    for (int c = 0; c < plan_.chunks(); ++c) {
      const std::span<const float> own = x_.of(elements(c));
      if (learn::first_not_finite(own) < own.size()) finite = 0;
    }
    COX_TRY(const std::vector<int> all, exchange(transport_, finite));
    return std::ranges::find(all, 0) == all.end();
  }

  void go_on(const SavedState& state) override {
    keep_own(state.parameters);
    std::vector<float> own;
    const std::int64_t all = parting_.elements();
    for (int m = 0; m < moments(); ++m)
      for (int c = 0; c < plan_.chunks(); ++c) {
        const auto from = state.moments.begin() + m * all + elements(c).first;
        own.insert(own.end(), from, from + elements(c).count);
      }
    optimizer_.go_on(state.version, own);
  }

  /// A span a chunk, whole, of the first pipeline; the others' are empty, behind it.
  std::vector<SavedSpan> saved() override {
    const std::span<const float> moment = optimizer_.state();
    std::vector<SavedSpan> all;
    std::size_t at = 0;
    for (int c = 0; c < plan_.chunks(); ++c) {
      const auto count = static_cast<std::size_t>(elements(c).count);
      const int last = c * plan_.stages() + plan_.stages() - 1;
      const bool first = plan_.pipeline() == 0;
      SavedSpan one{
          .elements = first ? elements(c) : Stretch{.first = plan_.elements(last).end(), .count = 0},
          .values = {}};
      const std::size_t kept_here = first ? count : 0;
      one.values.push_back(x_.of(elements(c)).first(kept_here));
      for (int m = 0; m < moments(); ++m)
        one.values.push_back(moment.subspan(static_cast<std::size_t>(m) * kept() + at, kept_here));
      at += count;
      all.push_back(std::move(one));
    }
    return all;
  }

  [[nodiscard]] double loss() const override { return loss_; }
  [[nodiscard]] learn::Problem& problem() override { return *problem_; }
  [[nodiscard]] int moments() const override { return static_cast<int>(learn::moments_of(spec_.kind)); }
  [[nodiscard]] Bytes optimizer_bytes() const override {
    return Bytes{static_cast<std::int64_t>(kept()) * moments()} * sizeof(float);
  }
  [[nodiscard]] MemoryCount& memory() override { return memory_; }

 private:
  [[nodiscard]] std::size_t kept() const { return static_cast<std::size_t>(parting_.kept(plan_.stage())); }
  [[nodiscard]] Stretch elements(int chunk) const { return plan_.elements(plan_.place(chunk)); }

  void keep_own(std::span<const float> all) {
    for (int c = 0; c < plan_.chunks(); ++c) {
      const Stretch own = elements(c);
      std::ranges::copy(all.subspan(static_cast<std::size_t>(own.first), static_cast<std::size_t>(own.count)),
                        x_.of(own).begin());
    }
  }

  void add_leaf(int chunk, std::int64_t leaf, std::int64_t step) {
    const std::span<float> g = g_.of(elements(chunk));
    if (injected_.nan == step && leaf + 1 == plan_.leaves().end())
      g.front() = std::numeric_limits<float>::quiet_NaN();
    const std::size_t at = learn::first_not_finite(g);
    const Vote found{.leaf = leaf, .at = elements(chunk).first + static_cast<std::int64_t>(at), .loss = 0};
    if (at < g.size() && std::pair(found.leaf, found.at) < std::pair(mine_.leaf, mine_.at)) mine_ = found;
    sums_[static_cast<std::size_t>(chunk)].add(0, g, leaf);
  }

  /// Means of the own stage over all pipelines, into the gradients.
  Status reduce() {
    const bool together = plan_.pipelines() > 1;
    if (together) marks_.begin(StepPart::AllReduce, Bytes{static_cast<std::int64_t>(kept())} * sizeof(float));
    const Status reduced = reduce_chunks();
    if (together) marks_.end();
    return reduced;
  }
  Status reduce_chunks() {
    for (UnitSum& sum : sums_) sum.begin(alike_, 0);
    COX_CHECK(alike_.wait());
    const float over = 1.0F / static_cast<float>(job_.leaves());
    for (std::size_t c = 0; c < sums_.size(); ++c) {
      const std::span<float> sum = sums_[c].finish(0);
      if (job_.leaves() > 1)
        for (float& v : sum) v *= over;
      const std::span<float> all = g_.of(elements(static_cast<int>(c)));
      const Stretch part = cut_[c].part(0, plan_.pipeline());
      const std::span<float> own =
          all.subspan(static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count));
      if (sum.data() != own.data()) std::ranges::copy(sum, own.begin());
      sums_[c].end(0);
      begin_gather(alike_, cut_[c], 0, own, all);
    }
    return alike_.wait();
  }

  [[nodiscard]] std::optional<learn::Divergence> first_of(const std::vector<Vote>& votes,
                                                          std::int64_t step) const {
    const auto first =
        std::ranges::min_element(votes, {}, [](const Vote& v) { return std::pair(v.leaf, v.at); });
    if (first->leaf >= job_.leaves()) return std::nullopt;
    return learn::Divergence{
        .worker = static_cast<int>(first->leaf / job_.share().leaves),
        .step = step,
        .tensor = learn::tensor_at(problem_->tensors(), static_cast<std::size_t>(first->at))};
  }

  Status update() {
    std::vector<learn::OptimizerPiece> pieces;
    for (const KeptPiece& p : pieces_)
      pieces.push_back({.weight = problem_->tensors()[p.tensor].columns > 1,
                        .tensor = p.tensor,
                        .count = static_cast<std::size_t>(p.elements.count),
                        .x = x_.of(p.elements).data(),
                        .g = g_.of(p.elements).data()});
    const double factor = learn::rate_factor(spec_, optimizer_.steps() + 1, job_.workers * job_.samples);
    marks_.begin(StepPart::Optimizer, {});
    const Status stepped = optimizer_.step(pieces, factor, norms_);
    marks_.end();
    return stepped;
  }

  const TrainJob& job_;
  learn::OptimizerSpec spec_;
  Transport& transport_;
  Marks& marks_;
  std::unique_ptr<learn::Problem> problem_;
  StagePlan plan_;
  GroupTransport links_;  ///< of the own pipeline, by stage
  GroupTransport alike_;  ///< those with the own stage, by pipeline
  MemoryCount memory_;
  Parting parting_;
  PagedFloats x_, g_;
  std::vector<Parting> cut_;  ///< of each chunk, over pipelines
  std::vector<UnitSum> sums_;
  std::vector<KeptPiece> pieces_;
  RankNorms norms_;
  learn::PartedOptimizer optimizer_;
  std::optional<Pipeline> pipeline_;
  Injected injected_;  ///< nobody's but on its rank
  Vote mine_;
  double loss_ = 0;
  std::vector<float> collected_;
};

}  // namespace

Result<std::unique_ptr<Held>> make_stages(const TrainJob& job, const learn::OptimizerSpec& optimizer,
                                          Transport& transport, Marks& marks,
                                          std::unique_ptr<learn::Problem> problem) {
  COX_ASSERT(job.pipeline, "the layout is a pipeline");
  COX_CHECK(check_stages(job, *problem));
  COX_TRY(const learn::ProblemSpec spec, learn::read_problem(job.problem));
  StagePlan plan(job, *problem, transport.rank());
  std::vector<std::unique_ptr<learn::ProblemStage>> chunks;
  for (int c = 0; c < plan.chunks(); ++c) {
    COX_TRY(auto stage, learn::make_stage(spec, plan.units(plan.place(c))));
    chunks.push_back(std::move(stage));
  }
  return std::make_unique<Stages>(job, optimizer, transport, marks, std::move(problem), std::move(plan),
                                  std::move(chunks));
}

}  // namespace cox::train
