// SPDX-License-Identifier: Apache-2.0
// Generated series of step times with known truth: what is named right, wrong, or not at all.
// Usage: series_accuracy ACCURACY.MD [--write | --list]: compares the table in that page with what comes out,
// writes it, or lists the cases that are told wrong.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/random.hpp"

#include "diagnose/over_time/time_structure.hpp"
#include "support/page_table.hpp"

namespace {

using namespace cox;
using diagnose::TimeStructure;

constexpr double kSpread = 0.02;  ///< robust spread of the noise, of a step's usual time
constexpr double kPlainBar = 0.10;
constexpr std::array<int, 3> kLengths = {200, 2000, 20000};
constexpr std::array<double, 4> kLevels = {0.5, 1, 2, 4};
constexpr int kSeeds = 4;
constexpr int kQuietSeeds = 40;

enum class Noise { White, Wandering5, Wandering9, Student, Pareto };
constexpr std::array<Noise, 5> kNoises = {Noise::White, Noise::Wandering5, Noise::Wandering9, Noise::Student,
                                          Noise::Pareto};
const char* name_of(Noise n) {
  switch (n) {
    case Noise::White:
      return "white";
    case Noise::Wandering5:
      return "AR(1) 0.5";
    case Noise::Wandering9:
      return "AR(1) 0.9";
    case Noise::Student:
      return "Student, 3";
    case Noise::Pareto:
      return "Pareto, 2.5";
  }
  return "";
}

enum class Effect { None, Shift, Phase, Modes, Burst, Tiers, ThreeModes };
constexpr std::array<Effect, 6> kEffects = {Effect::Shift,      Effect::Phase, Effect::Modes,
                                            Effect::ThreeModes, Effect::Burst, Effect::Tiers};
const char* name_of(Effect e) {
  switch (e) {
    case Effect::None:
      return "none";
    case Effect::Shift:
      return "lasting shift";
    case Effect::Phase:
      return "fixed phase";
    case Effect::Modes:
      return "two times";
    case Effect::Burst:
      return "burst";
    case Effect::Tiers:
      return "two periods";
    case Effect::ThreeModes:
      return "three times";
  }
  return "";
}

/// Level 1 in spreads of the noise: what hides in it.
double spreads_of(Effect e) {
  switch (e) {
    case Effect::Modes:
    case Effect::ThreeModes:
      return 3;
    case Effect::Burst:
    case Effect::Tiers:
      return 6;
    case Effect::None:
    case Effect::Shift:
    case Effect::Phase:
      break;
  }
  return 1;
}

struct Case {
  Effect effect = Effect::None;
  Noise noise = Noise::White;
  int length = 0;
  double level = 0;
  int seed = 0;
};

struct Series {
  std::vector<double> values;
  std::vector<StepId> steps;
  std::int64_t change = 0;  ///< Shift
  int period = 0;           ///< Phase, Tiers
  int rare_period = 0;      ///< Tiers
  double share = 0;         ///< Modes, ThreeModes: of the highest
  int first = 0;            ///< Burst
  int last = 0;
};

class Draw {
 public:
  explicit Draw(const Case& c)
      : stream_(0x5e51e5ULL + static_cast<std::uint64_t>(c.seed) * 1000003 +
                    static_cast<std::uint64_t>(c.length) * 7919 +
                    static_cast<std::uint64_t>(c.level * 2) * 104729,
                static_cast<std::uint32_t>(c.effect) * 16 + static_cast<std::uint32_t>(c.noise)) {}
  double uniform() { return stream_.uniform(0, at_++); }
  double normal() { return stream_.normal(1, at_++); }
  int between(int low, int high) { return low + static_cast<int>(uniform() * (high - low + 1)); }

