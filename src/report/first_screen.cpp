// SPDX-License-Identifier: Apache-2.0
// The answer on one screen.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"
#include "cox/base/unknown_unit.hpp"
#include "cox/diagnose/brief.hpp"
#include "cox/report/terminal.hpp"
#include "cox/trace/time_unit.hpp"

#include "report/layout.hpp"
#include "report/words.hpp"

namespace cox::report {
namespace {

using diagnose::AnswerKind;
using diagnose::Diagnosis;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

/// A piece of the screen; what does not fit is cut from the end, and says so.
struct Part {
  std::vector<std::string> lines;
  std::size_t least = 1;  ///< lines that stay
  int worth = 0;          ///< parts that are worth less are cut first
};

class Screen {
 public:
  explicit Screen(std::size_t columns) : columns_(columns) {}

  void add(std::string_view lead, std::string_view text, std::size_t least, int worth) {
    if (!text.empty())
      parts_.push_back({lines_of(wrapped(lead, terminal_text(text), columns_)), least, worth});
  }
  void add_blank() { parts_.push_back({{std::string()}, 0, 0}); }

  /// At most so many lines.
  [[nodiscard]] std::vector<std::string> take(std::size_t most) && {
    std::vector<Part*> order;
    order.reserve(parts_.size());
    for (Part& p : parts_) order.push_back(&p);
    std::stable_sort(order.begin(), order.end(),
                     [](const Part* a, const Part* b) { return a->worth < b->worth; });
    // First down to what a part must keep, then whole parts: a narrow terminal may hold less than all minima.
    for (const bool whole : {false, true})
      for (Part* p : order)
        for (; total() > most && p->lines.size() > (whole ? 0 : p->least); shorten(*p)) {
        }
    std::vector<std::string> out;
    for (Part& p : parts_) out.insert(out.end(), p.lines.begin(), p.lines.end());
    return out;
  }

 private:
  [[nodiscard]] std::size_t total() const {
    std::size_t lines = 0;
    for (const Part& p : parts_) lines += p.lines.size();
    return lines;
  }
  void shorten(Part& p) const {
    p.lines.pop_back();
    if (p.lines.empty() || p.lines.back().empty()) return;
    std::string& last = p.lines.back();
    if (!last.ends_with("...")) last = cut(last + " ...", columns_);
  }

  std::size_t columns_;
  std::vector<Part> parts_;
};

bool is_bad(const Diagnosis& d) {
  return diagnose::has_trouble(d) || d.answer.kind == AnswerKind::JobFailed;
}

}  // namespace

std::string render_screen(const trace::Run& run, const Diagnosis& d, const TextStyle& style,
                          std::string_view more, const diagnose::Comparison* against) {
  const UnknownUnit unit(trace::unknown_unit(run.ranks));
  const std::size_t columns = columns_of(style);
  const diagnose::Brief brief = diagnose::brief_of(d, against);
  const char mark = is_bad(d)                                  ? '!'
                    : d.series == diagnose::SeriesState::Quiet ? '='
                    : d.answer.kind == AnswerKind::CannotTell  ? '?'
                                                               : '=';
  const std::vector<std::string> title = lines_of(wrapped(
      "", terminal_text(fmt::format("{} {} ({})", mark, headline(d), provenance_word(run.info.provenance))),
      columns));
  Screen screen(columns);
  for (std::size_t i = 0; i < brief.says.size(); ++i)
    screen.add("", brief.says[i], i == 0 ? 2 : 0, i == 0 ? 9 : 5);
  screen.add("cause: ", brief.cause, 1, 7);
  screen.add("gain: ", brief.gain, 1, 8);
  if (!brief.to_do.empty()) screen.add_blank();
  for (std::size_t i = 0; i < brief.to_do.size(); ++i)
    screen.add(fmt::format("{}. ", i + 1), brief.to_do[i], i == 0 ? 1 : 0,
               i == 0 ? 6 : 3 - static_cast<int>(i));
  screen.add_blank();
  screen.add("coverage: ", brief.coverage, 1, 6);
  screen.add("cannot tell: ", brief.cannot_tell, 1, 4);
  screen.add("more: ", more, 1, 10);

  const Ink ink(style.color);
  std::string out;
  for (const std::string& line : title) out += (is_bad(d) ? ink.bad(line) : ink.good(line)) + '\n';
  for (const std::string& line :
       std::move(screen).take(kScreenLines - std::min(title.size(), kScreenLines - 1)))
    out += line + '\n';
  return in_charset(out, style.charset);
}

std::string render_lines(const std::vector<std::string>& lines, const TextStyle& style,
                         std::string_view more) {
  const std::size_t columns = columns_of(style);
  const auto broken = [&](const std::string& line) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    return wrapped(std::string(indent, ' '), terminal_text(std::string_view(line).substr(indent)), columns);
  };
  std::string out;
  std::size_t used = 0;
  std::vector<std::string> texts;
  for (const std::string& line : lines) {
    texts.push_back(broken(line));
    used += lines_of(texts.back()).size();
  }
  const std::string last = more.empty() ? std::string() : wrapped("more: ", terminal_text(more), columns);
  const bool cuts = !more.empty() && used > kScreenLines;
  std::size_t left = cuts ? kScreenLines - std::min(kScreenLines - 1, lines_of(last).size()) : used;
  for (const std::string& text : texts) {
    const std::size_t takes = lines_of(text).size();
    if (takes > left) break;
    left -= takes;
    out += text;
  }
  return in_charset(cuts ? out + last : out, style.charset);
}

