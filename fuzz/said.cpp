// SPDX-License-Identifier: Apache-2.0
#include "fuzz/said.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>

#include "cox/base/assert.hpp"
#include "cox/diagnose/brief.hpp"
#include "cox/report/terminal.hpp"

namespace cox::fuzz {
namespace {

using report::Charset;

constexpr std::size_t kMostRead = 2000;  // of a sentence: names may be long

double number(std::string text) {
  std::erase(text, ' ');
  return std::strtod(text.c_str(), nullptr);
}

/// Words that make of a percentage a change or a comparison, which may be beyond 100 %.
bool speaks_of_change(std::string_view before, std::string_view after) {
  for (const std::string_view word : {" longer", " less", " slower", " faster", " shorter",
                                      " of the others' frequency", " as many", " throughput", " to "})
    if (after.starts_with(word)) return true;
  for (const std::string_view word : {"by ", "ran at ", "(95 %: ", "kernels, ", " to ", "within ", "off by "})
    if (before.ends_with(word)) return true;
  return before.ends_with("+") || before.ends_with("-");
}

std::string wrong_part(const std::string& s) {
  static const std::regex a_part(R"((\d+(?:\.\d+)?) %)");
  for (std::sregex_iterator at(s.begin(), s.end(), a_part), end; at != end; ++at) {
    const auto from = static_cast<std::size_t>(at->position());
    const std::string_view before = std::string_view(s).substr(0, from);
    const std::string_view after = std::string_view(s).substr(from + static_cast<std::size_t>(at->length()));
    if (number((*at)[1].str()) > 100 && !speaks_of_change(before, after))
      return "a part beyond 100 %: " + at->str();
  }
  return {};
}

std::string wrong_count(const std::string& s) {
  static const std::regex of_count(
      R"((?:^|[^\d.,#-])(\d{1,3}(?: \d{3})*|\d+) of (\d{1,3}(?: \d{3})*|\d+) ([a-z]+))");
  for (std::sregex_iterator at(s.begin(), s.end(), of_count), end; at != end; ++at)
    if (number((*at)[1].str()) > number((*at)[2].str())) return "more than there are: " + at->str();
  return {};
}

std::string wrong_interval(const std::string& s) {
  static const std::regex an_interval(
      R"((-?\d+(?:\.\d+)?)( [a-z%]+)?(?: shorter| longer)? \((?:95 %[a-z ]*: )?([-+]?\d+(?:\.\d+)?)( [a-z%]+)? to ([-+]?\d+(?:\.\d+)?)( [a-z%]+)?\))");
  for (std::sregex_iterator at(s.begin(), s.end(), an_interval), end; at != end; ++at) {
    const std::smatch& m = *at;
    if (m[2].str() != m[6].str() || (m[4].matched && m[4].str() != m[6].str())) continue;  // units differ
    const double value = number(m[1].str());
    // Each is rounded by itself.
    const double room = 0.005 * std::max(1.0, std::abs(value));
    if (number(m[3].str()) > value + room || number(m[5].str()) < value - room)
      return "an interval without its value: " + m.str();
  }
  return {};
}

std::string wrong_word(const std::string& s) {
  static const std::regex no_number(R"((?:^|[ (])[-+]?(?:nan|inf)(?:[ ,.;)]|$))");
  static const std::regex one_of_many(
      R"((?:^|[^\d.,] |^[^\d]?)1 (?:operations|ranks|steps|calls|groups|members|hosts|findings|things|records)(?![a-z]))");
  std::smatch m;
  if (std::regex_search(s, m, no_number)) return "no number: " + m.str();
  if (std::regex_search(s, m, one_of_many)) return "one is not several: " + m.str();
  return {};
}

/// Everything that is said, sentence by sentence.
std::vector<std::string> sentences_of(const diagnose::Diagnosis& d) {
  std::vector<std::string> all{d.verdict, d.lead, d.trouble.headline};
  const auto add = [&](const std::vector<std::string>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  const diagnose::Brief brief = diagnose::brief_of(d);
  add(brief.says);
  add({brief.cause, brief.gain, brief.coverage, brief.cannot_tell});
  add(brief.to_do);
  add(d.cannot_tell);
  for (const diagnose::ReasonClause& r : d.answer.reasons) all.push_back(r.text);
  for (const diagnose::Finding& f : d.findings)
    for (const diagnose::Evidence& e : diagnose::evidence_of(f)) all.push_back(e.text);
  for (const diagnose::Remedy& r : d.remedies) add({r.text, r.basis, r.verify});
  for (const diagnose::Stall& s : d.trouble.stalls) all.push_back(s.text);
  for (const diagnose::Mismatch& m : d.trouble.mismatches) all.push_back(m.text);
  for (const diagnose::Section& s : d.sections) add(s.lines);
  return all;
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// Words of its own width aside.
bool fits(std::string_view line, std::size_t columns) {
  if (columns_of(line) <= columns) return true;
  const std::size_t word = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t end = line.find(' ', word);
  if (end == std::string_view::npos) return true;
  // a label and a path that is wider than what is left
  return line.find(' ', end + 1) == std::string_view::npos || line.starts_with("more:") ||
         line.starts_with("one:") || line.starts_with("all:");
}

std::string wrong_lines(const std::string& text, std::size_t columns, Charset charset, std::size_t most) {
  std::istringstream in(text);
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    if (!fits(line, columns)) return "a line wider than the terminal: " + line;
    for (const char c : line) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte == 0x7F) return "a control character: " + line;
      if (charset == Charset::Ascii && byte >= 0x80) return "a letter beyond ASCII: " + line;
    }
  }
  return lines > most ? "more lines than a screen: " + std::to_string(lines) : std::string();
}

std::string wrong_screen(const trace::Run& run, const diagnose::Diagnosis& d) {
  for (const std::size_t columns : {40U, 57U, 80U})
    for (const Charset charset : {Charset::Ascii, Charset::Utf8}) {
      const report::TextStyle style{.charset = charset, .columns = columns};
      const std::string screen = report::render_screen(run, d, style, "cox diagnose run --all");
      if (auto wrong = wrong_lines(screen, columns, charset, report::kScreenLines); !wrong.empty())
        return wrong;
      const std::string all = report::render_text(run, d, style);
      if (auto wrong = wrong_lines(all, columns, charset, SIZE_MAX); !wrong.empty()) return wrong;
    }
  static const std::regex a_part(R"(\d+(?:\.\d+)? %)");
  const diagnose::Brief brief = diagnose::brief_of(d);
  std::string said = brief.cause + ' ' + brief.gain + ' ' + brief.coverage;
  for (const std::string& each : brief.says) said += ' ' + each;
  for (const std::string& each : brief.to_do) said += ' ' + each;
  std::set<std::string> parts;
  for (std::sregex_iterator at(said.begin(), said.end(), a_part), end; at != end; ++at)
    parts.insert(at->str());
  return parts.size() > 3 ? "more than three percentages: " + said : std::string();
}

std::string wrong_figures(const diagnose::Diagnosis& d) {
  const auto is_part = [](double x) { return x >= 0 && x <= 1; };
  for (const diagnose::Finding& f : d.findings)
    if (!is_part(f.gain_ratio) || !is_part(f.share_ratio)) return "a finding's gain or share is no part";
  for (const diagnose::Remedy& r : d.remedies)
    if (r.gain_ratio && !(*r.gain_ratio <= 1)) return "a remedy saves more than all";
  if (!is_part(d.coverage.ratio)) return "coverage is no part";
  if (d.answer.least_effect_ratio && !is_part(*d.answer.least_effect_ratio))
    return "the least effect is no part";
  const bool complete =
      d.coverage.ratio >= 1 && d.coverage.collectives_matched >= d.coverage.collectives_seen;
  for (const std::string& s : d.cannot_tell)
    if (complete && s.find("call is missing") != std::string::npos) return "full coverage, and: " + s;
  if (d.answer.kind == diagnose::AnswerKind::Nobody &&
      (d.trouble.ending || d.trouble.any() || d.coverage.ranks_seen < d.coverage.ranks_expected))
    return "nobody, over a job that failed or a rank that is missing";
  if ((d.answer.kind == diagnose::AnswerKind::Named) != (!d.findings.empty()) &&
      d.answer.kind != diagnose::AnswerKind::JobFailed)
    return "the outcome is not what was found";
  return {};
}

/// Names from files may read like numbers that cannot be; sentences that quote them are not to blame.
bool has_odd_names(const trace::Run& run, const model::Program* program) {
  const auto odd = [](const std::string& name) {
    for (const char* part : {"%", " of ", "nan", "inf", "("})
      if (name.find(part) != std::string::npos) return true;
    return false;
  };
  return std::any_of(run.communicators.begin(), run.communicators.end(),
                     [&](const auto& c) { return odd(c.name); }) ||
         std::any_of(run.nodes.begin(), run.nodes.end(), [&](const auto& n) { return odd(n.host); }) ||
         std::any_of(run.names.begin(), run.names.end(), odd) ||
         (program != nullptr && (std::any_of(program->names.begin(), program->names.end(), odd) ||
                                 std::any_of(program->groups.begin(), program->groups.end(),
                                             [&](const auto& g) { return odd(g.name); })));
}

}  // namespace

std::string absurdity(const std::string& sentence) {
  const std::string s = sentence.substr(0, kMostRead);
  for (const auto& law : {wrong_part, wrong_count, wrong_interval, wrong_word})
    if (std::string wrong = law(s); !wrong.empty()) return wrong;
  return {};
}

std::vector<std::string> absurdities(const trace::Run& run, const diagnose::Diagnosis& d,
                                     const model::Program* program) {
  std::vector<std::string> found;
  if (!has_odd_names(run, program))
    for (const std::string& s : sentences_of(d))
      if (std::string wrong = absurdity(s); !wrong.empty()) found.push_back(wrong + " in: " + s);
  for (std::string wrong : {wrong_figures(d), wrong_screen(run, d)})
    if (!wrong.empty()) found.push_back(std::move(wrong));
  return found;
}

void check_said(const trace::Run& run, const model::Program* program) {
  const auto d = diagnose::diagnose(run, {.threads = 1, .program = program});
  if (!d) return;
  const std::vector<std::string> wrong = absurdities(run, *d, program);
  for (const std::string& line : wrong) std::fprintf(stderr, "%s\n", line.c_str());
  COX_ASSERT(wrong.empty(), "no sentence is absurd");
}

}  // namespace cox::fuzz
