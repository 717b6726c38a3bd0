// SPDX-License-Identifier: Apache-2.0
#include "diagnose/operations/few_operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"
#include "cox/model/collective.hpp"

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kFew = 16;
/// Spread of ends over spread of begins up to which the shortest call is the latest arrival.
constexpr double kTrusted = 0.1;
/// A call that starts within this part of the skew after its launch was held up by the launch.
constexpr double kByLaunch = 0.1;

struct FewCall {
  Rank rank;
  Duration begin{};
  Duration end{};
  std::optional<Duration> after_launch;
};

struct FewOperation {
  const trace::Communicator* comm = nullptr;
  std::uint32_t seq = 0;
  model::Collective kind = model::Collective::Other;
  std::vector<FewCall> calls;
};

/// All operations in order of communicator and number; nothing where there are too many.
std::vector<FewOperation> collect(const Matched& matched) {
  std::map<std::pair<CommId, std::uint32_t>, FewOperation> found;
  for (const trace::RankTrack& t : matched.tracks()) {
    const trace::EventColumns& e = t.events;
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (e.kind[i] != trace::EventKind::Collective || e.end[i] == trace::kStillRunning) continue;
      if (e.comm[i] == trace::kNoComm) continue;
      FewOperation& op = found[{e.comm[i], e.seq[i]}];
      if (found.size() > kFew) return {};
      const std::int32_t comm = matched.comms().find(e.comm[i]);
      op.comm = comm < 0 ? nullptr : &matched.communicator(comm);
      op.seq = e.seq[i];
      op.kind = e.collective(i);
      FewCall call{t.rank, e.begin[i], e.end[i], std::nullopt};
      const auto launch =
          std::lower_bound(t.launches.begin(), t.launches.end(), i,
                           [](const trace::CollectiveLaunch& l, std::size_t at) { return l.event < at; });
      if (launch != t.launches.end() && launch->event == i)
        call.after_launch = minus_clamped(e.begin[i], launch->end);
      op.calls.push_back(call);
    }
  }
  std::vector<FewOperation> out;
  for (auto& [key, op] : found)
    if (op.comm != nullptr && op.calls.size() > 1) out.push_back(std::move(op));
  return out;
}

template <class F>
Duration spread(const std::vector<FewCall>& calls, const F& value) {
  Duration low = Duration::max();
  Duration high = Duration::min();
  for (const FewCall& c : calls) {
    low = std::min(low, value(c));
    high = std::max(high, value(c));
  }
  return minus_clamped(high, low);
}

/// Members of the communicator of which no call is known: " (absent: 4, 5, 6)"; empty where they have no names.
std::string absent_from(const FewOperation& op) {
  constexpr std::size_t kListed = 16;
  std::string list;
  std::size_t absent = 0;
  for (const Rank rank : op.comm->ranks) {
    const bool here =
        std::any_of(op.calls.begin(), op.calls.end(), [&](const FewCall& c) { return c.rank == rank; });
    if (!here && absent++ < kListed) list += fmt::format("{}{}", list.empty() ? "" : ", ", rank.value());
  }
  if (absent > kListed) list += fmt::format(" and {} more", absent - kListed);
  return absent == 0 ? "" : fmt::format(" (absent: {})", list);
}

std::string describe(const FewOperation& op, bool comparable) {
  const auto length = [](const FewCall& c) { return minus_clamped(c.end, c.begin); };
  const Duration skew =
      comparable ? spread(op.calls, [](const FewCall& c) { return c.begin; }) : spread(op.calls, length);
  const Duration ends =
      comparable ? spread(op.calls, [](const FewCall& c) { return c.end; }) : Duration::zero();
  const auto shortest =
      *std::min_element(op.calls.begin(), op.calls.end(), [&](const FewCall& a, const FewCall& b) {
        return std::pair{length(a), a.rank} < std::pair{length(b), b.rank};
      });
  std::string text = fmt::format("{} {} on \"{}\": members came {} apart", model::name_of(op.kind), op.seq,
                                 op.comm->name, to_string(skew));
  if (comparable) text += fmt::format(" and left {} apart", to_string(ends));
  const bool complete = static_cast<int>(op.calls.size()) >= op.comm->size;
  const bool ordered = skew > Duration::zero() && ratio(ends, skew) <= kTrusted;
  if (!complete) {
    text += fmt::format("; {} of {} members are there{}, so the last of all is unknown", op.calls.size(),
                        op.comm->size, absent_from(op));
    if (ordered && model::synchronizes_all(op.kind))
      text += fmt::format("; last of those present: rank {}", shortest.rank.value());
    return text;
  }
  if (!ordered || !model::synchronizes_all(op.kind)) return text + "; no order to tell";
  text += fmt::format("; rank {} came last, transfer at most {}", shortest.rank.value(),
                      to_string(length(shortest)));
  // A kernel may start shortly before the call that launches it returns.
  if (shortest.after_launch && std::abs(ratio(*shortest.after_launch, skew)) <= kByLaunch)
    text += fmt::format("; it started {} {} its launch ended: the host was late, not the device",
                        to_string(std::chrono::abs(*shortest.after_launch)),
                        *shortest.after_launch < Duration::zero() ? "before" : "after");
  return text;
}

}  // namespace

std::vector<std::string> describe_few(const Matched& matched) {
  std::vector<std::string> lines;
  for (const FewOperation& op : collect(matched)) lines.push_back(describe(op, matched.clocks_comparable()));
  return lines;
}

std::vector<PresentDelay> delays_of_those_present(const Matched& matched) {
  struct Work {
    std::size_t rank;
    double seconds;
  };
  std::map<std::pair<CommId, std::uint32_t>, std::vector<Work>> operations;
  std::vector<PresentDelay> out;
  for (std::size_t r = 0; r < matched.ranks(); ++r) {
    out.push_back({.rank = matched.rank(r)});
    const trace::EventColumns& e = matched.track(r).events;
    std::optional<Duration> exit;
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (e.kind[i] != trace::EventKind::Collective || e.end[i] == trace::kStillRunning) continue;
      if (exit && e.comm[i] != trace::kNoComm)
        operations[{e.comm[i], e.seq[i]}].push_back({r, in_seconds(minus_clamped(e.begin[i], *exit))});
      exit = std::max(exit.value_or(e.end[i]), e.end[i]);
    }
  }
  std::vector<double> sample;
  for (const auto& [key, works] : operations) {
    if (works.size() < 2) continue;
    sample.clear();
    for (const Work& w : works) sample.push_back(w.seconds);
    const double usual = median_in_place(sample);
    for (const Work& w : works) {
      const Duration delay = duration_from_seconds(std::max(0.0, w.seconds - usual));
      add_to(out[w.rank].self_delay, delay);
      if (delay > out[w.rank].largest) {
        out[w.rank].largest = delay;
        out[w.rank].at = key.second;
      }
    }
  }
  return out;
}

}  // namespace cox::diagnose
