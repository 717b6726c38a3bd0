// SPDX-License-Identifier: Apache-2.0
// The numbers behind a finding, said one by one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "cox/base/number_text.hpp"
#include "cox/base/spelling.hpp"
#include "cox/base/units_text.hpp"

#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

/// Facts in the order in which they are added.
class Facts {
 public:
  void add(std::string key, double value, std::string text) {
    all_.push_back({std::move(text), std::move(key), value});
  }
  /// Nothing where there is nothing of it.
  void add_share(std::string key, double share, const char* of, const char* what) {
    if (share > 0)
      add(std::move(key), share, fmt::format("{} of {} {}", percent(std::min(share, 1.0)), of, what));
  }
  [[nodiscard]] std::vector<Evidence> take() && { return std::move(all_); }

 private:
  std::vector<Evidence> all_;
};

void say_phase(const PhaseExcess& phase, Facts& facts) {
  const std::string name = name_of(phase.cause);
  facts.add("excess_in_" + name + "_ratio", phase.share,
            fmt::format("{} of the extra work is in {}: {} per step more than the median of the others",
                        percent(phase.share), name, to_string(phase.per_step)));
}

void say_why(const Why& why, Facts& facts) {
  constexpr const char* kOf = "the extra work it";
  facts.add_share("excess_throttled_ratio", why.throttled, kOf, "was denied a CPU by a quota");
  facts.add_share("excess_ready_ratio", why.ready, kOf, "was ready to run and had no CPU");
  facts.add_share("excess_asleep_ratio", why.asleep, kOf, "was neither running nor ready");
  facts.add_share("excess_computing_ratio", why.computing, kOf, "was on a CPU");
  if (why.clock)
    facts.add("frequency_ratio", *why.clock,
              fmt::format("its CPU ran at {} of the others' frequency", percent(*why.clock)));
}

void say_device(const DeviceWhy& why, Facts& facts) {
  if (!why.has_device) return;  // what the host did is in the tests of the causes
  constexpr const char* kOf = "its extra time the device";
  facts.add_share("excess_kernels_ratio", why.kernels, kOf, "ran kernels");
  facts.add_share("excess_copies_ratio", why.copies, kOf, "copied");
  facts.add_share("excess_idle_ratio", why.idle, kOf, "had nothing to do");
  facts.add(
      "kernel_count_ratio", why.kernel_count_ratio,
      fmt::format("it ran {} as many kernels as the median of the others", percent(why.kernel_count_ratio)));
}

void say_over_steps(const LateEvidence& e, Facts& facts) {
  const char* over = e.pauses ? "the pauses" : e.of_turns ? "the steps with a culprit" : "steps";
  facts.add(
      "self_delay_median_s", in_seconds(e.self_delay),
      fmt::format("own work between synchronisations takes {} longer than the median rank's (median over {})",
                  to_string(e.self_delay), over));
  facts.add("self_delay_step_ratio", e.self_delay_ratio,
            e.self_delay_ratio > 1 ? fmt::format("that is {:.1f} usual steps", e.self_delay_ratio)
                                   : fmt::format("that is {} of a step", percent(e.self_delay_ratio)));
  facts.add("late_steps_ratio", e.late_ratio(),
            fmt::format("late in {} of {}", e.late_steps, counted(e.steps, "step")));
  facts.add("others_spread_s", in_seconds(e.others_spread),
            fmt::format("{} scatter by {}",
                        e.of_turns || e.pauses ? "single delays" : "the other ranks' usual delays",
                        to_string(e.others_spread)));
  facts.add("others_wait_median_s", in_seconds(e.others_wait),
            fmt::format("the other ranks wait {} per step", to_string(e.others_wait)));
  facts.add("chance_ratio", e.chance, fmt::format("probability by chance at most {:.1g}", e.chance));
}

