// SPDX-License-Identifier: Apache-2.0
#include "diagnose/operations/operation_repairs.hpp"

#include <algorithm>
#include <map>

#include "cox/replay/replay.hpp"

namespace cox::diagnose {

OperationRepairs::OperationRepairs(OperationModel model, const model::Program& program,
                                   std::vector<Duration> usual)
    : model_(std::move(model)), usual_(std::move(usual)) {
  for (const model::ProgramRank& r : program.ranks) {
    ranks_.push_back(r.rank);
    stage_.push_back(r.role.pipeline);
  }
  own_.resize(ranks_.size() * model_.types.size());
  for (std::size_t i = 0; i < model_.original.size(); ++i) {
    if (model_.type[i] == kNoType || model_.types[model_.type[i]].is_communication) continue;
    OwnWork& own = own_[model_.rank[i] * model_.types.size() + model_.type[i]];
    own.seconds += in_seconds(model_.original[i]);
    own.count += 1;
  }
  std::vector<Duration> finish;
  recorded_ = replay::makespan(model_.graph, model_.original, finish);
}

std::vector<bool> OperationRepairs::mask_of(const std::vector<Rank>& ranks) const {
  std::vector<bool> mask;
  mask.reserve(ranks_.size());
  for (const Rank r : ranks_) mask.push_back(std::find(ranks.begin(), ranks.end(), r) != ranks.end());
  return mask;
}

double OperationRepairs::gain(const std::vector<Duration>& durations) const {
  if (recorded_ <= Duration::zero()) return 0;
  std::vector<Duration> finish;
  return std::clamp(1 - ratio(replay::makespan(model_.graph, durations, finish), recorded_), 0.0, 1.0);
}

bool OperationRepairs::speed_up(const std::vector<bool>& slow, const std::vector<bool>& named,
                                std::vector<Duration>& durations) const {
  const std::size_t types = model_.types.size();
  std::map<std::pair<int, std::size_t>, OwnWork> like;  // stage, type
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    for (std::size_t t = 0; t < types && !named[r]; ++t) {
      OwnWork& sum = like[{stage_[r], t}];
      sum.seconds += own(r, t).seconds;
      sum.count += own(r, t).count;
    }
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    for (std::size_t t = 0; t < types; ++t) {
      if (!slow[r] || own(r, t).count == 0) continue;
      const auto at = like.find({stage_[r], t});
      if (at == like.end() || at->second.count == 0) return false;
    }
  // What a rank is slower by may lie in part of the Run: it is taken from operations by what each exceeds the usual one by.
  const auto usual_of = [&](std::size_t i) {
    const OwnWork& sum = like[{stage_[model_.rank[i]], model_.type[i]}];
    return sum.seconds / sum.count;
  };
  const auto is_meant = [&](std::size_t i) {
    return model_.type[i] != kNoType && slow[model_.rank[i]] && own(model_.rank[i], model_.type[i]).count > 0;
  };
  std::vector<double> beyond(own_.size(), 0);
  for (std::size_t i = 0; i < durations.size(); ++i)
    if (is_meant(i))
      beyond[model_.rank[i] * types + model_.type[i]] +=
          std::max(0.0, in_seconds(model_.original[i]) - usual_of(i));
  for (std::size_t i = 0; i < durations.size(); ++i) {
    if (!is_meant(i)) continue;
    const OwnWork& mine = own(model_.rank[i], model_.type[i]);
    const double usual = usual_of(i);
    const double excess = mine.seconds - usual * mine.count;
    const double seconds = in_seconds(model_.original[i]);
    if (excess <= 0 || seconds <= usual) continue;
    const double less = excess / beyond[model_.rank[i] * types + model_.type[i]] * (seconds - usual);
    durations[i] = duration_from_seconds(in_seconds(durations[i]) * (1 - less / seconds));
  }
  return true;
}

bool OperationRepairs::balance(std::vector<bool> named, std::vector<Duration>& durations) const {
  std::map<int, OwnWork> by_stage;  // of a rank: seconds over the Run
  const auto sum_up = [&] {
    by_stage.clear();
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      OwnWork& sum = by_stage[stage_[r]];
      if (named[r]) continue;
      for (std::size_t t = 0; t < model_.types.size(); ++t) sum.seconds += own(r, t).seconds;
      sum.count += 1;
    }
  };
  const auto lacks_a_stage = [&] {
    return std::any_of(by_stage.begin(), by_stage.end(),
                       [](const auto& s) { return s.second.count == 0 || s.second.seconds <= 0; });
  };
  sum_up();
  if (lacks_a_stage()) {  // all of one stage are named
    named.assign(named.size(), false);
    sum_up();
  }
  if (by_stage.size() < 2 || lacks_a_stage()) return false;
  double mean = 0;
  for (const auto& [stage, sum] : by_stage)
    mean += sum.seconds / sum.count / static_cast<double>(by_stage.size());
  for (std::size_t i = 0; i < durations.size(); ++i) {
    if (model_.type[i] == kNoType || model_.types[model_.type[i]].is_communication) continue;
    const OwnWork& sum = by_stage[stage_[model_.rank[i]]];
    durations[i] = duration_from_seconds(in_seconds(durations[i]) * mean * sum.count / sum.seconds);
  }
  return true;
}

bool OperationRepairs::put_right(const OperationFinding& f, const std::vector<Rank>& named,
                                 std::vector<Duration>& durations) const {
  const std::vector<bool> meant = mask_of(f.ranks);
  switch (f.cause) {
    case OperationCause::SlowWorker:
      return speed_up(meant, mask_of(named), durations);
    case OperationCause::StageImbalance:
      return balance(mask_of(named), durations);
    case OperationCause::Communication:
      for (std::size_t i = 0; i < durations.size(); ++i)
        if (model_.type[i] != kNoType && model_.types[model_.type[i]].is_communication &&
            (f.ranks.empty() || meant[model_.rank[i]]))
          durations[i] = usual_[i];
      return true;
    case OperationCause::None:
      break;
  }
  return false;
}

}  // namespace cox::diagnose
