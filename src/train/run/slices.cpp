// SPDX-License-Identifier: Apache-2.0
#include "train/run/slices.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/learn/optimize.hpp"
#include "cox/learn/problem_slice.hpp"
#include "cox/learn/schedule.hpp"

#include "train/executor/executor.hpp"
#include "train/executor/slice_norms.hpp"
#include "train/executor/unit_sum.hpp"
#include "train/run/slice_plan.hpp"
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
static_assert(Bytes{sizeof(Vote)} == kSliceVote);

/// Of an optimizer that takes none.
class NoNorms final : public learn::PieceNorms {
 public:
  Result<double> of_all(std::span<const float* const>) override { return 0.0; }
  Result<std::vector<double>> of_tensors(std::span<const float* const>) override {
    return std::vector<double>{};
  }
};

class Slices final : public Held {
 public:
  Slices(const TrainJob& job, const learn::OptimizerSpec& optimizer, Transport& transport, Marks& marks,
         std::unique_ptr<learn::Problem> problem, std::unique_ptr<learn::ProblemSlice> slice)
      : job_(job),
        transport_(transport),
        marks_(marks),
        problem_(std::move(problem)),
        slice_(std::move(slice)),
        plan_(job, transport.rank()),
        links_(transport, plan_.slice(), plan_.own_group()),
        alike_(transport, plan_.group(), plan_.own_slice()),
        parting_(plan_.parting(slice_->parameters())),
        x_(memory_, Use::Parameters, own()),
        g_(memory_, Use::Gradients, own()),
        room_(memory_, Use::Activations, static_cast<std::size_t>(slice_->room() * job.share().samples)),
        sum_(job.leaves(), parting_, plan_.group(), memory_),
        spec_(optimizer),
        optimizer_(optimizer, own()) {
    const auto direction = static_cast<std::int64_t>(learn::direction_floats(spec_.kind, own()));
    memory_.take(Use::Optimizer, optimizer_bytes() + Bytes{direction} * sizeof(float));
    if (learn::takes_norms(spec_)) norms_.emplace(*slice_, problem_->tensors(), links_, memory_);
    if (!job.checkpoint.empty() && plan_.group() == 0) {
      saved_ =
          CountedFloats(memory_, Use::Copies, arrays() * static_cast<std::size_t>(saved_elements().count));
      coming_ = CountedFloats(memory_, Use::Copies,
                              static_cast<std::size_t>(stretch_room(*slice_, plan_.slice(), plan_.slices(),
                                                                    problem_->parameters())));
    }
    std::vector<float> all(static_cast<std::size_t>(problem_->parameters()));
    problem_->initial(all);
    learn::take_slice(*slice_, plan_.slice(), all, x_.all());
  }

  /// What sums over the group are carried out by. Errors: those of Executor::make.
  Status describe() {
    for (const std::int64_t floats : sums()) {
      if (executors_.contains(floats)) continue;
      COX_TRY(Executor executor, Executor::make(plan_.sum(floats), plan_.slice()));
      memory_.take(Use::Received, executor.room());
      executors_.emplace(floats, std::move(executor));
    }
    return {};
  }

  void inject(const Injected& fault) override {
    if (fault.rank == transport_.rank()) injected_ = fault;
  }

  Result<std::optional<learn::Divergence>> step(std::int64_t number) override {
    mine_ = {};
    collected_ = std::vector<float>();  // {} would keep its room
    if (plan_.slices() > 1) marks_.meets(plan_.own_group(), plan_.slice(), "tensor");
    if (injected_.delay > Seconds{}) {
      marks_.begin(StepPart::Forward, {});
      std::this_thread::sleep_for(injected_.delay);
      marks_.end();
    }
    const Stretch leaves = plan_.leaves();
    for (std::int64_t leaf = leaves.first; leaf < leaves.end(); ++leaf) COX_CHECK(take_leaf(leaf, number));
    // Groups with fewer leaves count on as those with most: all ranks number messages alike.
    for (std::int64_t missing = leaves.count; missing < plan_.most_leaves(); ++missing)
      for (const std::int64_t floats : sums())
        static_cast<void>(links_.numbers(executors_.at(floats).messages()));
    mine_.loss /= static_cast<double>(leaves.count);
    COX_CHECK(reduce());
    COX_TRY(const std::vector<Vote> votes, exchange(transport_, mine_));
    loss_ = mine_.loss;
    if (auto found = first_of(votes, number)) return found;
    COX_CHECK(update());
    return std::optional<learn::Divergence>{};
  }

