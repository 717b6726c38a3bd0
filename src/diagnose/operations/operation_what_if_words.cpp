// SPDX-License-Identifier: Apache-2.0
#include "diagnose/operations/operation_what_if_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace cox::diagnose {
namespace {

/// A single worker is named before its stage where it alone brings most of what the stage brings.
constexpr double kMostOfStage = 0.8;
/// A few workers: at most this part of all.
constexpr std::size_t kFewOf = 8;

std::string percent(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

std::string seconds(Duration d) {
  return fmt::format("{:.4g} s", in_seconds(d));
}

std::string join(const std::vector<Rank>& ranks) {
  constexpr std::size_t kMost = 8;
  std::string out;
  for (std::size_t i = 0; i < ranks.size() && i < kMost; ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i].value());
  if (ranks.size() > kMost) out += fmt::format(" and {} more", ranks.size() - kMost);
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", out);
}

const PartEffect* largest_removed(const std::vector<PartEffect>& parts) {
  const auto at = std::max_element(parts.begin(), parts.end(), [](const PartEffect& a, const PartEffect& b) {
    return a.removed < b.removed;
  });
  return at == parts.end() ? nullptr : &*at;
}

const PartEffect* slowest_communication(const OperationWhatIf& w) {
  const auto at =
      std::find_if(w.types.begin(), w.types.end(), [](const PartEffect& p) { return p.is_communication; });
  return at == w.types.end() ? nullptr : &*at;  // types are sorted by slowdown
}

std::size_t count_data_ranks(const OperationWhatIf& w) {
  std::set<int> data;
  for (const WorkerEffect& e : w.workers) data.insert(e.role.data);
  return data.size();
}

/// The best small set that was tried: one worker, the slowest 3 %, or the culprits where they are few and not
/// a whole stage.
CulpritSet few_workers(const OperationWhatIf& w) {
  CulpritSet best;
  for (const WorkerEffect& e : w.workers)
    if (std::isfinite(e.removed) && (best.ranks.empty() || e.removed > best.removed))
      best = {.ranks = {e.rank}, .removed = e.removed};
  if (best.ranks.empty() || w.slowest_workers.removed > best.removed) best = w.slowest_workers;
  if (w.culprits.ranks.size() <= w.workers.size() / kFewOf && w.culprits.removed > best.removed) {
    std::set<int> stages;
    for (const WorkerEffect& e : w.workers)
      if (std::binary_search(w.culprits.ranks.begin(), w.culprits.ranks.end(), e.rank))
        stages.insert(e.role.pipeline);
    const auto of_stage = std::count_if(w.workers.begin(), w.workers.end(), [&](const WorkerEffect& e) {
      return stages.size() == 1 && e.role.pipeline == *stages.begin();
    });
    if (static_cast<std::size_t>(of_stage) != w.culprits.ranks.size()) best = w.culprits;
  }
  return best;
}

void name_stage(const OperationWhatIf& w, const PartEffect& stage, OperationFinding& f) {
  f.cause = OperationCause::StageImbalance;
  f.stage = stage.index;
  for (const WorkerEffect& e : w.workers)
    if (e.role.pipeline == stage.index) f.ranks.push_back(e.rank);
  const bool is_last = std::all_of(w.stages.begin(), w.stages.end(),
                                   [&](const PartEffect& p) { return p.index <= stage.index; });
  f.text = fmt::format(
      "{} stage ({}) is too long on all {} data ranks: {} of the slowdown goes when it works as the "
      "others do, {} with its slowest worker alone; move work to other stages",
      is_last ? "the last" : "one", stage.index, count_data_ranks(w), percent(stage.removed),
      percent(f.worker_share));
}

void name_workers(const OperationWhatIf& w, const CulpritSet& few, OperationFinding& f) {
  f.cause = OperationCause::SlowWorker;
  f.ranks = few.ranks;
  f.text = fmt::format("{} {} slow and others in {} place are not: {} of the slowdown goes when {} as usual",
                       join(few.ranks), few.ranks.size() == 1 ? "is" : "are",
                       few.ranks.size() == 1 ? "its" : "their", percent(few.removed),
                       few.ranks.size() == 1 ? "it works" : "they work");
  if (count_data_ranks(w) == 1 && w.stages.size() > 1)
    f.text += "; with one data rank a slow worker and a stage with too much work look the same";
}

void name_communication(const OperationWhatIf& w, OperationFinding& f) {
  f.cause = OperationCause::Communication;
  const PartEffect* type = slowest_communication(w);
  f.text = fmt::format("transfers are slow: {} of the slowdown goes when they last as long as usual",
                       percent(f.communication_share));
  if (type != nullptr) f.text += fmt::format("; most of it is {} (x{:.3f})", type->name, type->slowdown);
}

}  // namespace