void say(const LateEvidence& e, const std::vector<Rank>& ranks, Facts& facts) {
  constexpr std::size_t kEachSaid = 4;
  if (e.over) {
    for (Evidence& fact : evidence_over_operations(e, *e.over))
      facts.add(std::move(fact.key), fact.value, std::move(fact.text));
  } else {
    say_over_steps(e, facts);
  }
  if (e.gain_alone)
    facts.add("gain_alone_ratio", *e.gain_alone,
              fmt::format("fixing only this one saves {} of the run", percent(*e.gain_alone)));
  if (e.turn_steps)
    facts.add("turn_steps", static_cast<double>(*e.turn_steps),
              fmt::format("one rank's turn lasts {} step(s)", *e.turn_steps));
  if (e.pauses) {
    facts.add("pauses", static_cast<double>(e.pauses->count),
              fmt::format("it pauses {} times, {} steps apart{}", e.pauses->count, e.pauses->period_steps,
                          e.pauses->phase ? "" : " in the median"));
    if (e.pauses->phase)
      facts.add("pause_phase", static_cast<double>(*e.pauses->phase),
                fmt::format("in steps whose number divided by {} leaves {}", e.pauses->period_steps,
                            *e.pauses->phase));
  }
  if (!e.each_alone.empty())
    facts.add("gain_any_alone_ratio", *std::max_element(e.each_alone.begin(), e.each_alone.end()),
              fmt::format("they hide each other: fixing one of them alone saves at most {} of the run",
                          percent(*std::max_element(e.each_alone.begin(), e.each_alone.end()))));
  for (std::size_t i = 0; i < e.each_alone.size() && i < ranks.size() && ranks.size() <= kEachSaid; ++i)
    facts.add(
        fmt::format("gain_rank_{}_alone_ratio", ranks[i].value()), e.each_alone[i],
        fmt::format("fixing rank {} alone saves {} of the run", ranks[i].value(), percent(e.each_alone[i])));
  if (e.reasons.phase) say_phase(*e.reasons.phase, facts);
  if (e.reasons.why) say_why(*e.reasons.why, facts);
  if (e.reasons.device) say_device(*e.reasons.device, facts);
}

void say(const OperationEvidence& e, Facts& facts) {
  facts.add("slowdown_ratio", e.finding.slowdown, sentence_of(e.finding));
  facts.add("fidelity_ratio", e.fidelity,
            fmt::format("simulation of the recorded operations is off by {}", percent(std::abs(e.fidelity))));
  if (e.gain_beside)
    facts.add("gain_beside_ratio", *e.gain_beside,
              fmt::format("fixing it saves {} of the run once the rest of what is named is put right",
                          percent(*e.gain_beside)));
}

void say(const FabricEvidence& e, Facts& facts) {
  facts.add("slow_ratio", e.slow_ratio, sentence_of(e));
  facts.add("member_test", 0, fmt::format("slow members instead: {}", name_of(e.member_test)));
}

void say_phases(const MessageEvidence& e, Facts& facts) {
  facts.add("step_work_median_s", in_seconds(e.work),
            fmt::format("its ways forth and back take {} of a step (median over {})", to_string(e.work),
                        counted(e.turns, "step")));
  facts.add("others_step_work_median_s", in_seconds(e.others),
            fmt::format("those of the others {}", to_string(e.others)));
  facts.add("longer_steps_ratio", static_cast<double>(e.longer) / static_cast<double>(e.turns),
            fmt::format("in {} of its steps they take longer than three of four of theirs", e.longer));
}

void say(const MessageEvidence& e, Facts& facts) {
  if (e.of_phases) return say_phases(e, facts);
  facts.add("turn_work_median_s", in_seconds(e.work),
            fmt::format("it works {} between two waits for messages (median over {})", to_string(e.work),
                        counted(e.turns, "turn")));
  if (e.is_server) {
    facts.add("busy_ratio", e.busy_ratio,
              fmt::format("it waits for nobody in {} of its time", percent(e.busy_ratio)));
    facts.add(
        "held_ratio", e.held_ratio,
        fmt::format("another rank waits for it while it works in {} of that rank's time, the largest share",
                    percent(e.held_ratio)));
    return;
  }
  facts.add("others_turn_work_median_s", in_seconds(e.others),
            fmt::format("the others that wait for the same rank work {}", to_string(e.others)));
  facts.add("longer_turns_ratio", static_cast<double>(e.longer) / static_cast<double>(e.turns),
            fmt::format("{} of its {} longer than three of four of theirs", e.longer,
                        e.turns == 1 ? "1 turn is" : fmt::format("{} turns are", e.turns)));
}

}  // namespace

std::vector<Evidence> evidence_of(const Finding& f) {
  Facts facts;
  if (const auto* late = std::get_if<LateEvidence>(&f.evidence))
    say(*late, f.ranks, facts);
  else if (const auto* of_operations = std::get_if<OperationEvidence>(&f.evidence))
    say(*of_operations, facts);
  else if (const auto* fabric = std::get_if<FabricEvidence>(&f.evidence))
    say(*fabric, facts);
  else if (const auto* messages = std::get_if<MessageEvidence>(&f.evidence))
    say(*messages, facts);
  return std::move(facts).take();
}

