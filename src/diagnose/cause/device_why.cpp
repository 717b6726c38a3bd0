// SPDX-License-Identifier: Apache-2.0
#include "diagnose/cause/device_why.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "cox/base/stats.hpp"

#include "diagnose/cause/cause.hpp"
#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

using trace::ActivityKind;

/// Equal programs launch equally many kernels; beyond this part more or fewer it is other work.
constexpr double kSameCount = 0.02;
/// A launch that is followed this much later by its start stood in a queue of the device.
constexpr double kQueued = 0.5;

/// One rank's time within a window, by what was going on.
struct Spent {
  Duration kernels{};
  Duration copies{};
  Duration idle{};
  Duration data{};
  Duration gc{};
  Duration allocation{};
  std::int64_t kernel_count = 0;
  std::vector<double> queues;  // seconds from the end of a collective's launch to its start
};

/// Adds spans in order of their begins and knows how much of each is new.
class Union {
 public:
  Duration add(Duration begin, Duration end) {
    const Duration fresh = positive_part(minus_clamped(end, std::max(begin, until_)));
    until_ = std::max(until_, end);
    return fresh;
  }

 private:
  Duration until_ = Duration::min() / 2;
};

struct Span {
  Duration begin{};
  Duration end{};
  int kind = 0;  // 0 kernel, 1 copy, 2 collective
};

std::vector<Span> device_spans(const trace::RankTrack& t, Duration from, Duration to, Spent& spent) {
  std::vector<Span> spans;
  const trace::ActivityColumns& a = t.activities;
  const auto cut = [&](Duration b, Duration e, int kind) {
    if (e > from && b < to) spans.push_back({std::max(b, from), std::min(e, to), kind});
  };
  for (std::size_t i = 0; i < a.size() && a.begin[i] < to; ++i) {
    if (a.end[i] <= from) continue;
    const Duration inside = minus_clamped(std::min(a.end[i], to), std::max(a.begin[i], from));
    switch (a.kind[i]) {
      case ActivityKind::Kernel:
        cut(a.begin[i], a.end[i], 0);
        ++spent.kernel_count;
        break;
      case ActivityKind::Copy:
        cut(a.begin[i], a.end[i], 1);
        break;
      case ActivityKind::DataLoad:
        add_to(spent.data, inside);
        break;
      case ActivityKind::Gc:
        add_to(spent.gc, inside);
        break;
      case ActivityKind::Allocation:
        add_to(spent.allocation, inside);
        break;
      default:
        break;
    }
  }
  const trace::EventColumns& e = t.events;
  for (std::size_t i = 0; i < e.size() && e.begin[i] < to; ++i)
    if (e.kind[i] == trace::EventKind::Collective && e.end[i] != trace::kStillRunning)
      cut(e.begin[i], e.end[i], 2);
  return spans;
}

Spent spend(const trace::RankTrack& t, Duration from, Duration to) {
  Spent spent;
  std::vector<Span> spans = device_spans(t, from, to, spent);
  std::sort(spans.begin(), spans.end(), [](const Span& x, const Span& y) {
    return std::tuple{x.begin, x.end, x.kind} < std::tuple{y.begin, y.end, y.kind};
  });
  Union kernels;
  Union busy;
  Union any;
  Duration with_copies{};
  Duration occupied{};
  for (const Span& s : spans) {
    if (s.kind == 0) add_to(spent.kernels, kernels.add(s.begin, s.end));
    if (s.kind <= 1) add_to(with_copies, busy.add(s.begin, s.end));
    add_to(occupied, any.add(s.begin, s.end));
  }
  spent.copies = positive_part(minus_clamped(with_copies, spent.kernels));
  spent.idle = positive_part(minus_clamped(minus_clamped(to, from), occupied));
  for (const trace::CollectiveLaunch& launch : t.launches) {
    const Duration start = t.events.begin[launch.event];
    if (start >= from && start < to) spent.queues.push_back(in_seconds(minus_clamped(start, launch.end)));
  }
  return spent;
}

