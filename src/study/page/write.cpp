// SPDX-License-Identifier: Apache-2.0
#include "cox/study/write.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/wrapped.hpp"

namespace cox::study {
namespace {

/// A cell of a Markdown table: no bar ends it, no angle bracket opens a tag.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    if (c == '<') {
      out += "&lt;";
    } else if (c == '\n') {
      out += ' ';
    } else {
      out += c;
    }
  }
  return out;
}

/// A value as `like` is written, with the ends of its interval where it has one: `7.26x (6.89x to 7.63x)`.
std::string with_interval(const Computed& c, const WrittenQuantity& like) {
  std::string out = text_like(c.value, like);
  if (!c.half_width_95) return out;
  const auto end = [&](double sign) {
    return text_like(
        Quantity(c.value.dimension(), c.value.in_base_unit() + sign * c.half_width_95->in_base_unit()), like);
  };
  return fmt::format("{} ({} to {})", out, end(-1), end(1));
}

/// Ours in the unit of what was printed; a dash where nothing can be computed. Of draws, where most of them lie.
std::string ours(const Printed& p, const Judged& j) {
  if (!j.computed) return "-";
  const Computed& c = *j.computed;
  if (p.declared == Declared::Draw && c.draw_low && c.draw_high)
    return fmt::format("draws {} to {}", text_like(*c.draw_low, p.value), text_like(*c.draw_high, p.value));
  return with_interval(c, p.value);
}

/// In the unit that reads best.
std::string plain(const Computed& c) {
  std::string text = to_string(c.value);
  std::string compact = text;
  std::erase(compact, ' ');
  const auto like = parse_quantity(compact);
  return like ? with_interval(c, *like) : text;
}

/// A study's printed numbers by what may be counted together.
struct Counts {
  std::ptrdiff_t follow = 0;
  std::ptrdiff_t do_not = 0;
  std::ptrdiff_t with_ours = 0;
  std::ptrdiff_t not_with_ours = 0;
  std::ptrdiff_t fitted = 0;      ///< and met or not
  std::ptrdiff_t fit_misses = 0;  ///< of these
  std::ptrdiff_t not_computed = 0;
};
Counts counts_of(const AnsweredStudy& a) {
  const auto of = [&](Verdict v) {
    return std::count_if(a.judged.begin(), a.judged.end(), [&](const Judged& j) { return j.verdict == v; });
  };
  return {.follow = of(Verdict::Follows) + of(Verdict::AmongDraws),
          .do_not = of(Verdict::DoesNotFollow),
          .with_ours = of(Verdict::FollowsWithOurs),
          .not_with_ours = of(Verdict::NotWithOurs),
          .fitted = of(Verdict::Fitted) + of(Verdict::FitMisses),
          .fit_misses = of(Verdict::FitMisses),
          .not_computed = of(Verdict::TypedIn) + of(Verdict::NotComputed) + of(Verdict::InputMissing) +
                          of(Verdict::Contradicts)};
}

/// `3 follow, 8 do not; 1 fitted`: what there is none of is left out, but for the first two.
std::string counts_text(const Counts& c) {
  std::string out = fmt::format("{} follow, {} do not", c.follow, c.do_not);
  if (c.with_ours + c.not_with_ours > 0)
    out += fmt::format("; with inputs of ours {} follow, {} do not", c.with_ours, c.not_with_ours);
  if (c.fitted > 0)
    out += fmt::format("; {} fitted, which is no prediction ({} of them miss)", c.fitted, c.fit_misses);
  if (c.not_computed > 0) out += fmt::format("; {} not computed", c.not_computed);
  return out;
}

/// What was set, as it is typed; empty where nothing was.
std::string set_text(const AnsweredStudy& a) {
  std::vector<std::string> changes;
  for (const StudyInput& in : a.study.inputs)
    if (!in.of_file.empty()) changes.push_back(change_text(in));
  return changes.empty() ? "" : fmt::format(" --set '{}'", fmt::join(changes, ","));
}

