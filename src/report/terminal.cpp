// SPDX-License-Identifier: Apache-2.0
#include "cox/report/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "report/markup.hpp"
#include "report/words.hpp"

namespace cox::report {
namespace {

using diagnose::Diagnosis;
using diagnose::RankAccount;

constexpr std::size_t kWidth = 80;
constexpr std::size_t kRows = 16;  // ranks listed; the rest is counted

/// Colours a terminal shows alike on light and dark grounds; each stands beside a symbol or a word.
class Ink {
 public:
  explicit Ink(Color color) : on_(color == Color::On) {}
  [[nodiscard]] std::string bold(std::string_view text) const { return wrap("1", text); }
  [[nodiscard]] std::string faint(std::string_view text) const { return wrap("2", text); }
  [[nodiscard]] std::string bad(std::string_view text) const { return wrap("1;33", text); }
  [[nodiscard]] std::string good(std::string_view text) const { return wrap("1;32", text); }

 private:
  [[nodiscard]] std::string wrap(std::string_view code, std::string_view text) const {
    return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  bool on_;
};

/// Columns that a text takes: UTF-8 sequences count once.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// A unit stays on the line of its number.
bool starts_with_unit(std::string_view text) {
  constexpr std::array<std::string_view, 6> kUnits = {"%", "s", "ms", "\u00B5s", "ns", "ps"};
  const std::string_view word = text.substr(0, text.find_first_of(" ,;.)"));
  return std::find(kUnits.begin(), kUnits.end(), word) != kUnits.end();
}

/// `lead` and then `text`, broken at blanks so that no line is wider than the terminal; further lines are
/// indented as far as `lead` is wide. A word that is wider by itself stays whole: a path must remain one
/// piece to be copied.
std::string wrapped(std::string_view lead, std::string_view text) {
  const std::size_t indent = columns_of(lead);
  std::string out(lead);
  std::size_t column = indent;
  for (std::size_t from = 0; from < text.size();) {
    std::size_t blank = std::min(text.find(' ', from), text.size());
    while (starts_with_unit(text.substr(std::min(blank + 1, text.size())))) {
      blank = std::min(text.find(' ', blank + 1), text.size());
    }
    const std::string_view word = text.substr(from, blank - from);
    from = blank + 1;
    if (word.empty()) continue;
    const std::size_t width = columns_of(word);
    if (column > indent && column + 1 + width > kWidth) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width;
  }
  return out + '\n';
}

std::string right(std::string_view text, std::size_t width) {
  const std::size_t have = columns_of(text);
  return std::string(width > have ? width - have : 0, ' ') + std::string(text);
}

std::string signed_time(Duration d) {
  return (d > Duration::zero() ? "+" : "") + to_string(d);
}

std::string finding_lines(const diagnose::Finding& f, std::size_t number) {
  std::string out = wrapped(
      fmt::format("  {}. ", number),
      fmt::format("{}: {}; cause {}; {} of lost time, gain {} (estimated)", kind_words(f.kind), subject(f),
                  terminal_text(cause_words(f.cause)), percent(f.share_ratio), percent(f.gain_ratio)));
  for (const diagnose::Evidence& e : diagnose::evidence_of(f))
    out += wrapped("     - ", terminal_text(e.text));
  return out;
}

std::string step_lines(const Diagnosis& d) {
  if (d.step_time.count == 0) return "no steps were found in this input\n";
  std::string out = wrapped(
      "", fmt::format("step time {} median, {} to {} (5th to 95th percentile), cv {}, n = {}; steps are {}",
                      to_string(d.step_time.median), to_string(d.step_time.p05), to_string(d.step_time.p95),
                      percent(d.step_time.cv), grouped(d.step_time.count), step_source_words(d.step_source)));
  if (d.collectives_per_step > 0)
    out += wrapped("", fmt::format("per step (median): {} collective{}, the program waits {} time{}",
                                   grouped(d.collectives_per_step), d.collectives_per_step == 1 ? "" : "s",
                                   grouped(d.calls_per_step), d.calls_per_step == 1 ? "" : "s"));
  if (d.run_time > Duration::zero()) {
    out += wrapped("", fmt::format("lost to late arrivals {} of {} ({})", to_string(d.lost),
                                   to_string(d.run_time), percent(ratio(d.lost, d.run_time))));
  }
  return out;
}

/// What never returned: first what hangs and why, then what may be nothing.
std::string stall_lines(const Diagnosis& d, const Ink& ink) {
  if (d.trouble.stalls.empty()) return {};
  const std::string until = d.trouble.present.live ? "by this machine's clock"
                                                   : "the job is not running here: up to the last record";
  std::string out = '\n' + ink.bold(fmt::format("calls that have not returned ({})", until)) + '\n';
  for (std::size_t i = 0; i < std::min(d.trouble.stalls.size(), kRows); ++i) {
    out += wrapped(d.trouble.stalls[i].hung ? "! " : "- ", terminal_text(d.trouble.stalls[i].text));
    for (const diagnose::LastSeen& seen : d.trouble.stalls[i].last_seen)
      out += wrapped("    ", terminal_text(seen.text));
  }
  const auto more =
      d.trouble.more_stalls +
      static_cast<std::int64_t>(d.trouble.stalls.size() - std::min(d.trouble.stalls.size(), kRows));
  if (more > 0) out += ink.faint(fmt::format("  and {} more", grouped(more))) + '\n';
  return out;
}

std::string mismatch_lines(const Diagnosis& d, const Ink& ink) {
  if (d.trouble.mismatches.empty()) return {};
  std::string out = '\n' + ink.bold("collectives on which members disagree") + '\n';
  for (std::size_t i = 0; i < std::min(d.trouble.mismatches.size(), kRows); ++i)
    out += wrapped("! ", terminal_text(d.trouble.mismatches[i].text));
  if (d.trouble.mismatches.size() > kRows)
    out += ink.faint(fmt::format("  and {} more",
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

std::string ranking(const Diagnosis& d, const Ink& ink) {
  std::vector<std::size_t> order(d.ranks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return d.ranks[a].charged > d.ranks[b].charged; });
  std::string out = ink.faint(fmt::format("  {:>7}  {:>12}  {:>10}  {:>10}  {:>10}  {:>12}", "rank",
                                          "self-delay", "wait", "transfer", "charged", "last")) +
                    '\n';
  for (std::size_t i = 0; i < std::min(order.size(), kRows); ++i) {
    const RankAccount& a = d.ranks[order[i]];
    const bool named = is_named(d, a.rank);
    std::string line = fmt::format(
        "{} {}  {}  {}  {}  {}  {}", named ? ">" : " ", right(fmt::format("{}", a.rank.value()), 7),
        right(signed_time(a.self_delay_median), 12), right(to_string(a.wait), 10),
        right(to_string(a.transfer), 10), right(to_string(a.charged), 10), right(percent(a.last_share), 12));
    out += (named ? ink.bad(line) : line) + '\n';
  }
  if (order.size() > kRows)
    out += ink.faint(fmt::format("  and {} more ranks (--json lists all)",
                                 grouped(static_cast<std::int64_t>(order.size() - kRows)))) +
           '\n';
  out += ink.faint("  self-delay: own work above the median of all ranks, median over steps") + '\n';
  out += ink.faint("  charged: time the others lost because this rank was last; >: named above") + '\n';
  return out;
}

std::string remedy_lines(const Diagnosis& d, const Ink& ink) {
  if (d.remedies.empty()) return {};
  std::string out = '\n' + ink.bold("what to do, most gain first") + '\n';
  for (const diagnose::Remedy& r : d.remedies)
    out +=
        wrapped("- ", terminal_text(fmt::format(
                          "{}: {}", r.gain_ratio ? percent(*r.gain_ratio) : "gain not estimated", r.text)));
  out += wrapped("  ", ink.faint("verify: " + terminal_text(d.remedies.front().verify)));
  return out;
}

std::string section_lines(const Diagnosis& d, const Ink& ink) {
  std::string out;
  for (const diagnose::Section& s : d.sections) {
    out += '\n' + ink.bold(terminal_text(s.title)) + '\n';
    for (const std::string& line : s.lines) out += wrapped("- ", terminal_text(line));
  }
  return out;
}

/// A line per node, the first few of them.
std::string locality_lines(const Diagnosis& d) {
  constexpr std::size_t kLines = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(d.locality.size(), kLines); ++i)
    out += wrapped("", terminal_text(d.locality[i].host) + ": " + locality_words(d.locality[i]));
  if (d.locality.size() > kLines)
    out += wrapped("", fmt::format("and {} more hosts (--json lists all)",
                                   grouped(static_cast<std::int64_t>(d.locality.size() - kLines))));
  return out;
}

}  // namespace

std::string render_text(const trace::Run& run, const Diagnosis& d, Color color,
                        const diagnose::Comparison* against) {
  const Ink ink(color);
  const bool named = !d.findings.empty();
  const bool trouble = diagnose::has_trouble(d);
  const std::string title =
      fmt::format("{} {} ({})", trouble ? "!" : "=", headline(d), provenance_word(run.info.provenance));
  std::string out = (trouble ? ink.bad(title) : ink.good(title)) + "\n";
  if (!d.verdict.empty()) out += wrapped("", terminal_text(lead(d)));
  if (against != nullptr) {
    out += '\n' + ink.bold("before and after") + '\n';
    for (const std::string& line : against->lines) out += wrapped("- ", terminal_text(line));
  }
  out += '\n' + wrapped("", coverage_line(d.coverage)) + wrapped("", clock_line(d)) + locality_lines(d);
  out += '\n' + step_lines(d);
  if (named) {
    out += '\n' + ink.bold("findings, most costly first") + '\n';
    for (std::size_t i = 0; i < d.findings.size(); ++i) out += finding_lines(d.findings[i], i + 1);
  }
  out += remedy_lines(d, ink) + stall_lines(d, ink) + mismatch_lines(d, ink);
  if (!d.ranks.empty()) {
    out += '\n' +
           ink.bold(fmt::format("who sets the pace: {} rank{}",
                                grouped(static_cast<std::int64_t>(d.ranks.size())),
                                d.ranks.size() == 1 ? "" : "s")) +
           '\n' + ranking(d, ink);
  }
  out += section_lines(d, ink);
  if (!d.cannot_tell.empty()) {
    out += '\n' + ink.bold("what this input cannot tell") + '\n';
    for (const std::string& sentence : d.cannot_tell) out += wrapped("- ", terminal_text(sentence));
  }
  if (!run.notes.empty()) {
    out += '\n' + ink.bold("not used, and why") + '\n';
    for (std::size_t i = 0; i < std::min(run.notes.size(), kRows); ++i) {
      const trace::Note& note = run.notes[i];
      out += wrapped("- ", terminal_text(note.file + (note.file.empty() ? "" : ": ") + note.text));
    }
    if (run.notes.size() > kRows)
      out += fmt::format("- and {} more\n", grouped(static_cast<std::int64_t>(run.notes.size() - kRows)));
  }
  return out;
}

}  // namespace cox::report
