// SPDX-License-Identifier: Apache-2.0
// What other pages may say of the evaluation. Words that depend on a number are chosen here by that number.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/spelling.hpp"

#include "evaluate/pacing/page.hpp"

namespace cox::evaluate {
namespace {

/// One condition that was measured.
struct ClaimRow {
  const PacingCondition* condition = nullptr;
  const PacingConditionResult* result = nullptr;
};

std::vector<ClaimRow> claim_rows(const std::vector<PacingCondition>& conditions,
                                 const std::vector<PacingConditionResult>& results) {
  std::vector<ClaimRow> rows;
  for (const PacingConditionResult& r : results)
    for (const PacingCondition& c : conditions)
      if (c.name == r.name && r.skipped.empty() && !r.effects.empty()) rows.push_back({&c, &r});
  return rows;
}

const PacingEffect* arm_effect(const ClaimRow& row, std::string_view arm) {
  for (const PacingEffect& e : row.result->effects)
    if (e.arm == arm && !e.starts.empty()) return &e;
  return nullptr;
}

std::string with_interval(const PacingEffect& e) {
  const ShownGain g = shown_gain(e);
  return gain_text(g) + (g.has_interval ? "" : " (one start)");
}

/// For a sentence: `+6.2 % (one start)`, `+0.7 [+0.1, +1.3] %`.
std::string in_percent(const PacingEffect& e) {
  const ShownGain g = shown_gain(e);
  return g.has_interval ? percent_change_within(g.gain, g.low, g.high)
                        : percent_change(g.gain) + " (one start)";
}

std::string gain_or_dash(const ClaimRow& row, std::string_view arm) {
  const PacingEffect* e = arm_effect(row, arm);
  return e == nullptr ? "-" : with_interval(*e);
}

std::string shared_text(const PacingCondition& c) {
  if (c.job.reduce.count() > 0) return "a link, in the collective";
  if (c.job.fetch.count() > 0) return "a link, at the start of the iteration";
  if (c.job.compute_on_cores)
    return c.job.wait == pace::WaitMode::Spin ? "cores, with waiters that spin" : "cores";
  if (c.job.prepare > Seconds{}) return "cores, at the start of the iteration";
  return "nothing";
}

std::string imbalance_text(const PacingCondition& c) {
  if (c.job.imbalance == model::Imbalance::Persistent) return "persistent";
  if (c.job.imbalance == model::Imbalance::Rotating)
    return fmt::format("moves every {} steps", c.job.episode);
  return "random";
}

std::string cv_change(const PacingEffect& e) {
  const std::string held = e.held_cv > 0 ? fmt::format(" (held {:.3f})", e.held_cv) : "";
  return fmt::format("{:.3f} → {:.3f}{}", e.off.cv, e.on.cv, held);
}

/// "a `x` +1.2 %, ..." of those that are chosen.
std::string named_gains(const std::vector<ClaimRow>& rows) {
  std::vector<std::string> list;
  list.reserve(rows.size());
  for (const ClaimRow& row : rows)
    list.push_back(fmt::format("`{}` {}", row.result->name,
                               percent_change(shown_gain(*arm_effect(row, kArmAuto)).gain)));
  return fmt::format("{}", fmt::join(list, ", "));
}

std::string jobs(std::size_t count) {
  return counted(static_cast<std::int64_t>(count), "job", "jobs");
}

/// Jobs by whether the gain differs from 0 after Holm's correction over all of them.
struct SortedRows {
  std::vector<ClaimRow> above, below, open;
  std::size_t single = 0;  // with one start
};

SortedRows sort_rows(const PacingStudy& study, const std::vector<ClaimRow>& rows) {
  SortedRows s;
  std::vector<ClaimRow> measured;
  std::vector<double> p;
  for (const ClaimRow& row : rows)
    if (const PacingEffect* e = arm_effect(row, kArmAuto)) {
      measured.push_back(row);
      p.push_back(e->p_zero);
    }
  const std::vector<double> adjusted = holm_adjusted(p);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const ShownGain g = shown_gain(*arm_effect(measured[i], kArmAuto));
    if (adjusted[i] <= study.protocol.alpha) {
      (g.gain > 0 ? s.above : s.below).push_back(measured[i]);
      continue;
    }
    s.single += g.has_interval ? 0 : 1;
    s.open.push_back(measured[i]);
  }
  return s;
}

/// Whether steps are steadier while a delay is held, where one was.
std::string steadiness(const std::vector<ClaimRow>& rows) {
  std::vector<std::string> steadier, less;
  for (const ClaimRow& row : rows) {
    const PacingEffect* e = arm_effect(row, kArmAuto);
    if (e == nullptr || e->held_cv <= 0 || e->off.cv <= 0) continue;
    (e->held_cv < e->off.cv ? steadier : less)
        .push_back(fmt::format("`{}` {:.3f} → {:.3f}", row.result->name, e->off.cv, e->held_cv));
  }
  if (steadier.empty() && less.empty()) return "No job held a delay for long.";
  // A start's own CV is not recorded, so there is nothing that an interval could be made of.
  std::string out =
      fmt::format("While a delay is held, the scatter of the steps (CV, no interval) falls in {} of {} jobs",
                  steadier.size(), steadier.size() + less.size());
  if (!steadier.empty()) out += fmt::format(" ({})", fmt::join(steadier, ", "));
  if (!less.empty()) out += fmt::format(" and rises in {} ({})", less.size(), fmt::join(less, ", "));
  return out + ".";
}

/// What the plan's own tests found: costs, bars, random delays, and how many conditions are too noisy to tell.
std::string verdicts_of(const PacingStudy& study, const std::vector<ClaimRow>& rows) {
  std::size_t of = 0;
  std::size_t harmless = 0;
  std::size_t bars = 0;
  std::size_t above = 0;
  std::size_t no_worse = 0;
  std::size_t unresolved = 0;
  std::vector<std::string> random;
  for (const ClaimRow& row : rows) {
    if (arm_effect(row, kArmAuto) == nullptr) continue;
    ++of;
    harmless += row.result->no_harm.passed ? 1 : 0;
    unresolved += row.result->is_resolved ? 0 : 1;
    if (row.condition->bar <= 0) continue;
    ++bars;
    above += row.result->superior.passed ? 1 : 0;
    no_worse += row.result->no_worse_than_random.passed ? 1 : 0;
    if (const PacingEffect* e = arm_effect(row, kArmRandom))
      random.push_back(fmt::format("`{}` {}", row.result->name, percent_change(shown_gain(*e).gain)));
  }
  std::string out = fmt::format("It is shown to cost less than {} in {} of the {}",
                                percent(study.protocol.harm), harmless, of);
  if (bars > 0)
    out += fmt::format(
        "; of {} that had to gain a stated amount {} did, and {} are shown to be no worse than random delays{}",
        bars, above, no_worse,
        random.empty() ? "" : fmt::format(" (these gain: {})", fmt::join(random, ", ")));
  return out + fmt::format(". {} are too noisy to tell {}: there `off` against `off` differs by more.\n",
                           unresolved, percent(study.protocol.floor));
}

std::string sentence_of(const PacingStudy& study, const PacingResults& results,
                        const std::vector<ClaimRow>& rows) {
  const SortedRows s = sort_rows(study, rows);
  std::string out = fmt::format("Measured on {} cores, {} emulated jobs: with `auto` throughput ",
                                results.machine.cores, s.above.size() + s.below.size() + s.open.size());
  out += s.above.empty() ? "rises in none"
                         : fmt::format("rises in {} ({})", s.above.size(), named_gains(s.above));
  out += s.below.empty() ? ", falls in none"
                         : fmt::format(", falls in {} ({})", s.below.size(), named_gains(s.below));
  if (!s.open.empty()) {
    const auto [low, high] =
        std::minmax_element(s.open.begin(), s.open.end(), [](const ClaimRow& a, const ClaimRow& b) {
          return shown_gain(*arm_effect(a, kArmAuto)).gain < shown_gain(*arm_effect(b, kArmAuto)).gain;
        });
    out += fmt::format(". In {} no difference is shown after correction (from {} to {}{})", s.open.size(),
                       named_gains({*low}), named_gains({*high}),
                       s.single == 0 ? "" : fmt::format("; {} of them have one cold start", s.single));
    const auto below = std::count_if(s.open.begin(), s.open.end(), [](const ClaimRow& row) {
      return shown_gain(*arm_effect(row, kArmAuto)).gain < 0;
    });
    if (below > 0) out += fmt::format(", with a mean below 0 in {}", below);
  }
  return out + ".\n" + verdicts_of(study, rows) + steadiness(rows) + "\n";
}

std::string table_of(const std::vector<ClaimRow>& rows) {
  std::string out =
      "| job | what ranks share | imbalance | delays by rule: `paper` | `always` | `auto` | CV of steps, off → `auto` |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const ClaimRow& row : rows) {
    const PacingEffect* e = arm_effect(row, kArmAuto);
    out +=
        fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", row.result->name, shared_text(*row.condition),
                    imbalance_text(*row.condition), gain_or_dash(row, "paper"), gain_or_dash(row, "always"),
                    gain_or_dash(row, kArmAuto), e == nullptr ? "-" : cv_change(*e));
  }
  return out;
}

