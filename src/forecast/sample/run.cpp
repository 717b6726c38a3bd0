// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/stats.hpp"
#include "cox/diagnose/matched.hpp"
#include "cox/diagnose/timeline.hpp"
#include "cox/model/collective.hpp"
#include "cox/trace/time_unit.hpp"

#include "forecast/sample/read.hpp"
#include "forecast/sample/record.hpp"

namespace cox::forecast {
namespace {

constexpr std::size_t kMostPositions = 32;
constexpr double kSame = 0.01;  ///< ranks with step times this near to each other tell the job's

Error nothing(const trace::Run& run, std::string message) {
  return Error{
      .code = Errc::InvalidInput,
      .id = "forecast-002",
      .message = std::move(message),
      .hint =
          "record more steps, name the unit (time_ms), or mark the steps: docs/howto/mark-your-own-program.md",
      .where = Where{.file = run.info.name}};
}

/// Which communicators a synchronisation of all ranks goes over: the largest that have the same size and together hold
/// every rank. Empty = none such, and every synchronisation counts.
std::set<CommId> widest_communicators(const trace::Run& run) {
  std::map<std::size_t, std::vector<const trace::Communicator*>> by_size;
  for (const trace::Communicator& c : run.communicators)
    if (c.ranks.size() > 1) by_size[c.ranks.size()].push_back(&c);
  for (auto at = by_size.rbegin(); at != by_size.rend(); ++at) {
    std::set<Rank> held;
    for (const trace::Communicator* c : at->second) held.insert(c->ranks.begin(), c->ranks.end());
    if (held.size() < run.ranks.size()) continue;
    std::set<CommId> ids;
    for (const trace::Communicator* c : at->second) ids.insert(c->id);
    return ids;
  }
  return {};
}

/// One synchronisation as a rank saw it.
struct Meeting {
  Seconds own{};  ///< work before it
  Duration arrival{};
  Duration departure{};
  model::Collective kind = model::Collective::Other;
  Bytes bytes{};
};
/// Those of one rank in a step, in order.
struct RankStep {
  std::vector<Meeting> met;
  [[nodiscard]] Duration end() const { return met.empty() ? Duration::min() : met.back().departure; }
};
using RankSteps = std::vector<RankStep>;  ///< by step

/// Walks a rank's stays in order.
class RankWalk {
 public:
  RankWalk(const trace::Run& run, const diagnose::Timeline& timeline, std::size_t rank,
           const std::set<CommId>& widest)
      : events_(run.ranks[rank].events), offset_(timeline.offset(rank)), widest_(widest) {
    steps_.resize(timeline.step_begins(rank).size());
    for (const diagnose::Stay& stay : timeline.stays(rank)) take(stay);
  }
  RankSteps take_steps() && { return std::move(steps_); }
  [[nodiscard]] bool saw_neighbours() const { return saw_neighbours_; }
  [[nodiscard]] bool saw_all() const { return saw_all_; }

 private:
  void take(const diagnose::Stay& stay) {
    if (stay.what == diagnose::kDelayCode) {
      if (busy_from_) *busy_from_ += stay.end - std::max(stay.begin, *busy_from_);
      return;
    }
    const std::optional<std::size_t> call = call_of(stay);
    if (!counts(stay, call)) return;
    if (busy_from_ && stay.step >= 0 && static_cast<std::size_t>(stay.step) < steps_.size()) {
      Meeting met{.own = Seconds{in_seconds(std::max(Duration::zero(), stay.begin - *busy_from_))},
                  .arrival = stay.begin,
                  .departure = stay.end};
      if (call) {
        met.kind = events_.collective(*call);
        met.bytes = events_.bytes[*call];
      }
      steps_[static_cast<std::size_t>(stay.step)].met.push_back(met);
    }
    busy_from_ = stay.end;
  }

  /// Whether all ranks meet there.
  bool counts(const diagnose::Stay& stay, std::optional<std::size_t> call) {
    if (stay.what >= diagnose::kWaitCode) {  // on background operations, or for messages
      saw_neighbours_ = saw_neighbours_ || (stay.what & diagnose::kUnsplitMark) != 0;
      return true;
    }
    if (!model::synchronizes_all(static_cast<model::Collective>(stay.what))) return false;
    saw_all_ = true;
    if (widest_.empty()) return true;
    return !call || widest_.count(events_.comm[*call]) > 0;
  }

