// SPDX-License-Identifier: Apache-2.0
#include "cox/study/write.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

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

std::string with_interval(const Computed& c, const std::string& value, const std::string& half) {
  return c.half_width_95 ? fmt::format("{} ± {}", value, half) : value;
}

/// Ours in the unit of what was printed; a dash where nothing can be computed.
std::string ours(const Printed& p, const Judged& j) {
  if (!j.computed) return "-";
  const Computed& c = *j.computed;
  return with_interval(c, text_like(c.value, p.value),
                       c.half_width_95 ? text_like(*c.half_width_95, p.value) : "");
}

std::string plain(const Computed& c) {
  return with_interval(c, to_string(c.value), c.half_width_95 ? to_string(*c.half_width_95) : "");
}

std::string values_text(const Input& in) {
  std::string out;
  for (const WrittenQuantity& w : in.values) out += (out.empty() ? "" : ", ") + w.text;
  return out;
}

std::string printed_table(const Answer& a) {
  std::string out = "| line | what | printed | computed | verdict |\n|---:|---|---:|---:|---|\n";
  for (std::size_t i = 0; i < a.study.printed.size(); ++i) {
    const Printed& p = a.study.printed[i];
    out += fmt::format("| {} | {} | {} | {} | {} |\n", p.source_line, cell(p.name), cell(p.text()),
                       cell(ours(p, a.judged[i])), name_of(a.judged[i].verdict));
  }
  return out;
}

std::string reasons(const Answer& a) {
  std::string out;
  for (std::size_t i = 0; i < a.study.printed.size(); ++i) {
    const Printed& p = a.study.printed[i];
    if (p.reason.empty()) continue;
    out += fmt::format("- {}: {}", cell(p.name), cell(p.reason));
    if (!p.against.empty()) out += fmt::format(" (against: {})", cell(p.against));
    if (!p.missing.empty())
      out += fmt::format(" (missing: {})", cell(fmt::format("{}", fmt::join(p.missing, ", "))));
    if (a.judged[i].verdict == Verdict::NeedsARun)
      out += a.judged[i].inside_interval ? " (inside our interval)" : " (outside our interval)";
    out += '\n';
  }
  return out.empty() ? out : "\n" + out;
}

std::string inputs_table(const Answer& a) {
  std::string out = "| input | value | from |\n|---|---|---|\n";
  for (const Input& in : a.study.inputs) {
    std::string from = in.origin == InputOrigin::Source ? "the source" : "ours: the source does not say";
    if (in.source_line > 0) from += fmt::format(", line {}", in.source_line);
    if (!in.note.empty()) from += fmt::format("; {}", in.note);
    out += fmt::format("| {} | {} | {} |\n", cell(in.name), cell(values_text(in)), cell(from));
  }
  return out;
}

std::string computed_table(const Answer& a) {
  std::string out = "| name | value | engine |\n|---|---:|---|\n";
  for (const Computed& c : a.computation.values)
    out += fmt::format("| `{}` | {} | {} |\n", cell(c.name), cell(plain(c)), c.engine);
  return out;
}

std::string checks_text(const Answer& a) {
  if (a.computation.checks.empty()) return {};
  std::string out = "\n## Checks\n\n| engine against oracle | engine | oracle | |\n|---|---:|---:|---|\n";
  for (const CrossCheck& c : a.computation.checks)
    out += fmt::format("| {} | {} | {} | {} within {:g} |\n", cell(c.name), to_string(c.engine),
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

}  // namespace

std::string to_markdown(const Answer& a, const std::string& picture_file) {
  std::string out =
      fmt::format("# {}\n\nMade by `cox study {}`; do not edit.\n\n{}\n\nSource: {}. Verdict: **{}**.\n\n",
                  a.study.title, a.study.name, a.study.question, a.study.source, name_of(a.verdict));
  if (!a.study.answer.empty()) out += a.study.answer + "\n\n";
  if (!picture_file.empty()) out += fmt::format("![{}]({})\n\n", a.computation.picture.title, picture_file);
  if (!a.computation.section.empty()) out += a.computation.section + "\n";
  if (!a.study.printed.empty())
    out += "## Printed against computed\n\n" + printed_table(a) + reasons(a) + "\n";
  out += "## Inputs\n\n" + inputs_table(a) + "\n## Computed\n\n" + computed_table(a) + checks_text(a);
  if (!a.computation.notes.empty()) out += "\n## Notes\n\n";
  for (const std::string& note : a.computation.notes) out += fmt::format("- {}\n", note);
  return out;
}

std::string to_text(const Answer& a) {
  std::string out = fmt::format("{}: {}\n  {}\n", a.study.name, name_of(a.verdict), a.study.question);
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
  return out;
}

std::string to_csv(const Answer& a) {
  std::string out = "name,value,unit,half_width_95,replicas,engine\n";
  for (const Computed& c : a.computation.values)
    out += fmt::format("{},{:.9g},{},{},{},{}\n", csv_cell(c.name), c.value.in_base_unit(),
                       suffix_of(c.value.dimension()).substr(1),
                       c.half_width_95 ? fmt::format("{:.9g}", c.half_width_95->in_base_unit()) : "",
                       c.replicas, c.engine);
  return out;
}

std::string index_markdown(std::span<const Answer> answers) {
  std::string out =
      "# Studies\n\nMade by `cox study all -o docs/studies --force`; a test compares. Each study asks a "
      "question, computes the answer with\nthe engines and judges what a source printed for it. How such "
      "a file is written: [study files](../reference/study-files.md).\n\n`cox study pacing` is of another "
      "kind: real processes, measured; where it was run its page is [pacing.md](pacing.md).\n\n| study | "
      "question | verdict | numbers that follow |\n"
      "|---|---|---|---:|\n";
  for (const Answer& a : answers) {
    const auto follow = std::count_if(a.judged.begin(), a.judged.end(),
                                      [](const Judged& j) { return j.verdict == Verdict::Follows; });
    out += fmt::format("| [{0}]({0}.md) | {1} | {2} | {3} of {4} |\n", a.study.name, cell(a.study.question),
                       name_of(a.verdict), follow, a.judged.size());
  }
  return out;
}

}  // namespace cox::study
