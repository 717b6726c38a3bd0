// SPDX-License-Identifier: Apache-2.0
#include "cox/report/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"
#include "cox/base/unknown_unit.hpp"
#include "cox/trace/time_unit.hpp"

#include "report/layout.hpp"
#include "report/words.hpp"

namespace cox::report {
namespace {

using diagnose::Diagnosis;
using diagnose::RankAccount;

constexpr std::size_t kRows = 16;        // ranks listed; the rest is counted
constexpr std::size_t kWholeTable = 74;  // columns that the ranking takes

/// Everything that lines are made with.
struct Writer {
  Ink ink;
  std::size_t columns;
  [[nodiscard]] std::string wrapped(std::string_view lead, std::string_view text) const {
    return cox::wrapped(lead, text, columns);
  }
};

std::string signed_time(Duration d) {
  return (d > Duration::zero() ? "+" : "") + to_string(d);
}

/// A time for a column. Numbers of an unknown unit may be longer than it: then without the word, and what is longer still
/// with an exponent.
std::string time_cell(const std::string& text, std::size_t width) {
  constexpr std::string_view kUnits = " units";
  if (columns_of(text) <= width || !text.ends_with(kUnits)) return right(text, width);
  std::string number = text.substr(0, text.size() - kUnits.size());
  if (number.size() <= width) return right(number, width);
  std::erase(number, ' ');
  const double value = std::strtod(number.c_str(), nullptr);
  return right(fmt::format("{}{:.2e}", number.starts_with('+') ? "+" : "", value), width);
}

std::string finding_lines(const diagnose::Finding& f, std::size_t number, const Writer& w) {
  std::string out =
      w.wrapped(fmt::format("  {}. ", number),
                fmt::format("{}: {}; cause {}; {}", kind_words(f.kind), terminal_text(subject(f)),
                            terminal_text(cause_words(f.cause)), price_words(f)));
  for (const diagnose::Evidence& e : diagnose::evidence_of(f))
    out += w.wrapped("     - ", terminal_text(e.text));
  return out;
}

std::string step_lines(const Diagnosis& d, const Writer& w) {
  if (d.step_time.count == 0) return "no steps were found in this input\n";
  std::string out = w.wrapped(
      "",
      fmt::format(
          "step time {} median, {} to {} (5th to 95th percentile), standard deviation {} of the mean, n = {}; steps are {}",
          to_string(d.step_time.median), to_string(d.step_time.p05), to_string(d.step_time.p95),
          percent(d.step_time.cv), grouped(d.step_time.count), step_source_words(d.step_source)));
  if (d.collectives_per_step > 0)
    out += w.wrapped("", fmt::format("per step (median): {} collective{}, the program waits {} time{}",
                                     grouped(d.collectives_per_step), d.collectives_per_step == 1 ? "" : "s",
                                     grouped(d.calls_per_step), d.calls_per_step == 1 ? "" : "s"));
  if (const auto lost = lost_ratio(d))
    out += w.wrapped("", fmt::format("lost to late arrivals {} of {} ({})", to_string(d.lost),
                                     to_string(d.run_time), percent(*lost)));
  else if (d.lost > d.run_time)
    out += w.wrapped(
        "", fmt::format("lost to late arrivals {}, summed over groups that run side by side; run time {}",
                        to_string(d.lost), to_string(d.run_time)));
  return out;
}

/// What never returned: first what hangs and why, then what may be nothing.
std::string stall_lines(const Diagnosis& d, const Writer& w) {
  if (d.trouble.stalls.empty()) return {};
  const std::string until = d.trouble.present.live
                                ? "times are by this machine's clock"
                                : "the job is not running here: times are up to the last record";
  std::string out = '\n' + w.ink.bold("calls that have not returned") + '\n' + w.wrapped("  ", until);
  for (std::size_t i = 0; i < std::min(d.trouble.stalls.size(), kRows); ++i) {
    out += w.wrapped(d.trouble.stalls[i].hung ? "! " : "- ", terminal_text(d.trouble.stalls[i].text));
    for (const diagnose::LastSeen& seen : d.trouble.stalls[i].last_seen)
      out += w.wrapped("    ", terminal_text(seen.text));
  }
  const auto more =
      d.trouble.more_stalls +
      static_cast<std::int64_t>(d.trouble.stalls.size() - std::min(d.trouble.stalls.size(), kRows));
  if (more > 0) out += w.ink.faint(fmt::format("  and {} more", grouped(more))) + '\n';
  return out;
}

std::string mismatch_lines(const Diagnosis& d, const Writer& w) {
  if (d.trouble.mismatches.empty()) return {};
  std::string out = '\n' + w.ink.bold("collectives on which members disagree") + '\n';
  for (std::size_t i = 0; i < std::min(d.trouble.mismatches.size(), kRows); ++i)
    out += w.wrapped("! ", terminal_text(d.trouble.mismatches[i].text));
  if (d.trouble.mismatches.size() > kRows)
    out += w.ink.faint(fmt::format("  and {} more",
                                   grouped(static_cast<std::int64_t>(d.trouble.mismatches.size() - kRows)))) +
           '\n';
  return out;
}

bool is_named(const Diagnosis& d, Rank rank) {
  return std::any_of(d.findings.begin(), d.findings.end(), [&](const diagnose::Finding& f) {
    if (f.kind == diagnose::FindingKind::RotatingStraggler) return false;  // all of them would mark nobody
    return f.rank ? *f.rank == rank : std::find(f.ranks.begin(), f.ranks.end(), rank) != f.ranks.end();
  });
}

std::string ranking(const Diagnosis& d, const Writer& w) {
  const std::vector<const RankAccount*> order = by_charge(d);
  const bool wide = w.columns >= kWholeTable;  // else who, and what it cost
  const bool messages = wide && std::any_of(d.ranks.begin(), d.ranks.end(), [](const RankAccount& a) {
                          return a.message_wait > Duration::zero();
                        });
  std::string head = fmt::format("  {:>7}  {:>12}", "rank", "self-delay");
  if (wide) head += fmt::format("  {:>10}", "wait");
  if (messages) head += fmt::format("  {:>10}", "messages");
  if (wide) head += fmt::format("  {:>10}", "transfer");
  head += fmt::format("  {:>10}", "charged");
  if (wide && !messages) head += fmt::format("  {:>12}", "last");  // no room for both
  std::string out = w.ink.faint(head) + '\n';
  for (std::size_t i = 0; i < std::min(order.size(), kRows); ++i) {
    const RankAccount& a = *order[i];
    const bool named = is_named(d, a.rank);
    std::string line =
        fmt::format("{} {}  {}", named ? ">" : " ", right(fmt::format("{}", a.rank.value()), 7),
                    time_cell(signed_time(a.self_delay_median), 12));
    if (wide) line += "  " + time_cell(to_string(a.wait), 10);
    if (messages) line += "  " + time_cell(to_string(a.message_wait), 10);
    if (wide) line += "  " + time_cell(to_string(a.transfer), 10);
    line += "  " + time_cell(to_string(a.charged), 10);
    if (wide && !messages) line += "  " + right(percent(a.last_share), 12);
    out += (named ? w.ink.bad(line) : line) + '\n';
  }
  if (order.size() > kRows)
    out += w.wrapped("  ", fmt::format("and {} more ranks (--json lists all)",
                                       grouped(static_cast<std::int64_t>(order.size() - kRows))));
  out += w.wrapped("  ", "self-delay: own work above the median of all ranks, median over steps");
  out += w.wrapped(
      "  ",
      "wait: inside synchronisations before the last member came; transfer: after that; last: part of "
      "the synchronisations in which it was the last");
  if (messages) out += w.wrapped("  ", "messages: in calls for messages that had not been sent yet");
  out += w.wrapped("  ", "charged: time the others lost because this rank was last; >: named above");
  return out;
}

std::string remedy_lines(const Diagnosis& d, const Writer& w) {
  if (d.remedies.empty()) return {};
  std::string out = '\n' + w.ink.bold("what to do, most gain first") + '\n';
  for (const diagnose::Remedy& r : d.remedies)
    out +=
        w.wrapped("- ", terminal_text(fmt::format(
                            "{}: {}", r.gain_ratio ? percent(*r.gain_ratio) : "gain not estimated", r.text)));
  out += w.wrapped("  ", "verify: " + terminal_text(d.remedies.front().verify));
  return out;
}

/// What the words of a section mean; empty where they mean what they say.
std::string_view terms_of(diagnose::SectionKind kind) {
  using diagnose::SectionKind;
  switch (kind) {
    case SectionKind::WhatIf:
      return "replay of the recorded operations with other durations; own work: a rank's time between "
             "synchronisations; peers: those that do the same at that place of the step";
    case SectionKind::WhatIfOperations:
      return "replay of the recorded operations, each as long as usual for its like";
    case SectionKind::Attribution:
      return "own work: time between synchronisations; transfer: after the last member came; carried "
             "in: from before the first operation";
    case SectionKind::Efficiencies:
      return "parts that multiply to the parallel efficiency; load balance: mean useful time over the "
             "largest; serialisation: waits for each other on an ideal network";
    case SectionKind::Operations:
      return "apart: from the first to the last; transfer: from the last arrival to the end";
    case SectionKind::Fabric:
      return "groups of ranks across hosts, each held against groups of the same size and message size";
    case SectionKind::TimeStructure:
      return "the lengths of steps in their order";
    case SectionKind::Pacing:
      return "early ranks held back by a bounded delay; block: steps that are all paced or all not";
    case SectionKind::GraphPath:
      return "operations that wait for each other, one after the other";
    case SectionKind::Present:
      return "only ranks whose records are there";
    case SectionKind::Presence:
      break;
  }
  return {};
}

std::string section_lines(const Diagnosis& d, const Writer& w) {
  std::string out;
  for (const diagnose::Section& s : d.sections) {
    out += '\n' + w.ink.bold(terminal_text(s.title)) + '\n';
    if (const std::string_view terms = terms_of(s.kind); !terms.empty()) out += w.wrapped("  ", terms);
    for (const std::string& line : s.lines) out += w.wrapped("- ", terminal_text(line));
  }
  return out;
}

/// A line per node, the first few of them.
std::string locality_lines(const Diagnosis& d, const Writer& w) {
  constexpr std::size_t kLines = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(d.locality.size(), kLines); ++i)
    out += w.wrapped("", terminal_text(d.locality[i].host) + ": " + locality_words(d.locality[i]));
  if (d.locality.size() > kLines)
    out += w.wrapped("", fmt::format("and {} more hosts (--json lists all)",
                                     grouped(static_cast<std::int64_t>(d.locality.size() - kLines))));
  return out;
}

}  // namespace