  /// The collective that a stay shows.
  std::optional<std::size_t> call_of(const diagnose::Stay& stay) {
    while (next_ < events_.size() && events_.begin[next_] <= stay.begin + offset_) ++next_;
    if (stay.what >= diagnose::kWaitCode) return std::nullopt;
    for (std::size_t i = next_; i-- > 0 && next_ - i < kLookBack;)
      if (events_.kind[i] == trace::EventKind::Collective && events_.end[i] == stay.end + offset_) return i;
    return std::nullopt;
  }

  static constexpr std::size_t kLookBack = 64;
  const trace::EventColumns& events_;
  Duration offset_;
  const std::set<CommId>& widest_;
  RankSteps steps_;
  std::optional<Duration> busy_from_;
  std::size_t next_ = 0;
  bool saw_neighbours_ = false;
  bool saw_all_ = false;
};

/// The role of each rank: its tensor and pipeline place, numbered from 0; all the same where none is told.
std::vector<std::int32_t> roles_of(const trace::Run& run) {
  std::map<std::pair<int, int>, std::int32_t> number;
  for (const trace::RankTrack& t : run.ranks) number.emplace(std::pair{t.role.pipeline, t.role.tensor}, 0);
  std::int32_t n = 0;
  for (auto& [place, index] : number) index = n++;
  std::vector<std::int32_t> roles;
  roles.reserve(run.ranks.size());
  for (const trace::RankTrack& t : run.ranks) roles.push_back(number.at({t.role.pipeline, t.role.tensor}));
  return roles;
}

std::vector<SampleRank> ranks_of(const trace::Run& run) {
  std::map<NodeId, std::int32_t> node_index;
  for (const trace::Node& node : run.nodes) {
    const auto n = static_cast<std::int32_t>(node_index.size());
    if (!node.host.empty()) node_index.emplace(node.id, n);
  }
  const std::vector<std::int32_t> roles = roles_of(run);
  std::vector<SampleRank> ranks;
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const auto at = node_index.find(run.ranks[r].node);
    ranks.push_back({.rank = static_cast<std::int32_t>(run.ranks[r].rank.value()),
                     .node = at == node_index.end() ? -1 : at->second,
                     .role = roles[r]});
  }
  return ranks;
}

/// Steps in which an evaluation lies, of any rank.
std::set<std::size_t> evaluated_steps(const trace::Run& run, const diagnose::Timeline& timeline) {
  std::set<std::size_t> found;
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const trace::EventColumns& e = run.ranks[r].events;
    const auto begins = timeline.step_begins(r);
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (e.kind[i] != trace::EventKind::Phase ||
          e.op[i] != static_cast<std::uint8_t>(trace::PhaseKind::Evaluation))
        continue;
      const auto at = std::upper_bound(begins.begin(), begins.end(), e.begin[i]);
      if (at != begins.begin()) found.insert(static_cast<std::size_t>(at - begins.begin()) - 1);
    }
  }
  return found;
}

/// The commonest number of synchronisations of a step, of one rank. First steps are no measure.
std::size_t usual_positions(const RankSteps& steps) {
  std::map<std::size_t, std::size_t> seen;
  for (std::size_t k = 1; k < steps.size(); ++k) ++seen[steps[k].met.size()];
  std::size_t usual = 0;
  std::size_t most = 0;
  for (const auto& [count, times] : seen)
    if (times > most) std::tie(usual, most) = std::pair{count, times};
  return usual;
}

/// Puts the steps of all ranks that have the usual number of synchronisations into a sample.
class Assembly {
 public:
  Assembly(const trace::Run& run, std::vector<RankSteps> steps, std::set<std::size_t> evaluated)
      : run_(run), steps_(std::move(steps)), evaluated_(std::move(evaluated)) {
    for (const RankSteps& rank : steps_) {
      usual_.push_back(usual_positions(rank));
      count_ = usual_.size() == 1 ? rank.size() : std::min(count_, rank.size());
    }
  }