  Result<std::span<const float>> whole(bool on_all_ranks) override {
    const bool wanted = on_all_ranks || transport_.rank() == 0;
    const bool gives = on_all_ranks || plan_.group() == 0;
    COX_CHECK(gather(x_.all(), {.wanted = wanted, .gives = gives, .by_first = !on_all_ranks}));
    return wanted ? std::span<const float>(collected_) : std::span<const float>{};
  }

  Result<bool> all_finite() override {
    const int finite = learn::first_not_finite(x_.all()) < own() ? 0 : 1;
    COX_TRY(const std::vector<int> all, exchange(transport_, finite));
    return std::ranges::find(all, 0) == all.end();
  }

  void go_on(const SavedState& state) override {
    learn::take_slice(*slice_, plan_.slice(), state.parameters, x_.all());
    const auto all = static_cast<std::size_t>(problem_->parameters());
    std::vector<float> moments(own() * static_cast<std::size_t>(this->moments()));
    for (std::size_t m = 0; m * own() < moments.size(); ++m)
      learn::take_slice(*slice_, plan_.slice(), std::span(state.moments).subspan(m * all, all),
                        std::span(moments).subspan(m * own(), own()));
    optimizer_.go_on(state.version, moments);
  }

  /// A stretch of all elements with each slice of the first group.
  Status collect_saved() override {
    for (std::size_t array = 0; array < arrays(); ++array) {
      const std::span<const float> values = array == 0
                                                ? std::span<const float>(x_.all())
                                                : optimizer_.state().subspan((array - 1) * own(), own());
      COX_CHECK(
          gather_stretch(*slice_, links_, values, problem_->parameters(), coming_.all(), saved_array(array)));
    }
    return {};
  }
  std::vector<SavedSpan> saved() override {
    SavedSpan one{.elements = saved_elements(), .values = {}};
    for (std::size_t array = 0; array < arrays(); ++array) one.values.push_back(saved_array(array));
    return {one};
  }

  [[nodiscard]] double loss() const override { return loss_; }
  [[nodiscard]] learn::Problem& problem() override { return *problem_; }
  [[nodiscard]] int moments() const override { return static_cast<int>(learn::moments_of(spec_.kind)); }
  [[nodiscard]] Bytes optimizer_bytes() const override {
    return Bytes{static_cast<std::int64_t>(own()) * moments()} * sizeof(float);
  }
  [[nodiscard]] MemoryCount& memory() override { return memory_; }

 private:
  [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(slice_->parameters()); }

  /// Parameters, and each moment.
  [[nodiscard]] std::size_t arrays() const { return 1 + static_cast<std::size_t>(moments()); }
  [[nodiscard]] Stretch saved_elements() const {
    const std::int64_t all = problem_->parameters();
    if (plan_.group() > 0) return {.first = all, .count = 0};
    return part_of(all, plan_.slice(), plan_.slices());
  }
  [[nodiscard]] std::span<float> saved_array(std::size_t array) {
    const std::size_t count = saved_.all().size() / arrays();
    return saved_.all().subspan(array * count, count);
  }

  /// Into `collected_`, where they are wanted.
  Status gather(std::span<const float> values, const Gathered& how) {
    std::vector<float> room(how.wanted ? own() * static_cast<std::size_t>(plan_.slices()) : 0);
    if (how.wanted) collected_.resize(static_cast<std::size_t>(problem_->parameters()));
    return gather_slices(*slice_, links_, values, how, room, collected_);
  }

  [[nodiscard]] std::vector<std::int64_t> sums() const { return slice_->sums(job_.share().samples); }

  /// A leaf's gradient on its way: marks its parts, and adds up over the group.
  class Leaf final : public learn::SliceUse {
   public:
    explicit Leaf(Slices& of) : of_(of) {}
    void forth() override { go_on(StepPart::Forward); }
    void back() override { go_on(StepPart::Gradient); }
    Status sum(std::span<float> values) override {
      of_.marks_.end();
      of_.marks_.begin(StepPart::AllReduce, Bytes{static_cast<std::int64_t>(values.size_bytes())});
      const Status summed =
          of_.executors_.at(static_cast<std::int64_t>(values.size())).run(of_.links_, values);
      of_.marks_.end();
      of_.marks_.begin(part_, {});
      return summed;
    }
    void end() { of_.marks_.end(); }

   private:
    void go_on(StepPart part) {
      if (began_) of_.marks_.end();
      began_ = true;
      part_ = part;
      of_.marks_.begin(part, {});
    }
    Slices& of_;
    StepPart part_ = StepPart::Forward;
    bool began_ = false;
  };

  Status take_leaf(std::int64_t number, std::int64_t step) {
    const learn::StepShare share = job_.share();
    const learn::Shard shard =
        share.shard(job_.workers, static_cast<int>(number / share.leaves), step, number % share.leaves);
    Leaf leaf(*this);
    const auto loss = slice_->gradient(x_.all(), shard, room_.all(), g_.all(), leaf);
    if (loss) add_leaf(number, step);
    leaf.end();
    if (!loss) return fail(loss.error());
    mine_.loss += *loss;
    return {};
  }