std::string render_text(const trace::Run& run, const Diagnosis& d, const TextStyle& style,
                        const diagnose::Comparison* against) {
  const UnknownUnit unit(trace::unknown_unit(run.ranks));
  const Writer w{Ink(style.color), columns_of(style)};
  const bool named = !d.findings.empty();
  const bool trouble = diagnose::has_trouble(d) || d.answer.kind == diagnose::AnswerKind::JobFailed;
  const std::string title = fmt::format("{} {} ({})",
                                        trouble                                             ? "!"
                                        : d.answer.kind == diagnose::AnswerKind::CannotTell ? "?"
                                                                                            : "=",
                                        headline(d), provenance_word(run.info.provenance));
  std::string heading = w.wrapped("", terminal_text(title));
  heading.pop_back();
  std::string out = (trouble ? w.ink.bad(heading) : w.ink.good(heading)) + "\n";
  if (!d.verdict.empty()) out += w.wrapped("", terminal_text(lead(d)));
  if (against != nullptr) {
    out += '\n' + w.ink.bold("before and after") + '\n';
    for (const std::string& line : against->lines) out += w.wrapped("- ", terminal_text(line));
  }
  out +=
      '\n' + w.wrapped("", coverage_line(d.coverage)) + w.wrapped("", clock_line(d)) + locality_lines(d, w);
  out += '\n' + step_lines(d, w);
  if (named) {
    out += '\n' + w.ink.bold("findings, most costly first") + '\n';
    out += w.wrapped("  ", "lost time: from the median arrival to the last; gain: of the run's time");
    for (std::size_t i = 0; i < d.findings.size(); ++i) out += finding_lines(d.findings[i], i + 1, w);
  }
  out += remedy_lines(d, w) + stall_lines(d, w) + mismatch_lines(d, w);
  if (!d.ranks.empty()) {
    out += '\n' +
           w.ink.bold(fmt::format("who sets the pace: {} rank{}",
                                  grouped(static_cast<std::int64_t>(d.ranks.size())),
                                  d.ranks.size() == 1 ? "" : "s")) +
           '\n' + ranking(d, w);
  }
  out += section_lines(d, w);
  if (!d.cannot_tell.empty()) {
    out += '\n' + w.ink.bold("what this input cannot tell") + '\n';
    for (const std::string& sentence : d.cannot_tell) out += w.wrapped("- ", terminal_text(sentence));
  }
  if (!run.notes.empty()) {
    out += '\n' + w.ink.bold("not used, and why") + '\n';
    for (std::size_t i = 0; i < std::min(run.notes.size(), kRows); ++i) {
      const trace::Note& note = run.notes[i];
      out += w.wrapped("- ", terminal_text(note.file + (note.file.empty() ? "" : ": ") + note.text));
    }
    if (run.notes.size() > kRows)
      out += fmt::format("- and {} more\n", grouped(static_cast<std::int64_t>(run.notes.size() - kRows)));
  }
  return in_charset(out, style.charset);
}

}  // namespace cox::report
