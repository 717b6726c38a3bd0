// SPDX-License-Identifier: Apache-2.0
#include "diagnose/cause/why.hpp"

#include <algorithm>
#include <span>

#include "cox/base/stats.hpp"

#include "diagnose/cause/cause.hpp"
#include "diagnose/cause/split_fit.hpp"
#include "diagnose/match/span_math.hpp"
#include "diagnose/match/sync_cursor.hpp"

namespace cox::diagnose {
namespace {

using trace::Sample;

/// Fewer samples than this, or samples over less than half of the steps, say nothing about them.
constexpr std::size_t kLeastSamples = 5;
constexpr double kLeastCovered = 0.5;
/// A fit counts where its standard error is at most this part of the extra work.
constexpr double kLeastSure = 0.2;
/// A clock is called slow where it is at least a twentieth slower.
constexpr double kSlowClock = 0.95;

/// Where one rank's time went between two samples, as parts of that time.
struct Parts {
  double work = 0;       // outside synchronisations
  double inside = 0;     // inside them
  double computing = 0;  // on a CPU
  double ready = 0;
  double asleep = 0;
  double throttled = 0;
  std::optional<double> frequency;  // kHz, mean
  // The same three within its own work only, as parts of that, told from how they change with the mix.
  SplitFit::Result own_computing;
  SplitFit::Result own_ready;
  SplitFit::Result own_asleep;
};

double part(Duration d, Duration whole) {
  return std::clamp(ratio(d, whole), 0.0, 1.0);
}

std::optional<Duration> grown(const std::optional<Duration>& from, const std::optional<Duration>& to) {
  if (!from || !to || *to < *from) return std::nullopt;
  return minus_clamped(*to, *from);
}

Duration inside_syncs(const Evidenced& x, std::size_t r, Duration from, Duration to) {
  // What is under way at `from` began before it; nested records make a few more.
  constexpr std::size_t kUnderWay = 8;
  const trace::EventColumns& e = x.matched.track(r).events;
  auto at =
      static_cast<std::size_t>(std::lower_bound(e.begin.begin(), e.begin.end(), from) - e.begin.begin());
  for (std::size_t back = 0; back < kUnderWay && at > 0; ++back) --at;
  SyncCursor cursor = x.matched.walk(r);
  if (at < e.size()) cursor.start_at(std::min(from, e.begin[at]));
  SyncPoint p;
  Duration inside{};
  while (cursor.next(p) && p.entry < to)
    add_to(inside, positive_part(minus_clamped(std::min(p.exit, to), std::max(p.entry, from))));
  return inside;
}

/// The three kinds of time of one rank over a stretch of samples.
struct Splits {
  SplitFit computing;
  SplitFit ready;
  SplitFit asleep;
};

/// Collects what own work and synchronisations take together, per interval between neighbouring samples.
Splits splits_of(const Evidenced& x, std::size_t r, std::span<const Sample> samples) {
  Splits out;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const Sample& a = samples[i - 1];
    const Sample& b = samples[i];
    const double span = in_seconds(minus_clamped(b.at, a.at));
    const auto main_cpu = grown(a.main_cpu, b.main_cpu);
    const auto main_wait = grown(a.main_wait, b.main_wait);
    if (span <= 0 || !main_cpu || !main_wait) continue;
    const double inside = std::min(span, in_seconds(inside_syncs(x, r, a.at, b.at)));
    const double cpu = std::min(span, in_seconds(*main_cpu));
    const double wait = std::min(span - cpu, in_seconds(*main_wait));
    out.computing.add(span - inside, inside, cpu);
    out.ready.add(span - inside, inside, wait);
    out.asleep.add(span - inside, inside, span - cpu - wait);
  }
  return out;
}

/// What a process does while it waits is its habit and told best by the whole run; what its own work is made
/// of is told by the stretch asked for.
void split(const Evidenced& x, std::size_t r, std::span<const Sample> window, Parts& parts) {
  const Splits here = splits_of(x, r, window);
  const Splits all = splits_of(x, r, x.matched.track(r).samples);
  const auto solve = [](const SplitFit& of_window, const SplitFit& of_run) {
    const SplitFit::Result direct = of_window.solve();
    const SplitFit::Result habit = of_run.solve();
    const SplitFit::Result with_habit =
        habit.b_error < 1 ? of_window.solve(habit.b, habit.b_error) : SplitFit::Result{};
    return with_habit.error < direct.error ? with_habit : direct;
  };
  parts.own_computing = solve(here.computing, all.computing);
  parts.own_ready = solve(here.ready, all.ready);
  parts.own_asleep = solve(here.asleep, all.asleep);
}

std::optional<Parts> parts_of(const Evidenced& x, std::size_t r, Duration from, Duration to) {
  const auto& samples = x.matched.track(r).samples;
  const auto before = [](const Sample& s, Duration t) { return s.at < t; };
  const auto first = std::lower_bound(samples.begin(), samples.end(), from, before);
  const auto end = std::lower_bound(first, samples.end(), to, before);
  if (end - first < static_cast<std::ptrdiff_t>(kLeastSamples)) return std::nullopt;
  const Sample& a = *first;
  const Sample& b = *(end - 1);
  const Duration span = minus_clamped(b.at, a.at);
  if (span <= Duration::zero() || ratio(span, minus_clamped(to, from)) < kLeastCovered) return std::nullopt;
  const auto main_cpu = grown(a.main_cpu, b.main_cpu);
  const auto main_wait = grown(a.main_wait, b.main_wait);
  if (!main_cpu || !main_wait) return std::nullopt;
  Parts parts;
  parts.inside = part(inside_syncs(x, r, a.at, b.at), span);
  parts.work = 1 - parts.inside;
  // Another thread may compute while the main one waits for it: that is no sleep.
  parts.computing =
      std::max(part(*main_cpu, span), part(grown(a.cpu, b.cpu).value_or(Duration::zero()), span));
  parts.ready = part(*main_wait, span);
  parts.asleep = std::max(0.0, 1 - parts.computing - parts.ready);
  parts.throttled = part(grown(a.throttled, b.throttled).value_or(Duration::zero()), span);
  split(x, r, std::span(&*first, static_cast<std::size_t>(end - first)), parts);
  double sum = 0;
  double count = 0;
  for (auto s = first; s != end; ++s)
    if (s->frequency_khz && *s->frequency_khz > 0) {
      sum += static_cast<double>(*s->frequency_khz);
      count += 1;
    }
  if (count > 0) parts.frequency = sum / count;
  return parts;
}

template <class F>
double median_over(const std::vector<Parts>& others, const F& value) {
  std::vector<double> values;
  values.reserve(others.size());
  for (const Parts& o : others) values.push_back(value(o));
  return median_in_place(values);
}

/// What the late rank surely spends in its own work, less the most that the others may: whatever it does
/// inside synchronisations is taken away from it, and nothing from them.
double excess(const Parts& late, const std::vector<Parts>& others, double Parts::*what) {
  const double usual = median_over(others, [what](const Parts& o) { return std::min(o.*what, o.work); });
  return std::max(0.0, late.*what - late.inside - usual);
}

/// Shares of the extra work as fitted; zero where the fit is not sure enough.
struct Fitted {
  double computing = 0;
  double ready = 0;
  double asleep = 0;
  double off_cpu = 0;  // asleep, and all of the waiting for a CPU
};

/// A CPU that everybody fights for makes everybody wait in proportion to what he computes: that part of the
/// waiting belongs to the computing. Only what goes beyond it is this rank's own trouble.
Fitted fit_shares(const Parts& late, const std::vector<Parts>& others, double extra) {
  const auto sure = [&](const SplitFit::Result& own) { return own.error * late.work <= kLeastSure * extra; };
  const auto usual = [&](SplitFit::Result Parts::*what) {
    std::vector<double> values;
    for (const Parts& o : others)
      if ((o.*what).error < 1) values.push_back((o.*what).a * o.work);
    return 2 * values.size() < others.size() ? std::optional<double>() : median_in_place(values);
  };
  const auto computing = usual(&Parts::own_computing);
  const auto ready = usual(&Parts::own_ready);
  const auto asleep = usual(&Parts::own_asleep);
  Fitted out;
  if (!computing || !ready || !asleep) return out;
  const double per_computing = *computing > 0 ? *ready / *computing : 0;
  const auto excess = [&](const SplitFit::Result& own, double of_others) {
    return sure(own) ? std::max(0.0, own.a * late.work - of_others) / extra : 0;
  };
  const double more_computing = excess(late.own_computing, *computing);
  const double more_ready = excess(late.own_ready, *ready);
  const double by_computing = std::min(more_ready, more_computing * per_computing);
  out.computing = std::min(1.0, more_computing + by_computing);
  out.ready = std::min(1.0, more_ready - by_computing);
  out.asleep = std::min(1.0, excess(late.own_asleep, *asleep));
  out.off_cpu = std::min(1.0, more_ready + out.asleep);
  return out;
}

void name_cause(const Parts& late, const std::vector<Parts>& others, double extra, Why& why) {
  std::vector<Parts> clocked;
  std::copy_if(others.begin(), others.end(), std::back_inserter(clocked),
               [](const Parts& o) { return o.frequency; });
  if (late.frequency && !clocked.empty()) {
    const double usual = median_over(clocked, [](const Parts& o) { return *o.frequency; });
    if (usual > 0) why.clock = *late.frequency / usual;
  }
  if (why.throttled >= kExplains) {
    why.cause = Cause::CpuQuota;
  } else if (why.ready >= kExplains) {
    why.cause = Cause::CpuContention;
  } else if (why.asleep >= kExplains) {
    why.cause = Cause::AsleepOrIo;
  } else if (why.computing >= kExplains) {
    // At the others' frequency its CPU time would be shorter by this part.
    const bool by_clock =
        why.clock && *why.clock <= kSlowClock && late.computing * (1 - *why.clock) >= kExplains * extra;
    why.cause = by_clock ? Cause::SlowCpuClock : Cause::SlowCodeOrCpu;
  } else if (why.off_cpu >= kExplains) {
    why.cause = Cause::OffCpu;
  }
}

}  // namespace

