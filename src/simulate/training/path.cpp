// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

#include "cox/replay/replay.hpp"

#include "simulate/training/account/accounts.hpp"
#include "simulate/training/step/play_steps.hpp"
#include "simulate/training/step/step_pacing.hpp"
#include "simulate/training/step/work_done.hpp"

namespace cox::simulate {
namespace {

using training::Accounts;
using training::Both;
using training::Gathering;
using training::Instruction;
using training::Meeting;
using training::Plan;

/// The pieces of a step as a graph: who waited for what.
class Pieces : public training::Watcher {
 public:
  Pieces(const Plan& plan, Meeting meeting, Seconds origin)
      : plan_(plan),
        meeting_(meeting),
        origin_(origin),
        line_(static_cast<std::size_t>(plan.units()), model::kNoOperation),
        stream_(2 * line_.size(), model::kNoOperation),
        post_(line_),
        mail_(line_.size()),
        issue_(line_.size()),
        done_(line_.size()) {}

  void begin(int unit, Seconds at) override {
    line(unit) = add(StepPart::Wait, {}, {});
    release_.back() = duration_from_seconds((at - origin_).count());
  }
  void fed(int unit, Seconds begin, Seconds end) override {
    line(unit) = add(StepPart::Input, end - begin, {line(unit)});
  }
  void computed(int unit, const Instruction& i, Seconds begin, Seconds computed, Seconds end) override {
    line(unit) = add(i.part, computed - begin, {line(unit)});
    if (i.tensor > Seconds{}) line(unit) = add(StepPart::Tensor, end - computed - i.context, {line(unit)});
    if (i.context > Seconds{}) line(unit) = add(StepPart::Context, i.context, {line(unit)});
  }
  void sent(int unit, int to, const Instruction& i, Seconds /*at*/, Seconds leaves,
            Seconds arrives) override {
    const model::MessageCost& cost = plan_.between(unit, to);
    model::OperationIndex& post = post_[static_cast<std::size_t>(unit)];
    by_slot(mail_, to, i.slot) = add(StepPart::Pipeline, arrives - leaves, {line(unit), post});
    if (plan_.network() != nullptr) return;  // there messages share the link
    post = add(StepPart::Pipeline, cost.occupied(i.bytes), {line(unit), post});
  }
  void received(int unit, const Instruction& i, Seconds /*begin*/, Seconds /*leaves*/,
                Seconds /*arrives*/) override {
    line(unit) = add(StepPart::Bubble, {}, {line(unit), by_slot(mail_, unit, i.slot)});
  }
  void issued(int unit, const Instruction& i, Seconds /*at*/) override {
    by_slot(issue_, unit, i.slot) = line(unit);
  }
  void met(const Gathering& g) override {
    before_.clear();
    for (const int unit : g.members) {
      before_.push_back(g.is_exchange() ? line(unit) : by_slot(issue_, unit, g.slot));
      if (g.is_exchange()) continue;
      before_.push_back(stream(unit, g.of));
      const int needs = data_collective(g).needs;
      if (needs >= 0) before_.push_back(by_slot(done_, unit, needs));
    }
    const model::OperationIndex all = add(StepPart::Wait, {}, before_);
    const Seconds complete = *std::max_element(g.arrivals.begin(), g.arrivals.end());
    for (std::size_t m = 0; m < g.members.size(); ++m) {
      const StepPart part = g.is_exchange() ? StepPart::Expert : StepPart::Data;
      const model::OperationIndex done = add(part, g.departures[m] - complete, {all});
      if (g.is_exchange()) {
        line(g.members[m]) = done;
      } else {
        stream(g.members[m], g.of) = done;
        by_slot(done_, g.members[m], g.slot) = done;
      }
    }
  }
  void awaited(int unit, const Instruction& i, Seconds /*begin*/, Seconds /*complete*/,
               Seconds /*end*/) override {
    line(unit) = add(StepPart::Wait, {}, {line(unit), by_slot(done_, unit, i.slot)});
  }

  void analyse(StepAnalysis& out) const {
    const replay::OperationTimes timeline = replay::replay(graph_, durations_, release_);
    const auto path = replay::critical_path(graph_, durations_, timeline);
    const Duration length = timeline.makespan - release_[path.front()];
    std::vector<double> weights(durations_.size());
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = in_seconds(durations_[i]);
    const auto by_part = replay::sensitivities(path, classes_, kStepParts, weights);
    out.path_time = Seconds{in_seconds(length)};
    for (std::size_t p = 0; p < kStepParts; ++p) {
      out.path[p] = Seconds{by_part[p]};
      out.sensitivity[p] = length > Duration{} ? by_part[p] / in_seconds(length) : 0;
    }
    out.path_pieces = static_cast<std::int64_t>(path.size());
  }