std::string printed_table(const AnsweredStudy& a) {
  std::string out = "| line | what | printed | computed | verdict |\n|---:|---|---:|---:|---|\n";
  for (std::size_t i = 0; i < a.study.printed.size(); ++i) {
    const Printed& p = a.study.printed[i];
    out += fmt::format("| {} | {} | {} | {} | {} |\n", p.source_line, cell(p.name), cell(p.text()),
                       cell(ours(p, a.judged[i])), name_of(a.judged[i].verdict));
  }
  return out;
}

/// How it was judged, beside the verdict: wider than its digits, against a bound or another number, with what of ours.
std::string terms_of(const Printed& p) {
  std::string out;
  if (p.within.in_base_unit() > p.value.last_digit.in_base_unit() / 2)
    out += fmt::format(" (judged within {})", cell(text_like(p.within, p.value)));
  if (!p.at_least.empty()) out += fmt::format(" (whatever they are, at least `{}`)", cell(p.at_least));
  if (!p.against.empty()) out += fmt::format(" (against: {})", cell(p.against));
  if (!p.missing.empty())
    out += fmt::format(" (missing: {})", cell(fmt::format("{}", fmt::join(p.missing, ", "))));
  return out;
}

/// For each printed number what its source claims, then what is wrong with it.
std::string reasons(const AnsweredStudy& a) {
  std::string out;
  for (std::size_t i = 0; i < a.study.printed.size(); ++i) {
    const Printed& p = a.study.printed[i];
    if (p.says.empty() && p.reason.empty()) continue;
    out += fmt::format("- **{}**:", cell(p.name));
    if (!p.says.empty()) out += fmt::format(" {}.", cell(p.says));
    if (!p.reason.empty()) out += fmt::format(" *Ours*: {}{}.", cell(a.judged[i].reason.text), terms_of(p));
    out += '\n';
  }
  return out.empty()
             ? out
             : "\nWhat the source claims with each, in our words, and what ours says to it:\n\n" + out;
}

std::string inputs_table(const AnsweredStudy& a) {
  std::string out = "| input | value | from |\n|---|---|---|\n";
  for (const StudyInput& in : a.study.inputs) {
    std::string from = in.origin == InputOrigin::Source ? "the source" : "ours: the source does not say";
    if (in.source_line > 0) from += fmt::format(", line {}", in.source_line);
    if (!in.note.empty()) from += fmt::format("; {}", in.note);
    if (!in.of_file.empty()) from = fmt::format("set here; the study has {}", in.of_file);
    out += fmt::format("| {} | {} | {} |\n", cell(in.name), cell(values_text(in)), cell(from));
  }
  return out;
}

std::string computed_table(const AnsweredStudy& a) {
  std::string out = "| name | value | engine |\n|---|---:|---|\n";
  for (const Computed& c : a.computation.values)
    out += fmt::format("| `{}` | {} | {} |\n", cell(c.name), cell(plain(c)), c.engine);
  return out;
}

std::string row_of(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const std::string& c : cells) out += fmt::format(" {} |", cell(c));
  return out + "\n";
}

std::string tables_text(const AnsweredStudy& a) {
  std::string out;
  for (const ValueTable& t : a.computation.tables) {
    out += fmt::format("## {}\n\n{}\n\n{}|---|", t.title, t.says, row_of(t.columns));
    for (std::size_t i = 1; i < t.columns.size(); ++i) out += "---:|";
    out += '\n';
    for (const auto& row : t.rows) out += row_of(row);
    out += '\n';
  }
  return out;
}