std::string remedies_of(const PacingStudy& study, const std::vector<ClaimRow>& rows) {
  std::string out;
  for (const ClaimRow& row : rows) {
    std::vector<std::string> list;
    for (const PacingArm& arm : study.arms) {
      const PacingEffect* e = arm_effect(row, arm.name);
      if (e != nullptr && (arm.wait || arm.nice != 0))
        list.push_back(fmt::format("{} {}", arm.name, with_interval(*e)));
    }
    if (!list.empty())
      out += fmt::format("- `{}` ({}, {}): {}; `auto` {}.\n", row.result->name, shared_text(*row.condition),
                         imbalance_text(*row.condition), fmt::join(list, "; "), gain_or_dash(row, kArmAuto));
  }
  return out.empty() ? "None was measured.\n" : out;
}

std::string harm_text(const PacingStudy& study, const std::vector<ClaimRow>& rows) {
  const std::string margin = percent(study.protocol.harm);
  std::string out;
  std::vector<std::string> open;
  for (const ClaimRow& row : rows) {
    const PacingEffect* e = arm_effect(row, kArmAuto);
    if (e == nullptr) continue;
    if (!row.result->no_harm.passed) open.push_back("`" + row.result->name + "`");
    if (shown_gain(*e).is_below())
      out += fmt::format("- `auto` costs something in `{}`: {}. That is {} the margin of {}.\n",
                         row.result->name, in_percent(*e),
                         row.result->no_harm.passed ? "within" : "not shown to be within", margin);
  }
  if (!open.empty())
    out += fmt::format("- Not shown to cost less than {}: {} ({}).\n", margin, jobs(open.size()),
                       fmt::join(open, ", "));
  return out;
}