 private:
  model::OperationIndex& line(int unit) { return line_[static_cast<std::size_t>(unit)]; }
  model::OperationIndex& stream(int unit, training::ReplicaGroup of) {
    const std::size_t copies = of == training::ReplicaGroup::Copies ? 1 : 0;
    return stream_[2 * static_cast<std::size_t>(unit) + copies];
  }
  const training::DataCollective& data_collective(const Gathering& g) const {
    const training::StageCode& code = plan_.code(meeting_)[static_cast<std::size_t>(g.stage)];
    return code.data[static_cast<std::size_t>(g.slot)];
  }
  /// Of each unit, by slot.
  using BySlot = std::vector<std::vector<model::OperationIndex>>;
  static model::OperationIndex& by_slot(BySlot& all, int unit, int slot) {
    std::vector<model::OperationIndex>& of = all[static_cast<std::size_t>(unit)];
    if (of.size() <= static_cast<std::size_t>(slot))
      of.resize(static_cast<std::size_t>(slot) + 1, model::kNoOperation);
    return of[static_cast<std::size_t>(slot)];
  }
  model::OperationIndex add(StepPart part, Seconds duration,
                            std::initializer_list<model::OperationIndex> before) {
    few_.assign(before);
    return add(part, duration, few_);
  }
  /// `before` loses what is nothing.
  model::OperationIndex add(StepPart part, Seconds duration, std::vector<model::OperationIndex>& before) {
    std::erase(before, model::kNoOperation);
    durations_.push_back(std::max(duration_from_seconds(duration.count()), Duration{}));
    classes_.push_back(static_cast<std::uint32_t>(part));
    release_.emplace_back(0);
    return graph_.add(before);
  }

  const Plan& plan_;
  Meeting meeting_;
  Seconds origin_;
  model::Dependencies graph_;
  std::vector<Duration> durations_;
  std::vector<Duration> release_;  ///< when units began the step
  std::vector<std::uint32_t> classes_;
  std::vector<model::OperationIndex> line_;    ///< last piece of each unit's program
  std::vector<model::OperationIndex> stream_;  ///< last collective of its streams
  std::vector<model::OperationIndex> post_;    ///< last message that it sent
  BySlot mail_, issue_, done_;
  std::vector<model::OperationIndex> before_, few_;
};

}  // namespace

std::string_view name_of(StepPart part) {
  constexpr std::array<std::string_view, kStepParts> kNames = {"forward", "backward", "optimizer", "data",
                                                               "tensor",  "pipeline", "expert",    "context",
                                                               "bubble",  "wait",     "input"};
  return kNames[static_cast<std::size_t>(part)];
}

Result<StepAnalysis> analyse_step(const model::Scenario& scenario, std::int64_t step,
                                  const std::function<void(double, double)>& progress) {
  COX_CHECK(training::check_synchronous(scenario));
  if (step < 0 || step >= scenario.job.steps)
    return fail({.code = Errc::InvalidInput,
                 .id = "simulate-001",
                 .message = "the step to take apart is not one of the job's",
                 .hint = "steps count from 0",
                 .where = std::nullopt});
  COX_TRY(const Plan plan, Plan::make(scenario));
  COX_TRY(const Noise noise, Noise::make(scenario.noise, plan.placement(), scenario.seed));
  training::StepEngine engine(plan, &noise, scenario.seed, 0, plan.layout().data);
  std::vector<Seconds> now(static_cast<std::size_t>(plan.units()));
  COX_TRY(const pace::Settings settings, pace_settings(plan.job().pace));
  std::optional<training::StepPacing> paced;
  if (settings.mode != pace::Mode::Off) paced.emplace(plan, settings);
  training::StepPacing* pacing = paced ? &*paced : nullptr;
  // The last one is played for itself.
  const std::int64_t to_compute = paced ? 0 : training::steps_to_compute(plan, {});
  const training::WorkDone done(step + 1, to_compute > 0 ? to_compute + 1 : 0);
  const auto tell = [&](std::int64_t k) {
    if (!progress) return;
    const auto all = static_cast<double>(step + 1);
    progress(done.at(k, engine.played(), 0), all);
    engine.tell_progress([&, k, all](double part) { progress(done.at(k, engine.played() - 1, part), all); });
  };
  for (std::int64_t k = 0; k < step; ++k) {
    tell(k);
    COX_CHECK(play_paced(engine, k, training::meeting_of(scenario, k), now, nullptr, nullptr, pacing));
  }
  tell(step);
  StepAnalysis out;
  const Seconds origin = *std::min_element(now.begin(), now.end());
  std::vector<StepParts> all(1);
  const std::vector<int> of_unit(static_cast<std::size_t>(plan.units()));
  Accounts accounts(plan, engine.factors(), of_unit, all);
  Pieces pieces(plan, training::meeting_of(scenario, step), origin);
  Both both(accounts, pieces);
  COX_CHECK(play_paced(engine, step, training::meeting_of(scenario, step), now, &both, nullptr, pacing));
  out.step = *std::max_element(now.begin(), now.end()) - origin;
  out.parts = all.front();
  out.rank_time = accounts.rank_time();
  pieces.analyse(out);
  return out;
}

}  // namespace cox::simulate
