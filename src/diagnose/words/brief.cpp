// SPDX-License-Identifier: Apache-2.0
#include "cox/diagnose/brief.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cox/base/number_text.hpp"
#include "cox/diagnose/comparison.hpp"

#include "diagnose/words/each_alone.hpp"
#include "diagnose/words/sentences.hpp"
#include "diagnose/words/stall.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kMostPercentages = 3;
constexpr std::size_t kMostToDo = 3;

/// Percentages that were said; a further one is said only where there is room for it.
class Percentages {
 public:
  /// Whether all that a text holds may be said; then they count.
  bool take(const std::string& text) {
    std::set<std::string> with = said_;
    for (std::size_t at = text.find(" %"); at != std::string::npos; at = text.find(" %", at + 1)) {
      std::size_t from = at;
      while (from > 0 && ((text[from - 1] >= '0' && text[from - 1] <= '9') || text[from - 1] == '.')) --from;
      with.insert(text.substr(from, at - from));
    }
    if (with.size() > std::max(kMostPercentages, said_.size())) return false;
    said_ = std::move(with);
    return true;
  }

 private:
  std::set<std::string> said_;
};

std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] & ~0x20);
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

/// `100 % of the calls (160 of 160), 4 of 4 ranks`
std::string say_coverage(const Diagnosis& d, Percentages& percentages) {
  const Coverage& c = d.coverage;
  if (d.series != SeriesState::None) return counted(d.steps, "step") + " of one series";
  std::string text = "no collective calls";
  if (c.calls_expected > 0)
    text = fmt::format("{} of the calls ({} of {})", percent(c.ratio),
                       grouped(std::min(c.calls_seen, c.calls_expected)), grouped(c.calls_expected));
  (void)percentages.take(text);
  text += ", " + grouped(c.ranks_seen) + " of " + counted(c.ranks_expected, "rank");
  if (!c.missing_ranks.empty()) text += "; missing: " + rank_words(c.missing_ranks);
  if (c.stopped_ranks > 0) text += "; until recording ended early on " + counted(c.stopped_ranks, "rank");
  return text;
}

/// Without what stands in brackets and holds a percentage.
std::string without_percentages(std::string text) {
  for (std::size_t from = 0; (from = text.find(" (", from)) != std::string::npos;) {
    const std::size_t end = text.find(')', from);
    if (end == std::string::npos) break;
    if (text.substr(from, end - from).find(" %") != std::string::npos)
      text.erase(from, end + 1 - from);
    else
      from = end;
  }
  return text;
}

/// What else the input tells: the analyses that need nobody to be named, each with a line or all that matters.
void say_what_is_told(const Diagnosis& d, Percentages& percentages, Brief& brief) {
  for (const SectionKind kind :
       {SectionKind::TimeStructure, SectionKind::GraphPath, SectionKind::WhatIfOperations})
    for (const Section& s : d.sections) {
      if (s.kind != kind || s.lines.empty()) continue;
      const std::vector<std::string> first{s.lines.front()};
      for (std::string line : s.brief.empty() ? first : s.brief) {
        if (!percentages.take(line)) line = without_percentages(line);
        if (percentages.take(line)) brief.says.push_back(sentence(line));
      }
    }
}

void say_nobody(const Diagnosis& d, Percentages& percentages, Brief& brief) {
  const Answer& a = d.answer;
  if (a.kind == AnswerKind::CannotTell) {
    for (const ReasonClause& r : a.reasons)
      if (!(d.series != SeriesState::None && r.reason == AnswerReason::OneRank) && percentages.take(r.text))
        brief.says.push_back(sentence(r.text));
    if (const std::string once = single_stall_words(d); !once.empty() && percentages.take(once))
      brief.says.push_back(once);
    say_what_is_told(d, percentages, brief);
    return;
  }
  std::string text = fmt::format("No rank stands out from the scatter of {}", counted(d.steps, "step"));
  if (const auto least = a.least_effect_ratio; least && percentages.take(percent(*least)))
    text += fmt::format("; one with about {} of a step more to do, all along, would have been named",
                        percent(*least));
  brief.says.push_back(text + ".");
  if (const std::string once = single_stall_words(d); !once.empty() && percentages.take(once))
    brief.says.push_back(once);
  if (const std::string uneven = uneven_work(d); !uneven.empty() && percentages.take(uneven))
    brief.says.push_back(uneven);
  say_what_is_told(d, percentages, brief);
  if (const auto lost = lost_ratio(d); lost && percentages.take(percent(*lost)))
    brief.says.push_back(fmt::format("Uneven arrival takes {} of the run.", percent(*lost)));
}