  void add_leaf(std::int64_t leaf, std::int64_t step) {
    const std::span<float> g = g_.all();
    if (injected_.nan == step && leaf + 1 == plan_.leaves().end())
      g.front() = std::numeric_limits<float>::quiet_NaN();
    const std::size_t at = learn::first_not_finite(g);
    if (at < g.size()) {
      const std::int64_t place = learn::place_of(*slice_, plan_.slice(), static_cast<std::int64_t>(at));
      if (std::pair(leaf, place) < std::pair(mine_.leaf, mine_.at)) {
        mine_.leaf = leaf;
        mine_.at = place;
      }
    }
    sum_.add(0, g, leaf);
  }

  Status update() {
    std::vector<learn::OptimizerPiece> pieces;
    for (std::size_t t = 0; t < slice_->tensors().size(); ++t) {
      const learn::Tensor& own = slice_->tensors()[t].own;
      const auto first = static_cast<std::size_t>(own.first);
      pieces.push_back(
          {.weight = problem_->tensors()[t].columns > 1,  // of all slices: one's may be one column
           .tensor = t,
           .count = static_cast<std::size_t>(own.size()),
           .x = x_.all().subspan(first).data(),
           .g = g_.all().subspan(first).data()});
    }
    const double factor = learn::rate_factor(spec_, optimizer_.steps() + 1, job_.workers * job_.samples);
    marks_.begin(StepPart::Optimizer, {});
    NoNorms none;
    const Status stepped =
        norms_ ? optimizer_.step(pieces, factor, *norms_) : optimizer_.step(pieces, factor, none);
    marks_.end();
    return stepped;
  }

  /// Means of the own slice over all groups, into the gradients.
  Status reduce() {
    const bool together = plan_.groups() > 1;
    if (together) marks_.meets(plan_.own_slice(), plan_.group(), "data");
    if (together) marks_.begin(StepPart::AllReduce, Bytes{static_cast<std::int64_t>(own())} * sizeof(float));
    const Status reduced = reduce_slice();
    if (together) marks_.end();
    return reduced;
  }
  Status reduce_slice() {
    sum_.begin(alike_, 0);
    COX_CHECK(alike_.wait());
    const std::span<float> sum = sum_.finish(0);
    const float over = 1.0F / static_cast<float>(job_.leaves());
    if (job_.leaves() > 1)
      for (float& v : sum) v *= over;
    const Stretch part = parting_.part(0, plan_.group());
    const std::span<float> mine =
        g_.all().subspan(static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count));
    if (sum.data() != mine.data()) std::ranges::copy(sum, mine.begin());
    sum_.end(0);
    begin_gather(alike_, parting_, 0, mine, g_.all());
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

  const TrainJob& job_;
  Transport& transport_;
  Marks& marks_;
  std::unique_ptr<learn::Problem> problem_;
  std::unique_ptr<learn::ProblemSlice> slice_;
  SlicePlan plan_;
  GroupTransport links_;  ///< of the own group, by slice
  GroupTransport alike_;  ///< those with the own slice, by group
  MemoryCount memory_;
  Parting parting_;
  CountedFloats x_, g_, room_;
  CountedFloats saved_;   ///< where the job saves: its stretches, brought together
  CountedFloats coming_;  ///< from another slice for these
  UnitSum sum_;
  learn::OptimizerSpec spec_;
  learn::PartedOptimizer optimizer_;
  std::optional<SliceNorms> norms_;             ///< where the optimizer takes some
  std::map<std::int64_t, Executor> executors_;  ///< by floats
  Injected injected_;                           ///< nobody's but on its rank
  Vote mine_;
  double loss_ = 0;
  std::vector<float> collected_;
};

}  // namespace

Result<std::unique_ptr<Held>> make_slices(const TrainJob& job, const learn::OptimizerSpec& optimizer,
                                          Transport& transport, Marks& marks,
                                          std::unique_ptr<learn::Problem> problem) {
  COX_ASSERT(job.tensor > 0, "the layout is tensor");
  COX_CHECK(check_slices(job));
  COX_TRY(const learn::ProblemSpec spec, learn::read_problem(job.problem));
  COX_TRY(auto slice,
          learn::make_slice(spec, {.number = transport.rank() % job.tensor, .parts = job.tensor}));
  auto made =
      std::make_unique<Slices>(job, optimizer, transport, marks, std::move(problem), std::move(slice));
  COX_CHECK(made->describe());
  return made;
}

}  // namespace cox::train