std::string floor_text(const std::vector<ClaimRow>& rows) {
  std::vector<std::string> beside;
  std::vector<std::string> found;
  std::size_t all = 0;
  for (const ClaimRow& row : rows) {
    const PacingEffect* e = arm_effect(row, kArmAgain);
    if (e == nullptr || e->starts.size() < 2) continue;
    ++all;
    const ShownGain g = shown_gain(*e);
    if (g.is_above() || g.is_below())
      beside.push_back(fmt::format("`{}` {}", row.result->name, in_percent(*e)));
    if (row.result->floor_beside_zero.passed) found.push_back("`" + row.result->name + "`");
  }
  if (all == 0) return "";
  std::string out =
      fmt::format("- `off` against `off`, which should show nothing: {} of {} intervals do not hold 0{}",
                  beside.size(), all, beside.empty() ? "" : fmt::format(" ({})", fmt::join(beside, ", ")));
  if (!beside.empty())
    out += found.empty() ? ", none after the correction"
                         : fmt::format(", after the correction {}: a bias", fmt::join(found, ", "));
  return out + ".\n";
}

/// Gains where most ranks never hold at once.
std::string unheld_text(const std::vector<ClaimRow>& rows) {
  std::string out;
  for (const ClaimRow& row : rows) {
    const PacingEffect* e = arm_effect(row, kArmAuto);
    if (e == nullptr || e->held_steps > 0 || shown_gain(*e).gain <= 0.01) continue;
    const std::string holding = e->holding < 0
                                    ? "who holds is not recorded"
                                    : fmt::format("a rank holds in {} of its steps", percent(e->holding));
    out += fmt::format(
        "- `{}` gains {} and no step counts as held: ranks decide each for themselves, {}, and the mean delay is {:.2f} ms "
        "per rank and step.\n",
        row.result->name, in_percent(*e), holding, e->on.delay.count() * 1e3);
  }
  return out;
}