void say_findings(const Diagnosis& d, Percentages& percentages, Brief& brief) {
  const Finding& f = d.findings.front();
  brief.says.push_back(d.answer.kind == AnswerKind::JobFailed
                           ? sentence("up to there " + sentence_of(f))  // the headline is about the job
                           : sentence(sentence_below_headline(f)));
  if (d.findings.size() > 1) {
    std::string also;
    constexpr std::size_t kTold = 3;
    constexpr double kNothing = 0.005;
    for (std::size_t i = 1; i < std::min(d.findings.size(), kTold + 1); ++i) {
      const Finding& other = d.findings[i];
      also += (also.empty() ? "" : "; ") +
              (other.components.empty() ? subject_of(other.ranks) : component_words(other));
      if (is_gain_told(other) && !other.gain_doubt && gain_alone(other) < kNothing)
        also += gain_beside(other) ? ", worth it only beside the rest" : ", which alone saves nothing";
      if (other.first_step && other.last_step)
        also += fmt::format(", steps {} to {}", other.first_step->value(), other.last_step->value());
    }
    if (d.findings.size() > kTold + 1) also += fmt::format("; and {} more", d.findings.size() - kTold - 1);
    brief.says.push_back(sentence("also named: " + also));
  }
  brief.cause = cause_sentence(f);
  if (f.gain_doubt)
    brief.gain = percentages.take(gain_words(f)) ? gain_words(f) : "doubtful";
  else if (is_gain_told(f) && gain_alone(f) > 0 && percentages.take(gain_words(f)))
    brief.gain =
        fmt::format("{} the run would be {} shorter (estimated)", if_put_right(f, "it"), gain_words(f));
  if (const std::string alone = each_alone_words(f);
      !alone.empty() && !brief.gain.empty() && percentages.take(alone))
    brief.gain += "; " + alone;
  if (const std::string all = gain_of_all_words(d); !all.empty() && percentages.take(all))
    brief.gain += (brief.gain.empty() ? "" : "; ") + all;
}

void say_trouble(const Diagnosis& d, Brief& brief) {
  if (const std::string text = trouble_words(d.trouble); !text.empty()) brief.says.push_back(text);
}

void say_change(const Comparison& c, Percentages& percentages, Brief& brief) {
  if (!c.not_alike.empty()) brief.says.push_back(c.not_alike);
  std::string text = fmt::format("Against the run before: {}", name_of(c.change));
  const std::string by = change_by(c.step_ratio);
  const std::string by_mean = change_by(c.mean_ratio);
  if (c.change == Change::Unclear && c.mean_change != Change::Unclear && percentages.take(by_mean))
    text = fmt::format("Against the run before, the mean step is {}{}; the median one is as before",
                       name_of(c.mean_change), by_mean);
  else if (c.change == Change::Unclear)
    text = "Against the run before: no difference that these runs show";
  else if (percentages.take(by))
    text = fmt::format("Against the run before, the median step is {}{}", name_of(c.change), by);
  brief.says.push_back(text + ".");
}

void say_to_do(const Diagnosis& d, Percentages& percentages, Brief& brief) {
  constexpr double kWorthSaying = 0.01;
  for (const Remedy& r : d.remedies) {
    if (brief.to_do.size() == kMostToDo) return;
    if (r.gain_ratio && *r.gain_ratio < kWorthSaying) continue;
    std::string text = r.text;
    if (!percentages.take(text) && !r.brief.empty()) text = r.brief;
    if (r.gain_ratio && percentages.take(percent(*r.gain_ratio)))
      text += fmt::format(" (up to {} of the run)", percent(*r.gain_ratio));
    brief.to_do.push_back(text);
  }
}

}  // namespace

Brief brief_of(const Diagnosis& d, const Comparison* against) {
  Brief brief;
  Percentages percentages;
  brief.coverage = say_coverage(d, percentages);
  say_trouble(d, brief);
  if (against != nullptr) say_change(*against, percentages, brief);
  if (!d.findings.empty())
    say_findings(d, percentages, brief);
  else if (d.answer.kind != AnswerKind::JobFailed)
    say_nobody(d, percentages, brief);
  else if (d.series != SeriesState::None)
    say_what_is_told(d, percentages, brief);  // up to its end
  // First of all a job has to run: of one that stands still it is said where to look.
  const bool stands_still =
      std::ranges::any_of(d.trouble.stalls, [](const Stall& stall) { return stall.hung; });
  if (d.answer.kind != AnswerKind::JobFailed || stands_still) say_to_do(d, percentages, brief);
  if (!d.cannot_tell.empty())
    brief.cannot_tell = d.cannot_tell.size() == 1 ? d.cannot_tell.front()
                                                  : fmt::format("{} things; first: {}", d.cannot_tell.size(),
                                                                d.cannot_tell.front());
  return brief;
}

}  // namespace cox::diagnose