std::optional<Why> find_why(const Evidenced& x, const Named& named) {
  if (named.suspect.ranks.size() != 1 || x.ranks() < 2) return std::nullopt;
  const auto late_rank = static_cast<std::size_t>(named.suspect.ranks.front());
  const auto first = static_cast<std::size_t>(named.suspect.first_step);
  const auto end = static_cast<std::size_t>(named.suspect.last_step) + 1;
  const auto look = [&](std::size_t r) {
    return parts_of(x, r, x.steps().bounds[r][first], x.steps().bounds[r][end]);
  };
  const auto late = look(late_rank);
  if (!late) return std::nullopt;
  std::vector<Parts> others;
  for (std::size_t r = 0; r < x.ranks(); ++r)
    if (r != late_rank)
      if (const auto parts = look(r)) others.push_back(*parts);
  if (others.empty() || 3 * others.size() < 2 * (x.ranks() - 1)) return std::nullopt;
  const double extra = late->work - median_over(others, [](const Parts& o) { return o.work; });
  if (extra <= 0) return std::nullopt;
  const auto share = [&](double Parts::*what) { return std::min(1.0, excess(*late, others, what) / extra); };
  Why why;
  why.throttled = share(&Parts::throttled);
  const Fitted fitted = fit_shares(*late, others, extra);
  why.ready = std::max(share(&Parts::ready), fitted.ready);
  why.asleep = std::max(share(&Parts::asleep), fitted.asleep);
  why.computing = std::max(share(&Parts::computing), fitted.computing);
  why.off_cpu = std::max(std::min(1.0, why.ready + why.asleep), fitted.off_cpu);
  name_cause(*late, others, extra, why);
  return why;
}

}  // namespace cox::diagnose