OperationFinding find_operation_cause(const OperationWhatIf& w, double communication_share,
                                      const OperationWhatIfOptions& options) {
  OperationFinding f;
  const PartEffect* stage = w.stages.size() > 1 ? largest_removed(w.stages) : nullptr;
  const CulpritSet few = few_workers(w);
  f.stage_share = stage == nullptr ? 0 : stage->removed;
  f.worker_share = few.removed;
  f.communication_share = communication_share;
  if (w.slowdown < options.slow_from) {
    f.text = fmt::format("nothing is slow: all operations as usual would bring {}, below {}",
                         percent(w.slowdown - 1), percent(options.slow_from - 1));
    return f;
  }
  const double wanted = options.explains_from;
  const bool is_stage =
      count_data_ranks(w) > 1 && f.stage_share >= wanted && f.worker_share < kMostOfStage * f.stage_share;
  const bool is_worker = f.worker_share >= wanted && !is_stage;
  const double compute_share = is_stage ? f.stage_share : is_worker ? f.worker_share : 0;
  if (communication_share >= wanted && communication_share > compute_share)
    name_communication(w, f);
  else if (is_stage)
    name_stage(w, *stage, f);
  else if (is_worker)
    name_workers(w, few, f);
  else
    f.text = fmt::format(
        "no stage, worker or kind of transfer explains half of it: the best stage {}, the best worker "
        "{}, transfers {}; cause unknown",
        percent(f.stage_share), percent(f.worker_share), percent(communication_share));
  return f;
}

std::vector<std::string> describe(const OperationWhatIf& w) {
  std::vector<std::string> out;
  out.push_back(fmt::format(
      "steps are x{:.3f} (+-{:.3f}) as long as with all operations as usual: {} against {} ({} "
      "steps, {} operations simulated)",
      w.slowdown, w.slowdown_error, seconds(w.original), seconds(w.ideal), w.steps.size(), w.operations));
  out.push_back(w.finding.text);
  if (!w.is_faithful)
    out.push_back(fmt::format(
        "the simulation misses the measured step ({}) by {:+.1f} %: do not rely on what is below that",
        seconds(w.measured), 100 * w.fidelity));
  else
    out.push_back(fmt::format("the simulation meets the measured step ({}) within {:+.1f} %",
                              seconds(w.measured), 100 * w.fidelity));
  if (!w.culprits.ranks.empty())
    out.push_back(fmt::format("smallest set that explains it: {}: {} of the slowdown, {} per step",
                              join(w.culprits.ranks), percent(w.culprits.removed),
                              seconds(w.culprits.step_time)));
  constexpr std::size_t kMostTypes = 5;
  for (std::size_t i = 0; i < w.types.size() && i < kMostTypes; ++i)
    out.push_back(fmt::format("{}: x{:.4f}, {} of the critical path", w.types[i].name, w.types[i].slowdown,
                              percent(w.types[i].on_path)));
  for (const PartEffect& s : w.stages)
    if (w.stages.size() > 1 && s.removed >= 0.1)
      out.push_back(fmt::format("{}: x{:.4f}, {} of the slowdown goes with it", s.name, s.slowdown,
                                percent(s.removed)));
  out.push_back(fmt::format(
      "free pipeline messages: x{:.4f}; free data-parallel collectives: x{:.4f}; no transfer at all: x{:.4f}",
      w.fabric.pipeline_free, w.fabric.data_free, w.fabric.communication_free));
  for (const std::string& n : w.notes) out.push_back(n);
  return out;
}

}  // namespace cox::diagnose