  Result<Sample> finish(Sample out) && {
    const std::size_t least = *std::min_element(usual_.begin(), usual_.end());
    const std::size_t most = *std::max_element(usual_.begin(), usual_.end());
    if (least == 0)
      return fail(nothing(run_, "a rank has no synchronisation in its steps, expected one at least"));
    const bool apart = least == most && most <= kMostPositions;
    positions_ = apart ? most : 1;
    if (!apart)
      out.left_out.push_back(
          least == most
              ? fmt::format(
                    "a step has {} synchronisations, more than {}: own work is taken per step, so the "
                    "forecast is a lower bound",
                    most, kMostPositions)
              : fmt::format("ranks have from {} to {} synchronisations in a step: own work is taken per step",
                            least, most));
    out.positions.resize(positions_);
    for (std::size_t p = 0; p < positions_; ++p)
      out.positions[p].name = positions_ > 1 ? fmt::format("{} of {}", p + 1, positions_) : "";
    take_steps(out);
    if (out.steps.size() < 2)
      return fail(nothing(
          run_, fmt::format("{} of {} steps can be used, expected at least 2", out.steps.size(), count_)));
    return out;
  }

 private:
  [[nodiscard]] bool usual(std::size_t k) const {
    for (std::size_t r = 0; r < steps_.size(); ++r)
      if (steps_[r][k].met.size() != usual_[r]) return false;
    return true;
  }

  [[nodiscard]] std::optional<Duration> end_of(std::size_t k) const {
    Duration end = Duration::min();
    for (const RankSteps& rank : steps_) end = std::max(end, rank[k].end());
    return end == Duration::min() ? std::nullopt : std::optional(end);
  }

  void take_steps(Sample& out) {
    std::size_t unusual = 0;
    std::size_t evaluated = 0;
    for (std::size_t k = 1; k < count_; ++k) {
      const std::optional<Duration> from = end_of(k - 1);
      const std::optional<Duration> to = end_of(k);
      if (evaluated_.count(k) > 0) {
        ++evaluated;
      } else if (!usual(k) || !from || !to || *to < *from) {
        ++unusual;
      } else {
        out.steps.push_back({.number = static_cast<std::int64_t>(k),
                             .begin = Seconds{in_seconds(*from)},
                             .length = Seconds{in_seconds(*to - *from)}});
        take_own(out, k);
        kept_.push_back(k);
      }
    }
    if (usual_.front() == positions_)
      for (std::size_t p = 0; p < positions_; ++p) out.positions[p].traffic = traffic_of(p);
    out.left_out.emplace_back("the first step: it starts the job up");
    if (evaluated > 0) out.left_out.push_back(fmt::format("{} steps with an evaluation", evaluated));
    if (unusual > 0)
      out.left_out.push_back(
          fmt::format("{} of {} steps with another number of synchronisations than the others "
                      "(checkpoints, ends of epochs, what was not recorded)",
                      unusual, count_));
  }

  void take_own(Sample& out, std::size_t k) {
    for (const RankSteps& rank : steps_) {
      if (positions_ == 1) {
        Seconds sum{};
        for (const Meeting& met : rank[k].met) sum += met.own;
        out.positions.front().own.push_back(sum);
      } else {
        for (std::size_t p = 0; p < positions_; ++p) out.positions[p].own.push_back(rank[k].met[p].own);
      }
    }
  }