 private:
  RandomStream stream_;
  std::uint64_t at_ = 0;
};

/// Noise of robust spread 1.
std::vector<double> noise_of(Noise kind, int n, Draw& draw) {
  std::vector<double> out;
  double state = draw.normal();
  const double memory = kind == Noise::Wandering5 ? 0.5 : kind == Noise::Wandering9 ? 0.9 : 0;
  for (int i = 0; i < n; ++i) {
    if (kind == Noise::Student) {
      double squares = 0;
      for (int k = 0; k < 3; ++k) squares += std::pow(draw.normal(), 2);
      out.push_back(draw.normal() / std::sqrt(squares / 3) / 1.13);
    } else if (kind == Noise::Pareto) {
      out.push_back((std::pow(draw.uniform(), -1 / 2.5) - 1) / 0.37);
    } else {
      state = memory * state + std::sqrt(1 - memory * memory) * draw.normal();
      out.push_back(state);
    }
  }
  return out;
}

void add_effect(const Case& c, Draw& draw, Series& s) {
  const int n = c.length;
  const double over = c.level * spreads_of(c.effect) * kSpread;
  switch (c.effect) {
    case Effect::None:
      return;
    case Effect::Shift:
      s.change = draw.between(n / 4, 3 * n / 4);
      for (int i = static_cast<int>(s.change); i < n; ++i) s.values[static_cast<std::size_t>(i)] += over;
      return;
    case Effect::Phase:
      s.period = draw.between(2, 10);
      for (int i = draw.between(0, s.period - 1); i < n; i += s.period)
        s.values[static_cast<std::size_t>(i)] += over;
      return;
    case Effect::Modes: {
      s.share = 0.3 + 0.2 * draw.uniform();
      int high = 0;
      bool in = false;
      for (double& x : s.values) {
        if (draw.uniform() < 0.5) in = draw.uniform() < s.share;
        if (in) x += over;
        high += in;
      }
      s.share = static_cast<double>(high) / n;
      return;
    }
    case Effect::ThreeModes: {
      int at = 0;
      int high = 0;
      for (double& x : s.values) {
        if (draw.uniform() < 0.5) at = draw.between(0, 2);
        x += over * at;
        high += at == 2;
      }
      s.share = static_cast<double>(high) / n;
      return;
    }
    case Effect::Burst: {
      const int width = 10 + n / 100;
      s.first = draw.between(n / 8, n - n / 8 - width);
      s.last = s.first + width;
      // Five at least: fewer are none, by what is called a burst.
      std::vector<bool> is_long;
      while (std::count(is_long.begin(), is_long.end(), true) < 5) {
        is_long.clear();
        for (int i = s.first; i <= s.last; ++i) is_long.push_back(draw.uniform() < 0.5);
      }
      for (int i = s.first; i <= s.last; ++i)
        if (is_long[static_cast<std::size_t>(i - s.first)])
          s.values[static_cast<std::size_t>(i)] += over * (1 + draw.uniform());
      return;
    }
    case Effect::Tiers:
      s.period = draw.between(8, 12);
      s.rare_period = s.period * draw.between(3, 4) + draw.between(1, s.period - 1);
      for (int i = draw.between(0, s.period); i < n; i += s.period)
        s.values[static_cast<std::size_t>(i)] += over * (1 + 0.2 * draw.uniform());
      for (int i = draw.between(0, s.period); i < n; i += s.rare_period)
        s.values[static_cast<std::size_t>(i)] += 4 * over * (1 + 0.2 * draw.uniform());
      return;
  }
}

Series make(const Case& c) {
  Draw draw(c);
  Series s;
  for (const double e : noise_of(c.noise, c.length, draw)) s.values.push_back(1 + kSpread * e);
  add_effect(c, draw, s);
  // Every second series has gaps: steps that nobody logged.
  const bool gaps = c.seed % 2 == 1;
  std::vector<double> kept;
  for (std::size_t i = 0; i < s.values.size(); ++i) {
    if (gaps && draw.uniform() < 0.05) continue;
    kept.push_back(std::max(0.01, s.values[i]));
    s.steps.emplace_back(static_cast<std::int64_t>(i));
  }
  s.values = std::move(kept);
  return s;
}

enum class Told { Right, Wrong, Silent };

bool is_near(double a, double b, double part) {
  return std::abs(a - b) <= part * b;
}

/// What was named, of the kinds that there are.
struct Names {
  bool shift, drift, phase, modes, burst, back;
  explicit Names(const TimeStructure& t)
      : shift(!t.changes.empty()),
        drift(t.drift.has_value()),
        phase(t.phase.has_value()),
        modes(t.two_times.has_value()),
        burst(!t.bursts.empty()),
        back(t.recurrence || !t.tiers.empty()) {}
  [[nodiscard]] int count() const { return shift + drift + phase + modes + burst + back; }
};

bool has_period(const TimeStructure& t, double period) {
  if (t.phase && is_near(t.phase->period_steps, period, 0.1)) return true;
  if (t.recurrence && is_near(t.recurrence->period_steps, period, 0.1)) return true;
  return std::any_of(t.tiers.begin(), t.tiers.end(), [&](const diagnose::RecurrenceTier& tier) {
    return is_near(tier.recurrence.period_steps, period, 0.1);
  });
}

/// Near, or within the stated bounds.
bool is_at(const diagnose::ChangePoint& c, std::int64_t truth, int length) {
  const double off = std::abs(static_cast<double>(c.first_step.value() - truth));
  return off <= std::max(10.0, 0.03 * length) ||
         (c.earliest_step.value() <= truth && truth <= c.latest_step.value());
}

/// A burst may be told as its long steps, as another usual time that holds for a while, or as both.
bool lies_within(const TimeStructure& t, const Series& s) {
  const auto inside = [&](StepId step) {
    const int slack = 2 + (s.last - s.first) / 10;
    return step.value() >= s.first - slack && step.value() <= s.last + slack;
  };
  return std::all_of(
             t.bursts.begin(), t.bursts.end(),
             [&](const diagnose::LongBurst& b) { return inside(b.first_step) && inside(b.last_step); }) &&
         std::all_of(t.changes.begin(), t.changes.end(),
                     [&](const diagnose::ChangePoint& c) { return inside(c.first_step); });
}

bool is_right(const Case& c, const Series& s, const TimeStructure& t) {
  const Names n(t);
  switch (c.effect) {
    case Effect::None:
      return false;
    case Effect::Shift:
      return n.shift && n.count() == 1 && t.changes.size() == 1 && is_at(t.changes[0], s.change, c.length);
    case Effect::Phase:
      // As long steps where they are long.
      return (n.phase || n.back) && has_period(t, s.period) && n.count() == 1;
    case Effect::Modes:
    case Effect::ThreeModes:
      return n.modes && n.count() == 1 && std::abs(t.two_times->high_share_ratio - s.share) < 0.12 &&
             t.two_times->places.size() == (c.effect == Effect::Modes ? 2 : 3);
    case Effect::Burst:
      return (n.burst || t.changes.size() == 2) && n.count() == n.burst + n.shift && lies_within(t, s);
    case Effect::Tiers:
      return has_period(t, s.period) && has_period(t, s.rare_period) && n.count() == n.phase + n.back;
  }
  return false;
}

/// Half of a truth is no falsehood: one of two periods.
bool is_partly_right(const Case& c, const Series& s, const TimeStructure& t) {
  const Names n(t);
  return c.effect == Effect::Tiers && n.count() == n.phase + n.back &&
         (has_period(t, s.period) || has_period(t, s.rare_period));
}

Told judge(const Case& c, bool verbose) {
  const Series s = make(c);
  std::vector<Duration> times;
  times.reserve(s.values.size());
  for (const double v : s.values) times.push_back(duration_from_seconds(v));
  const TimeStructure t = diagnose::understand_times(times, s.steps);
  if (!t.evident()) return Told::Silent;
  if (is_right(c, s, t)) return Told::Right;
  if (is_partly_right(c, s, t)) return Told::Silent;
  if (verbose) {
    std::printf(
        "%s, %s, %d values, level %g, seed %d (change %d, period %d, rare %d, share %.2f, burst %d-%d)\n",
        name_of(c.effect), name_of(c.noise), c.length, c.level, c.seed, static_cast<int>(s.change), s.period,
        s.rare_period, s.share, s.first, s.last);
    for (const std::string& line : describe(t)) std::printf("    %s\n", line.c_str());
  }
  return Told::Wrong;
}

/// The plain rule: the mean of the second half is 10 % above that of the first.
Told judge_plainly(const Case& c) {
  const Series s = make(c);
  const std::size_t half = s.values.size() / 2;
  const double before =
      std::accumulate(s.values.begin(), s.values.begin() + static_cast<std::ptrdiff_t>(half), 0.0) /
      static_cast<double>(half);
  const double after =
      std::accumulate(s.values.begin() + static_cast<std::ptrdiff_t>(half), s.values.end(), 0.0) /
      static_cast<double>(s.values.size() - half);
  if (std::abs(after / before - 1) < kPlainBar) return Told::Silent;
  return c.effect == Effect::Shift ? Told::Right : Told::Wrong;
}

struct Count {
  int right = 0;
  int wrong = 0;
  int silent = 0;
  void add(Told t) { ++(t == Told::Right ? right : t == Told::Wrong ? wrong : silent); }
  void add(const Count& c) {
    right += c.right;
    wrong += c.wrong;
    silent += c.silent;
  }
  [[nodiscard]] int all() const { return right + wrong + silent; }
  [[nodiscard]] std::string text() const { return fmt::format("{} / {} / {}", right, wrong, silent); }
};

struct Answers {
  std::string table;
  Count quiet;
  Count loud;  ///< at level 2 and above, where neighbours are independent
  Count all;
};

Answers ask(bool verbose) {
  Answers a;
  a.table =
      "| effect | noise | none | 0.5 | 1 | 2 | 4 | plain rule, all levels |\n|---|---|---|---|---|---|---|---|\n";
  for (const Noise noise : kNoises) {
    Count told;
    Count plain;
    for (const int length : kLengths)
      for (int seed = 0; seed < kQuietSeeds; ++seed) {
        const Case c{Effect::None, noise, length, 0, seed};
        told.add(judge(c, verbose));
        plain.add(judge_plainly(c));
      }
    a.quiet.add(told);
    a.table += fmt::format("| none | {} | {} | | | | | {} |\n", name_of(noise), told.text(), plain.text());
  }
  for (const Effect effect : kEffects)
    for (const Noise noise : kNoises) {
      a.table += fmt::format("| {} | {} | |", name_of(effect), name_of(noise));
      Count plain;
      for (const double level : kLevels) {
        Count told;
        for (const int length : kLengths)
          for (int seed = 0; seed < kSeeds; ++seed) {
            const Case c{effect, noise, length, level, seed};
            told.add(judge(c, verbose));
            plain.add(judge_plainly(c));
          }
        a.all.add(told);
        if (level >= 2 && (noise == Noise::White || noise == Noise::Student)) a.loud.add(told);
        a.table += fmt::format(" {} |", told.text());
      }
      a.table += fmt::format(" {} |\n", plain.text());
    }
  a.table += fmt::format(
      "\nNone: {} wrong of {}. Effects: {} wrong of {}. At twice the noise and above, white and Student: {} right "
      "of {}.\n",
      a.quiet.wrong, a.quiet.all(), a.all.wrong, a.all.all(), a.loud.right, a.loud.all());
  return a;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: series_accuracy ACCURACY.MD [--write | --list]\n", stderr);
    return 2;
  }
  const std::string_view mode = argc > 2 ? argv[2] : "";
  const Answers answers = ask(mode == "--list");
  std::fputs(answers.table.c_str(), stdout);
  const bool told =
      test::table_in_page({argv[1], "series", "tests/series"}, answers.table, mode == "--write");
  const bool quiet = 100 * answers.quiet.wrong <= answers.quiet.all();
  const bool true_to_it = 100 * answers.all.wrong <= 2 * answers.all.all();
  const bool loud = 100 * answers.loud.right >= 95 * answers.loud.all();
  return told && quiet && true_to_it && loud ? 0 : 1;
}