std::string sentence_of(const FabricEvidence& e) {
  return fmt::format("transfers of {} across it take {:.2f} times those of their like",
                     counted(e.slow_groups, "group"), e.slow_ratio);
}

std::string message_words(const Finding& f, const MessageEvidence& e) {
  if (e.is_server)
    return fmt::format(
        "all others wait for messages of {}, which works in {} of its time: another rank waits for it while it does in up to {} "
        "of its own. What fixing that would save is not told: at most {} of the run",
        subject_of(f.ranks), percent(e.busy_ratio), percent(e.held_ratio), percent(*f.gain_at_most));
  if (e.of_phases)
    return fmt::format(
        "{} works {} in a step, forth and back, the others {}: {} of its {} steps are longer than three of four of theirs. What "
        "fixing that would save is not told: at most {} of the run",
        subject_of(f.ranks), to_string(e.work), to_string(e.others), e.longer, e.turns,
        percent(*f.gain_at_most));
  return fmt::format(
      "{} works {} between two messages, the others that wait for the same rank {}: {} of its {} turns are longer than three "
      "of four of theirs. What fixing that would save is not told: at most {} of the run",
      subject_of(f.ranks), to_string(e.work), to_string(e.others), e.longer, e.turns,
      percent(*f.gain_at_most));
}

std::string position_words(const Finding& f) {
  constexpr std::size_t kMost = 4;
  std::string text;
  for (std::size_t i = 0; i < f.positions.size();) {
    const StepPosition& p = f.positions[i];
    std::size_t end = i;
    while (end < f.positions.size() && f.positions[end].comm == p.comm &&
           f.positions[end].operation == p.operation)
      ++end;
    std::string numbers;
    for (std::size_t k = i; k < std::min(end, i + kMost); ++k)
      numbers += fmt::format("{}{}", k == i ? "" : ", ", f.positions[k].number);
    text +=
        fmt::format("{} {} {}{} of {}{}", text.empty() ? " before" : " and", hyphenated(p.operation), numbers,
                    end - i > kMost ? ", ..." : "", p.of, p.comm_name.empty() ? "" : " on " + p.comm_name);
    i = end;
  }
  return text;
}

std::string pause_words(const Finding& f, const LateEvidence& e) {
  const std::string often =
      e.pauses->phase ? fmt::format("every {} steps (step number modulo {} is {})", e.pauses->period_steps,
                                    e.pauses->period_steps, *e.pauses->phase)
                      : fmt::format("now and then, {} steps apart in the median", e.pauses->period_steps);
  return fmt::format("{} pauses {}{}: its own work then takes {} longer than the median rank's, {} times",
                     subject_of(f.ranks), often, position_words(f), to_string(e.self_delay), e.pauses->count);
}

std::string own_work_words(const Finding& f, const LateEvidence& e) {
  std::string text =
      e.pauses
          ? pause_words(f, e)
          : fmt::format(
                "{} {} longer than the others between synchronisations{}{}: own work takes {} "
                "longer per step than the median rank's, in {} of those steps",
                subject_of(f.ranks), f.ranks.size() == 1 ? "works" : "work", e.of_turns ? " in turn" : "",
                position_words(f), to_string(e.self_delay), percent(e.late_ratio()));
  text += fmt::format(
      ". Who waited for whom cannot be told, as members leave as far apart as they enter, so what fixing "
      "that would save is not told either: at most {} of the run",
      percent(*f.gain_at_most));
  return text;
}

std::string rank_numbers(const std::vector<Rank>& ranks) {
  constexpr std::size_t kMost = 16;
  std::vector<std::int32_t> values;
  for (const Rank r : ranks)
    if (values.size() < kMost) values.push_back(r.value());
  const std::string tail = ranks.size() > kMost ? fmt::format(" and {} more", ranks.size() - kMost) : "";
  return fmt::format("{}{}", fmt::join(values, ", "), tail);
}

std::string subject_of(const std::vector<Rank>& ranks) {
  constexpr std::size_t kMost = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMost); ++i)
    list += (i > 0 ? ", " : "") + std::to_string(ranks[i].value());
  return fmt::format("{} {}{}", ranks.size() == 1 ? "rank" : "ranks", list,
                     ranks.size() > kMost ? ", ..." : "");
}

}  // namespace cox::diagnose