  [[nodiscard]] Traffic traffic_of(std::size_t p) const {
    std::map<std::pair<model::Collective, Bytes>, std::size_t> calls;
    std::vector<double> transfers;
    for (const std::size_t k : kept_) {
      Duration last = Duration::min();
      Duration end = Duration::min();
      for (const RankSteps& rank : steps_) {
        last = std::max(last, rank[k].met[p].arrival);
        end = std::max(end, rank[k].met[p].departure);
      }
      const Meeting& met = steps_.front()[k].met[p];
      ++calls[{met.kind, met.bytes}];
      transfers.push_back(in_seconds(std::max(Duration::zero(), end - last)));
    }
    if (transfers.empty()) return {};
    const auto usual = std::max_element(calls.begin(), calls.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
    return {.kind = usual->first.first,
            .bytes = usual->first.second,
            .transfer = Seconds{median_in_place(transfers)}};
  }

  const trace::Run& run_;
  std::vector<RankSteps> steps_;
  std::vector<std::size_t> kept_;
  std::set<std::size_t> evaluated_;
  std::vector<std::size_t> usual_;  ///< synchronisations of a step, by rank
  std::size_t count_ = 0;
  std::size_t positions_ = 1;
};

/// Runs that tell only how long steps lasted: by rank, or of the job.
Result<Sample> of_step_times(const trace::Run& run, const diagnose::Timeline& timeline, Sample out) {
  const auto begins = timeline.step_begins(0);
  std::size_t count = timeline.work_by_step(0).size();
  if (run.ranks.size() == 1 && count > 0) --count;  // when the last one ended is not told
  for (std::size_t r = 0; r < run.ranks.size(); ++r) count = std::min(count, timeline.work_by_step(r).size());
  if (count < 3) return fail(nothing(run, fmt::format("{} steps, expected at least 3", count)));
  Position position;
  std::size_t same = 0;
  Duration at{};
  for (std::size_t k = 1; k < count; ++k) {
    Duration least = Duration::max();
    Duration most = Duration::zero();
    for (std::size_t r = 0; r < run.ranks.size(); ++r) {
      const Duration own = timeline.work_by_step(r)[k];
      const Duration step = own + timeline.wait_by_step(r)[k];
      position.own.push_back(Seconds{in_seconds(own)});
      least = std::min(least, own);
      most = std::max(most, step);
    }
    if (run.ranks.size() == 1) most = begins[k + 1] - begins[k];
    if (in_seconds(most - least) <= kSame * in_seconds(most)) ++same;
    out.steps.push_back({.number = static_cast<std::int64_t>(k),
                         .begin = Seconds{in_seconds(at)},
                         .length = Seconds{in_seconds(most)}});
    at += most;
  }
  out.left_out.emplace_back("the first step: it starts the job up");
  if (run.ranks.size() == 1 || same * 20 >= out.steps.size() * 19) {
    out.waits_only = true;
    out.left_out.emplace_back(
        run.ranks.size() == 1
            ? "one series of step times: what each rank did is not in it"
            : "all ranks tell the same step times: they contain the waiting, so what each rank did "
              "on its own is not in them");
  } else {
    out.positions.push_back(std::move(position));
    out.left_out.emplace_back("communication: the input has times of ranks only");
  }
  return out;
}

}  // namespace

Result<Sample> sample_of(const trace::Run& run, int threads) {
  if (run.ranks.empty()) return fail(nothing(run, "no rank in it"));
  if (trace::unknown_unit(run.ranks))
    return fail(
        nothing(run, "its times have no unit, and a forecast of ratios would be read as one of times"));
  const auto matched = diagnose::match_run(run, {.threads = threads});
  const diagnose::Timeline timeline(*matched);
  Sample out;
  out.name = run.info.name;
  out.ranks = ranks_of(run);
  if (run.world_size > static_cast<int>(run.ranks.size()))
    out.left_out.push_back(fmt::format("{} of {} ranks were not recorded",
                                       run.world_size - static_cast<int>(run.ranks.size()), run.world_size));
  for (std::size_t r = 0; r < run.ranks.size(); ++r)
    if (timeline.step_begins(r).empty())
      return fail(nothing(run, fmt::format("no steps can be told of rank {}", run.ranks[r].rank.value())));
  out.record = record_of(run, timeline);
  if (run.times == trace::TimesKind::Steps) return of_step_times(run, timeline, std::move(out));
  const std::set<CommId> widest = widest_communicators(run);
  std::vector<RankSteps> steps;
  bool neighbours = false;
  bool all = false;
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    RankWalk walk(run, timeline, r, widest);
    neighbours = neighbours || walk.saw_neighbours();
    all = all || walk.saw_all();
    steps.push_back(std::move(walk).take_steps());
  }
  if (neighbours && !all)
    out.left_out.emplace_back(
        "who waits for whom: ranks wait for some others only, the forecast takes them to wait for all: an upper bound");
  return Assembly(run, std::move(steps), evaluated_steps(run, timeline)).finish(std::move(out));
}

}  // namespace cox::forecast