std::string checks_text(const AnsweredStudy& a) {
  if (a.computation.checks.empty()) return {};
  std::string out = "\n## Checks\n\n| engine against oracle | engine | oracle | |\n|---|---:|---:|---|\n";
  // Two that agree may lie on either side of where digits are rounded: one text serves both.
  for (const CrossCheck& c : a.computation.checks)
    out += fmt::format("| {} | {} | {} | {} within {:g} |\n", cell(c.name),
                       to_string(c.agrees() && c.limit_ratio < 1e-6 ? c.oracle : c.engine),
                       to_string(c.oracle), c.agrees() ? "agrees" : "DIFFERS, not", c.limit_ratio);
  return out;
}

/// `text` at least `wide` columns, counting characters of UTF-8.
std::string padded(const std::string& text, std::size_t wide) {
  const auto columns = static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  return columns >= wide ? text : text + std::string(wide - columns, ' ');
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// A line for each printed number that is compared with nothing, and why.
std::string not_computed(std::span<const AnsweredStudy> answers) {
  std::string out;
  for (const AnsweredStudy& a : answers)
    for (std::size_t i = 0; i < a.judged.size(); ++i) {
      const Verdict v = a.judged[i].verdict;
      if (v != Verdict::TypedIn && v != Verdict::NotComputed && v != Verdict::InputMissing &&
          v != Verdict::Contradicts)
        continue;
      out += fmt::format("- [{0}]({0}.md), {1}: {2}, {3}\n", a.study.name, cell(a.study.printed[i].name),
                         name_of(v),
                         a.judged[i].reason.text.empty() ? "by what was set" : cell(a.judged[i].reason.text));
    }
  return out;
}

std::string answer_text(const AnsweredStudy& a) {
  return a.answer.text + (a.answer.is_withdrawn ? "." : "");
}

/// `text` without its own line ends, in lines of at most 100 columns with two blanks before each.
std::string in_lines(std::string text) {
  constexpr std::size_t kWide = 100;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.find_first_not_of(' ') == std::string::npos ? std::string() : wrapped("  ", text, kWide);
}

}  // namespace

std::string to_markdown(const AnsweredStudy& a, const std::string& picture_file) {
  std::string out = fmt::format("# {}\n\nMade by `cox study {}{}`; do not edit.\n\n{}\n\nSource: {}.\n\n",
                                a.study.title, a.study.name, set_text(a), a.study.question, a.study.source);
  if (a.study.has_set_inputs())
    out += "Inputs were set: what follows or does not follow is said of these, not of the source's own.\n\n";
  if (!a.judged.empty())
    out += fmt::format(
        "Printed numbers: {} ([what the words "
        "mean](../reference/study-files.md#printed-numbers-and-verdicts)).\n\n",
        counts_text(counts_of(a)));
  if (!a.answer.text.empty()) out += answer_text(a) + "\n\n";
  if (!picture_file.empty()) out += fmt::format("![{}]({})\n\n", a.computation.picture.title, picture_file);
  if (!a.computation.section.empty()) out += a.computation.section + "\n";
  if (!a.study.printed.empty())
    out += "## Printed against computed\n\n" + printed_table(a) + reasons(a) + "\n";
  out += tables_text(a) + "## Inputs\n\n" + inputs_table(a) + "\n## Computed\n\n" + computed_table(a) +
         checks_text(a);
  if (!a.computation.notes.empty()) out += "\n## Notes\n\n";
  for (const std::string& note : a.computation.notes) out += fmt::format("- {}\n", note);
  return out;
}