double median_of(const std::vector<Spent>& others, Duration Spent::*what) {
  std::vector<double> values;
  values.reserve(others.size());
  for (const Spent& o : others) values.push_back(in_seconds(o.*what));
  return median_in_place(values);
}

Cause name_cause(const DeviceWhy& why) {
  if (why.kernels >= kExplains)
    return std::abs(why.kernel_count_ratio - 1) <= kSameCount ? Cause::SlowKernels : Cause::UnevenWork;
  if (why.copies >= kExplains) return Cause::Copies;
  if (why.idle < kExplains) return Cause::Unknown;
  // Without a device its idle time is own work of any kind: a late launch is nothing that was seen.
  if (why.data >= kExplains) return Cause::DataLoading;
  if (why.gc >= kExplains) return Cause::Gc;
  if (why.allocation >= kExplains) return Cause::Allocator;
  return why.has_device ? Cause::LateLaunch : Cause::Unknown;
}

/// Whether a device was recorded: activities alone may all be the host's.
bool has_device(const trace::RankTrack& t) {
  return std::any_of(t.activities.kind.begin(), t.activities.kind.end(), [](ActivityKind kind) {
    return kind == ActivityKind::Kernel || kind == ActivityKind::Copy;
  });
}

}  // namespace

std::optional<DeviceWhy> find_device_why(const Evidenced& x, const Named& named) {
  if (named.suspect.ranks.size() != 1 || x.ranks() < 2) return std::nullopt;
  const auto late = static_cast<std::size_t>(named.suspect.ranks.front());
  const auto first = static_cast<std::size_t>(named.suspect.first_step);
  const auto end = static_cast<std::size_t>(named.suspect.last_step) + 1;
  if (x.matched.track(late).activities.size() == 0) return std::nullopt;
  Spent own;
  std::vector<Spent> others;
  bool any_device = false;
  for (std::size_t r = 0; r < x.ranks(); ++r) {
    if (x.matched.track(r).activities.size() == 0) continue;
    any_device = any_device || has_device(x.matched.track(r));
    Spent spent = spend(x.matched.track(r), x.steps().bounds[r][first], x.steps().bounds[r][end]);
    if (r == late)
      own = std::move(spent);
    else
      others.push_back(std::move(spent));
  }
  if (others.empty() || 3 * others.size() < 2 * (x.ranks() - 1)) return std::nullopt;
  const auto excess = [&](Duration Spent::*what) {
    return std::max(0.0, in_seconds(own.*what) - median_of(others, what));
  };
  const double kernels = excess(&Spent::kernels);
  const double copies = excess(&Spent::copies);
  const double idle = excess(&Spent::idle);
  const double all = kernels + copies + idle;
  if (all <= 0) return std::nullopt;
  DeviceWhy why;
  why.has_device = any_device;
  why.kernels = kernels / all;
  why.copies = copies / all;
  why.idle = idle / all;
  if (idle > 0) {
    why.data = std::min(1.0, excess(&Spent::data) / idle);
    why.gc = std::min(1.0, excess(&Spent::gc) / idle);
    why.allocation = std::min(1.0, excess(&Spent::allocation) / idle);
  }
  std::vector<double> counts;
  std::vector<double> queues;
  for (Spent& o : others) {
    counts.push_back(static_cast<double>(o.kernel_count));
    if (!o.queues.empty()) queues.push_back(median_in_place(o.queues));
  }
  if (const double usual = median_in_place(counts); usual > 0)
    why.kernel_count_ratio = static_cast<double>(own.kernel_count) / usual;
  if (!own.queues.empty()) why.queue = duration_from_seconds(median_in_place(own.queues));
  if (!queues.empty()) why.usual_queue = duration_from_seconds(median_in_place(queues));
  why.cause = name_cause(why);
  // Counter-test of a late host: where collectives stand in the device's queue, the host was not late.
  if (why.cause == Cause::LateLaunch && why.queue &&
      in_seconds(*why.queue) > kQueued * idle / double(end - first))
    why.cause = Cause::Unknown;
  return why;
}

}  // namespace cox::diagnose