tl::unexpected<Error> refuse_page(const std::string& file, std::string message) {
  return fail(Error{
      .code = Errc::InvalidInput,
      .id = "study-007",
      .message = std::move(message),
      .hint = "a page has lines '<!-- pacing study: sentence -->' (or table, remedies) and '<!-- end -->'",
      .where = Where{.file = file}});
}

}  // namespace

PacingClaims pacing_claims(const PacingStudy& study, const PacingResults& results) {
  const std::vector<ClaimRow> rows = claim_rows(study.conditions, results.conditions);
  return {.sentence = sentence_of(study, results, rows),
          .table =
              "Throughput against off in %, 95 % interval over cold starts in brackets.\n\n" + table_of(rows),
          .remedies = remedies_of(study, rows)};
}

PageSection findings_section(const PacingStudy& study, const PacingResults& results) {
  const std::vector<ClaimRow> rows = claim_rows(study.conditions, results.conditions);
  if (rows.empty()) return {};
  return {"## What it says\n\n" + sentence_of(study, results, rows) + "\n" + harm_text(study, rows) +
          floor_text(rows) + unheld_text(rows) + unheld_text(claim_rows(study.sizes, results.sizes))};
}

Result<std::string> with_claims(std::string_view text, const PacingClaims& claims, const std::string& file) {
  constexpr std::string_view kBegin = "<!-- pacing study: ";
  constexpr std::string_view kClose = " -->\n";
  constexpr std::string_view kEnd = "<!-- end -->\n";
  std::string out;
  std::size_t at = 0;
  for (std::size_t begin = text.find(kBegin); begin != std::string_view::npos;
       begin = text.find(kBegin, at)) {
    const std::size_t name_at = begin + kBegin.size();
    const std::size_t close = text.find(kClose, name_at);
    const std::size_t end = close == std::string_view::npos ? close : text.find(kEnd, close);
    if (end == std::string_view::npos) return refuse_page(file, "a mark of the pacing study is not ended");
    const std::string_view name = text.substr(name_at, close - name_at);
    const std::string* claim = name == "sentence"   ? &claims.sentence
                               : name == "table"    ? &claims.table
                               : name == "remedies" ? &claims.remedies
                                                    : nullptr;
    if (claim == nullptr)
      return refuse_page(file, fmt::format("'{}' is no claim of the pacing study", shown(name, 40)));
    out += text.substr(at, close + kClose.size() - at);
    out += *claim;
    at = end;
  }
  if (at == 0) return refuse_page(file, "this page has no mark of the pacing study");
  return out + std::string(text.substr(at));
}

}  // namespace cox::evaluate
