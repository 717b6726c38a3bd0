// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"
#include "cox/base/unknown_unit.hpp"
#include "cox/report/terminal.hpp"
#include "cox/trace/time_unit.hpp"

#include "report/markup.hpp"
#include "report/words.hpp"

namespace cox::report {
namespace {

using diagnose::Diagnosis;

constexpr std::size_t kItems = 6;  // one page

/// Text from files must not become markup.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : terminal_text(std::string(text))) {
    if (std::string_view("\\`*_[]<>|#").find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

template <class T, class F>
std::string items(const std::vector<T>& list, const F& words) {
  std::string out;
  for (std::size_t i = 0; i < std::min(list.size(), kItems); ++i) out += "- " + plain(words(list[i])) + '\n';
  if (list.size() > kItems) out += fmt::format("- and {} more\n", list.size() - kItems);
  return out;
}

std::string chapter(std::string title, const std::string& body) {
  if (!title.empty() && title[0] >= 'a' && title[0] <= 'z')
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return body.empty() ? std::string() : fmt::format("\n## {}\n\n{}", title, body);
}

std::string finding_words(const diagnose::Finding& f) {
  std::string text = fmt::format("{}: {}; cause {}; {}", kind_words(f.kind), subject(f), cause_words(f.cause),
                                 price_words(f));
  const std::vector<diagnose::Evidence> evidence = diagnose::evidence_of(f);
  for (std::size_t i = 0; i < std::min<std::size_t>(evidence.size(), 3); ++i) text += "; " + evidence[i].text;
  return text;
}

std::string remedy_words(const diagnose::Remedy& r) {
  return fmt::format("{}: {} ({})", r.gain_ratio ? percent(*r.gain_ratio) : "not estimated", r.text, r.basis);
}

}  // namespace

std::string render_list(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    out += std::string(indent, ' ') + "- " + plain(std::string_view(line).substr(indent)) + '\n';
  }
  return out;
}

std::string render_markdown(const trace::Run& run, const Diagnosis& d, const diagnose::Comparison* against) {
  const UnknownUnit unit(trace::unknown_unit(run.ranks));
  std::string out = fmt::format("# {}\n\n", plain(headline(d)));
  out += fmt::format("{}: {}.\n\n{}\n\n", plain(run.info.name), provenance_word(run.info.provenance),
                     plain(lead(d)));
  out += "- " + plain(coverage_line(d.coverage)) + "\n- " + plain(clock_line(d)) + '\n';
  if (d.step_time.count > 0)
    out += fmt::format("- step time {} median, {} to {} (5th to 95th percentile), n = {}\n",
                       to_string(d.step_time.median), to_string(d.step_time.p05), to_string(d.step_time.p95),
                       grouped(d.step_time.count));
  if (against != nullptr)
    out += chapter("Before and after", items(against->lines, [](const std::string& l) { return l; }));
  out += chapter("Findings", items(d.findings, finding_words));
  out += chapter("What hangs", items(d.trouble.stalls, [](const diagnose::Stall& s) { return s.text; }));
  out += chapter("Members disagree",
                 items(d.trouble.mismatches, [](const diagnose::Mismatch& m) { return m.text; }));
  out += chapter("What to do", items(d.remedies, remedy_words));
  for (const diagnose::Section& s : d.sections)
    out += chapter(s.title, items(s.lines, [](const std::string& l) { return l; }));
  out += chapter("What this input cannot tell", items(d.cannot_tell, [](const std::string& l) { return l; }));
  return out;
}

}  // namespace cox::report