std::string to_text(const AnsweredStudy& a) {
  std::string out = a.study.name;
  if (!a.judged.empty()) out += ": " + counts_text(counts_of(a));
  out += fmt::format("\n  {}\n", a.study.question);
  for (const StudyInput& in : a.study.inputs)
    if (!in.of_file.empty())
      out += fmt::format("  {} is set to {}; the study has {}\n", in.name, values_text(in), in.of_file);
  if (a.study.has_set_inputs())
    out += "  verdicts are about the inputs that were set, not the source's own\n";
  out += in_lines(answer_text(a));
  std::array<std::size_t, 3> wide{};
  for (std::size_t i = 0; i < a.study.printed.size(); ++i) {
    const Printed& p = a.study.printed[i];
    wide[0] = std::max(wide[0], p.name.size());
    wide[1] = std::max(wide[1], p.text().size());
    wide[2] = std::max(wide[2], ours(p, a.judged[i]).size());
  }
  for (std::size_t i = 0; i < a.study.printed.size(); ++i) {
    const Printed& p = a.study.printed[i];
    out += fmt::format("  {}  printed {}  ours {}  {}\n", padded(p.name, wide[0]), padded(p.text(), wide[1]),
                       padded(ours(p, a.judged[i]), wide[2]), name_of(a.judged[i].verdict));
  }
  std::vector<std::string> inputs;
  inputs.reserve(a.study.inputs.size());
  for (const StudyInput& in : a.study.inputs) inputs.push_back(change_text(in));
  if (!inputs.empty()) out += in_lines(fmt::format("--set changes these: {}", fmt::join(inputs, "; ")));
  return out;
}

std::string to_text(const CrossCheck& check) {
  return fmt::format(
      "{}: the engine says {}, its oracle {}; the relative difference is {}, at most {:g} is expected",
      check.name, to_string(check.engine), to_string(check.oracle), plain_number(check.apart(), 2),
      check.limit_ratio);
}

std::string to_csv(const AnsweredStudy& a) {
  std::string out = "name,value,unit,half_width_95,replicas,engine\n";
  for (const Computed& c : a.computation.values)
    out += fmt::format("{},{:.9g},{},{},{},{}\n", csv_cell(c.name), c.value.in_base_unit(),
                       suffix_of(c.value.dimension()).substr(1),
                       c.half_width_95 ? fmt::format("{:.9g}", c.half_width_95->in_base_unit()) : "",
                       c.replicas, c.engine);
  return out;
}

std::string index_markdown(std::span<const AnsweredStudy> answers) {
  std::string out =
      "# Studies\n\nMade by `cox study all -o docs/studies --force`; a test compares. Each study asks a "
      "question, computes the answer with\nthe engines and judges what a source printed for it. How such "
      "a file is written: [study files](../reference/study-files.md).\n\nThe source of most is a text that the project was given, \"Large-Scale "
      "Systems, Parallelism and Communication Models\", of others the\npaper \"When Scaling Fails\"; lines are those of "
      "the given files. No copy is part of the project ([sources](../reference/sources.md)).\n\n`cox study pacing` is of another "
      "kind: real processes, measured; where it was run its page is [pacing.md](pacing.md).\n\n| study | "
      "question | follow | do not | with ours | not with ours | fitted | not computed |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|\n";
  Counts all;
  const auto row = [&](const std::string& name, const std::string& question, const Counts& c) {
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {}{} | {} |\n", name, question, c.follow, c.do_not,
                       c.with_ours, c.not_with_ours, c.fitted,
                       c.fit_misses > 0 ? fmt::format(" ({} miss)", c.fit_misses) : "", c.not_computed);
  };
  for (const AnsweredStudy& a : answers) {
    const Counts c = counts_of(a);
    row(fmt::format("[{0}]({0}.md)", a.study.name), cell(a.study.question), c);
    all.follow += c.follow;
    all.do_not += c.do_not;
    all.with_ours += c.with_ours;
    all.not_with_ours += c.not_with_ours;
    all.fitted += c.fitted;
    all.fit_misses += c.fit_misses;
    all.not_computed += c.not_computed;
  }
  row("all", "", all);
  const std::string reasons = not_computed(answers);
  return out +
         "\n`follow`, `do not`: computed from inputs that the source states. `with ours`: some input is not "
         "in the source, ours is taken.\n`fitted`: the computation was fitted to the number, so that it "
         "comes out is no prediction.\n" +
         (reasons.empty() ? "" : "\nNot computed:\n\n" + reasons);
}

}  // namespace cox::study