std::string render_line(const TextLine& line, const TextStyle& style) {
  return line.kind == LineKind::Row ? in_charset(terminal_text(line.text) + '\n', style.charset)
                                    : render_lines({line.text}, style);
}

namespace {

/// Whether a table of them has nobody to name.
bool is_series(const RunLine& r) {
  return r.diagnosis->series != diagnose::SeriesState::None;
}

std::string verdict_word(const Diagnosis& d) {
  if (d.series == diagnose::SeriesState::Quiet) return "quiet";
  if (d.series == diagnose::SeriesState::Uneven) return "not quiet";
  switch (d.answer.kind) {
    case AnswerKind::Named:
      return "named";
    case AnswerKind::Nobody:
      return "nobody";
    case AnswerKind::CannotTell:
      return "cannot tell";
    case AnswerKind::JobFailed:
      return "failed";
  }
  return "cannot tell";
}

/// Those that need a look come first.
int urgency(const Diagnosis& d) {
  if (d.series == diagnose::SeriesState::Quiet) return 3;
  switch (d.answer.kind) {
    case AnswerKind::JobFailed:
      return 0;
    case AnswerKind::Named:
      return 1;
    case AnswerKind::CannotTell:
      return 2;
    case AnswerKind::Nobody:
      return 3;
  }
  return 3;
}

std::string whom(const Diagnosis& d) {
  if (d.findings.empty()) return "-";
  const diagnose::Finding& f = d.findings.front();
  if (!f.ranks.empty()) return rank_list(f.ranks, 2);
  return f.components.empty() ? "-" : terminal_text(diagnose::component_words(f));
}

std::string gain_cell(const Diagnosis& d) {
  if (d.findings.empty()) return "-";
  const diagnose::Finding& f = d.findings.front();
  if (!diagnose::is_gain_told(f)) return "not told";
  return f.gain_doubt ? "doubtful" : percent(diagnose::gain_alone(f));
}

}  // namespace

std::string render_runs(const std::vector<RunLine>& runs, const TextStyle& style, std::string_view one,
                        std::string_view all) {
  const std::size_t columns = columns_of(style);
  const Ink ink(style.color);
  std::vector<const RunLine*> order;
  order.reserve(runs.size());
  for (const RunLine& r : runs) order.push_back(&r);
  std::stable_sort(order.begin(), order.end(), [](const RunLine* a, const RunLine* b) {
    return urgency(*a->diagnosis) < urgency(*b->diagnosis);
  });
  // A narrow terminal shows who, and how much of it was seen; the gain is told with each run.
  constexpr std::size_t kVerdict = 11;
  constexpr std::size_t kRanks = 12;
  constexpr std::size_t kPart = 11;
  const bool wide = columns >= 64;
  const std::size_t rest = kVerdict + 1 + (wide ? kRanks + kPart + kPart + 3 : kRanks + 1);
  const std::size_t name = columns - rest - 1;
  std::vector<std::string> names;
  names.reserve(runs.size());
  for (const RunLine& r : runs) names.push_back(terminal_text(r.name));
  const auto row = [&](std::string_view who, std::string_view verdict, std::string_view ranks,
                       std::string_view gain, std::string_view coverage) {
    std::string line = left(cut_apart(who, names, name), name) + ' ' + left(verdict, kVerdict) + ' ' +
                       right(cut(ranks, kRanks), kRanks);
    if (wide) line += ' ' + right(gain, kPart) + ' ' + right(coverage, kPart);
    return line + '\n';
  };
  const std::string say_one(one);
  const std::string end = wrapped("one: ", say_one, columns) + wrapped("all: ", all, columns);
  const std::size_t room = kScreenLines - 2 - lines_of(end).size();  // heads, and the count of the rest
  const std::size_t shown = order.size() <= room + 1 ? order.size() : room;
  const bool series = std::all_of(runs.begin(), runs.end(), is_series);
  std::string out = ink.faint(series ? row("run", "verdict", "median step", "p95 step", "steps")
                                     : row("run", "verdict", "rank", "gain", "coverage"));
  for (std::size_t i = 0; i < shown; ++i) {
    const Diagnosis& d = *order[i]->diagnosis;
    const UnknownUnit unit(order[i]->unknown_unit);
    const std::string who = terminal_text(order[i]->name);
    out += series ? row(who, verdict_word(d), to_string(d.step_time.median), to_string(d.step_time.p95),
                        grouped(d.steps))
                  : row(who, verdict_word(d), whom(d), gain_cell(d), percent(d.coverage.ratio));
  }
  if (shown < order.size())
    out += fmt::format("and {} more\n", grouped(static_cast<std::int64_t>(order.size() - shown)));
  return in_charset(out + end, style.charset);
}

}  // namespace cox::report
