// SPDX-License-Identifier: Apache-2.0
#include "cox/diagnose/remedy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <variant>

#include "cox/base/number_text.hpp"
#include "cox/diagnose/diagnosis.hpp"
#include "cox/pace/advice.hpp"

#include "diagnose/verdict/analyses.hpp"
#include "diagnose/words/sentences.hpp"
#include "diagnose/words/stall.hpp"

namespace cox::diagnose {
namespace {

/// What a cause asks for. The gain is that of the finding: the rank on time, by removal of its self-delay.
struct Lever {
  Cause cause;
  const char* lever;
  const char* text;
  const char* on_one_host = nullptr;  ///< instead, where all ranks share a host; null: the same
};
constexpr std::array kLevers{
    Lever{Cause::CpuQuota, "raise_quota", "raise the CPU quota of the control group that {} runs in"},
    Lever{Cause::CpuContention, "pin_ranks",
          "give {} CPUs of its own: bind ranks, move what else runs there, or let waiting "
          "processes block instead of spinning"},
    Lever{Cause::AsleepOrIo, "unblock",
          "find what {} sleeps for (storage, network, a lock): it was neither running nor ready"},
    Lever{
        Cause::OffCpu, "unblock",
        "find what keeps {} off the CPU: it sleeps (storage, network, a lock) and waits for a CPU when it wakes"},
    Lever{Cause::SlowCpuClock, "fix_clock", "look at the power and thermal limits of the host of {}"},
    Lever{Cause::SlowCodeOrCpu, "balance_work",
          "compare what {} computes with the others; if it is the same, replace its host",
          "compare what {} computes with the others; if it is the same, look at the CPUs that it may use"},
    Lever{Cause::SlowKernels, "replace_ranks",
          "look at the clock, power and errors of the device of {}, or replace it: "
          "as many kernels as the others, each slower"},
    Lever{Cause::UnevenWork, "balance_work",
          "give {} as much work as the others (batch and sequence lengths): it runs more kernels"},
    Lever{Cause::Copies, "place_memory",
          "look at the path between the memory of {} and its device: NUMA node, pinned memory, PCIe"},
    Lever{Cause::DataLoading, "data_loading",
          "let {} fetch its input earlier: more loader workers, prefetch, a local copy"},
    Lever{Cause::Data, "data_loading",
          "let {} fetch its input earlier: more loader workers, prefetch, a local copy"},
    Lever{Cause::Gc, "garbage_collection",
          "collect garbage on all ranks at once, at a step of your choice, not when {} happens to"},
    Lever{Cause::Allocator, "allocator",
          "keep {} from allocating within steps: warm up, fix shapes, raise the cache's limit"},
    Lever{Cause::StageImbalance, "balance_stages",
          "move layers away from the stage of {}: it has more to compute than the others"},
    Lever{Cause::SlowWorker, "replace_ranks", "replace {} or its host: ranks that do the same are not slow",
          "look at the CPUs and the device of {}: ranks that do the same are not slow"},
    Lever{Cause::Communication, "communication",
          "look at the transfers of {}: they take longer than their like"},
    Lever{Cause::Fabric, "repair_fabric",
          "look at {}: errors, speed, routing; or place ranks so that it is not shared"},
    Lever{Cause::LateLaunch, "host_speed",
          "look at what the host of {} does before it launches: its device waits for it"},
    Lever{Cause::FarFromDevice, "bind_ranks",
          "bind {} to CPUs of a NUMA node that has GPUs or network ports (--all says which do)"},
    Lever{Cause::SharedCores, "pin_ranks", "bind {} to a core each: several are bound to the same ones"}};

std::string subject_of(const Finding& f) {
  if (!f.components.empty()) return component_words(f);
  if (f.ranks.empty()) return "all ranks";
  return diagnose::subject_of(f.ranks);
}

std::string verify(double gain) {
  return fmt::format("cox diagnose AFTER --against BEFORE: the median step should fall by about {}, and {}",
                     percent(gain), "the interval should not hold 1");
}

std::string verify_lost() {
  return "cox diagnose AFTER --against BEFORE: the part lost to late arrivals should fall";
}

/// What a rank does time and again: more of a CPU, of a disk, or which of these is not known.
std::string advice_for_pauses(const Finding& f, const PauseEvidence& p) {
  const bool sleeps = f.cause == Cause::AsleepOrIo;
  const bool computes = f.cause == Cause::SlowCodeOrCpu || f.cause == Cause::SlowCpuClock;
  const char* what = sleeps ? "waits for" : computes ? "computes" : "does";
  const char* such = sleeps     ? "writing a checkpoint or a log"
                     : computes ? "garbage collection, statistics"
                                : "garbage collection, a checkpoint, logging";
  const std::string when = p.phase
                               ? fmt::format("every {} steps", p.period_steps)
                               : fmt::format("now and then, {} steps apart in the median", p.period_steps);
  return fmt::format(
      "find what {} {} {} ({}): do it in the background, less often, or on all ranks in the same step",
      subject_of(f), what, when, such);
}

std::string advice_for_turns(const Finding& f, const LateEvidence& e) {
  const auto steps = e.turn_steps.value_or(1);
  return fmt::format(
      "find what goes round among {}, {} each (long inputs, a job of one host at a time, a lock): share it out "
      "within each step, or let all have it in the same one",
      subject_of(f), counted(steps, "step"));
}

/// Where the kind of finding says more of what to do than its cause does.
bool advise_by_kind(const Finding& f, Remedy& r) {
  const auto* e = std::get_if<LateEvidence>(&f.evidence);
  if (e == nullptr) return false;
  switch (f.cause) {
    case Cause::Gc:
    case Cause::DataLoading:
    case Cause::Data:
    case Cause::Allocator:
    case Cause::CpuQuota:
    case Cause::CpuContention:
    case Cause::UnevenWork:
    case Cause::Copies:
      return false;
    default:
      break;
  }
  if (e->pauses) {
    r.lever = "pauses";
    r.text = advice_for_pauses(f, *e->pauses);
  } else if (e->of_turns) {
    r.lever = "turns";
    r.text = advice_for_turns(f, *e);
  } else {
    return false;
  }
  return true;
}

Remedy for_finding(const Finding& f, bool one_host) {
  const auto at =
      std::find_if(kLevers.begin(), kLevers.end(), [&](const Lever& l) { return f.cause == l.cause; });
  Remedy r;
  r.lever = at == kLevers.end() ? "replace_ranks" : at->lever;
  const char* text =
      one_host
          ? "find out what happens on {} in the extra time, or let it change CPUs with another rank to see "
            "whether the delay moves with the rank or stays with the CPUs"
          : "find out what happens on {} in the extra time, or run it on another host to see whether "
            "the delay moves with the rank or stays with the host";
  if (at != kLevers.end()) text = one_host && at->on_one_host != nullptr ? at->on_one_host : at->text;
  if (!advise_by_kind(f, r)) r.text = fmt::format(fmt::runtime(text), subject_of(f));
  constexpr std::string_view kOne = " or its host";
  if (const std::size_t host = r.text.find(kOne); f.ranks.size() > 1 && host != std::string::npos)
    r.text.replace(host, kOne.size(), " or their hosts");
  r.ranks = f.ranks;
  const bool known =
      !f.gain_doubt && is_gain_told(f) && (f.kind != FindingKind::SlowLink || f.gain_ratio > 0);
  if (known) r.gain_ratio = gain_alone(f);
  if (const auto beside = gain_beside(f); known && beside) {
    r.gain_ratio = beside;
    r.text += ", which saves time once the rest of what is named is put right";
    r.basis = "replay of the recorded operations without all that is named, with and without it";
    r.verify = verify_lost();
    return r;
  }
  r.basis = known                              ? "replay of the recorded operations without it"
            : !f.gain_doubt && is_gain_told(f) ? "needs a simulation of this job"
                                               : "its gain is " + gain_words(f);
  r.verify = known && moves_the_median(f) ? verify(gain_alone(f)) : verify_lost();
  return r;
}

/// More ranks than CPUs: whatever else is found, they take turns on them first of all.
void add_crowding(const Diagnosis& d, std::vector<Remedy>& out) {
  const pace::Facts& w = d.waiting;
  if (w.cores == 0 || w.ranks_on_host <= w.cores) return;
  out.push_back({.lever = "fewer_ranks_per_host",
                 .text = fmt::format(
                     "start at most one rank per CPU: {} ranks share {} CPU{}{}, so whoever waits may "
                     "take the CPU of a rank that works",
                     w.ranks_on_host, w.cores, w.cores == 1 ? "" : "s", d.hosts == 1 ? "" : " on one host"),
                 .ranks = {},
                 .gain_ratio = std::nullopt,
                 .basis = "needs a run with a CPU for each rank",
                 .verify = verify_lost()});
}

/// What fits how the ranks wait, before anybody is held back.
void add_advice(const Diagnosis& d, std::vector<Remedy>& out) {
  const pace::AdviceList list = pace::advise(d.waiting);
  for (const pace::Advice& a : list.items()) {
    const bool is_wait = a.remedy == pace::AdviceKind::ChangeWaitMode;
    if (!is_wait && a.remedy != pace::AdviceKind::RaisePriority) continue;
    out.push_back({.lever = is_wait ? "wait_mode" : "priority",
                   .text = fmt::format("{}: {}", a.action, a.why),
                   .brief = a.action,
                   .ranks = {},
                   .gain_ratio = std::nullopt,
                   .basis = fmt::format("needs a test in the job itself; seen elsewhere: {}", a.evidence),
                   .verify = verify_lost()});
  }
}

/// Jitter that nobody in particular causes: what pacing, fewer synchronisations
/// or another algorithm would do.
void add_unestimated(const Diagnosis& d, std::vector<Remedy>& out) {
  constexpr double kWorthwhile = 0.02;
  if (d.run_time <= Duration::zero()) return;
  double named = 0;
  for (const Finding& f : d.findings) named += f.share_ratio;
  const double left = lost_ratio(d).value_or(d.lost > d.run_time ? 1 : 0) * std::max(0.0, 1 - named);
  if (left < kWorthwhile) return;
  const std::string what = "synchronise less often or in fewer, larger operations";
  out.push_back({.lever = "synchronise_less",
                 .text = lost_ratio(d)
                             ? fmt::format("{}: {} of the run is lost to late arrivals", what, percent(left))
                             : what,
                 .brief = what,
                 .ranks = {},
                 .gain_ratio = std::nullopt,
                 .basis = "needs a simulation of this job",
                 .verify = verify_lost()});
  add_advice(d, out);
  if (d.pacing && d.pacing->comparison) return;
  out.push_back(
      {.lever = "pacing",
       .text = "pace early ranks where they share something with late ones (cores, a link)",
       .ranks = {},
       .gain_ratio = std::nullopt,
       .basis = "needs a test in the job itself: cox observe --pace auto tries it, at a bounded cost",
       .verify = "cox pace RUN: what the paced blocks of that run brought"});
}

/// ` (95 %: +1.2 to +3.4 %)`: one unit for both.
std::string interval_words(const Bounded<double>& change) {
  std::string low = percent_change(change.low);
  low.resize(low.size() - 2);
  return fmt::format(" (95 %: {} to {})", low, percent_change(change.high));
}

/// What the Run's own blocks say of pacing.
void add_pacing(const Diagnosis& d, std::vector<Remedy>& out) {
  if (!d.pacing || !d.pacing->comparison || !d.pacing->comparison->within_run) return;
  const PacingComparison& c = *d.pacing->comparison;
  if (c.baseline.period.value.count() <= 0) return;
  const auto saved = [](double faster) { return faster > -1 ? 1 - 1 / (1 + faster) : -1; };
  const bool pays = c.has_interval && c.faster_ratio.low > 0;
  out.push_back(
      {.lever = "pacing",
       .text = pays ? "go on pacing early ranks: unpaced blocks of this run were slower"
                    : "leave pacing out: its blocks in this run were not shown to be faster",
       .ranks = {},
       .gain_ratio = pays ? saved(c.faster_ratio.value) : 0,
       .basis = fmt::format("{} in this run, paced against unpaced: {} of blocks, {} throughput{}",
                            d.pacing->provenance == trace::Provenance::Simulated ? "simulated" : "measured",
                            c.pairs == 1 ? "1 pair" : fmt::format("{} pairs", c.pairs),
                            percent_change(c.faster_ratio.value),
                            c.has_interval ? interval_words(c.faster_ratio) : ""),
       .verify = "cox pace RUN: baseline against control, with its interval"});
}

/// After how many steps long ones come back: one number, or one of each severity.
std::string periods_of(const TimeStructure& t) {
  if (t.tiers.empty())
    return t.recurrence ? fmt::format("{:.0f}", t.recurrence->period_steps) : std::string();
  std::string text;
  for (const RecurrenceTier& tier : t.tiers)
    text += fmt::format("{}{:.0f}", text.empty() ? "" : " and every ", tier.recurrence.period_steps);
  return text;
}

/// Long steps of everybody that come back: checkpoints, evaluations, restarts.
void add_global_event(const Diagnosis& d, std::vector<Remedy>& out) {
  if (!analyses_of(d).time_structure || periods_of(*analyses_of(d).time_structure).empty() ||
      analyses_of(d).time_structure->long_share_ratio < 0.001)
    return;
  if (analyses_of(d).time_structure->long_kind &&
      *analyses_of(d).time_structure->long_kind != LongStepKind::Everybody)
    return;
  if (std::any_of(d.findings.begin(), d.findings.end(),
                  [](const Finding& f) { return f.kind == FindingKind::PeriodicPause; }))
    return;  // not everybody's
  out.push_back({.lever = "checkpoint_policy",
                 .text = fmt::format("look at what happens {}every {} steps (checkpoint, evaluation, "
                                     "restart): rarer, shorter or in the background",
                                     analyses_of(d).time_structure->long_kind ? "to everybody " : "",
                                     periods_of(*analyses_of(d).time_structure)),
                 .ranks = {},
                 .gain_ratio = analyses_of(d).time_structure->long_share_ratio,
                 .basis = "time that long steps take beyond the usual: the most that can be saved",
                 .verify = "cox diagnose AFTER --against BEFORE: fewer or shorter long steps"});
}

/// A change of level that is in the own work of few ranks, where nobody is named: what changed there.
void add_change(const Diagnosis& d, std::vector<Remedy>& out) {
  const auto& t = analyses_of(d).time_structure;
  if (!t || t->changes.empty() || t->change_ranks.empty() || !d.findings.empty()) return;
  const ChangePoint& c = t->changes.front();
  const auto beyond = static_cast<std::int64_t>(std::count_if(d.step_numbers.begin(), d.step_numbers.end(),
                                                              [&](StepId s) { return s >= c.first_step; }));
  if (c.after <= c.before || t->changes.size() > 1 || d.run_time <= Duration::zero()) return;
  out.push_back(
      {.lever = "look_at_change",
       .text = fmt::format("look at what changed on {} at step {}: own work takes longer there from then on",
                           diagnose::subject_of(t->change_ranks), c.first_step.value()),
       .ranks = t->change_ranks,
       .gain_ratio = std::min(1.0, ratio((c.after - c.before) * beyond, d.run_time)),
       .basis = "usual steps after the change against those before it",
       .verify = "cox diagnose AFTER --against BEFORE: no change of level"});
}

/// The most that any network could save, where that is worth a thought and nothing above is about it.
void add_fabric(const Diagnosis& d, std::vector<Remedy>& out) {
  constexpr double kWorthwhile = 0.05;
  if (!analyses_of(d).what_if || analyses_of(d).what_if->fidelity == Fidelity::Refused) return;
  // Who waits for a rank that is not recorded seems to transfer.
  if (d.coverage.ranks_seen < d.coverage.ranks_expected || d.coverage.ratio < kEnoughCalls) return;
  const double gain = 1 - 1 / std::max(1.0, analyses_of(d).what_if->fabric_tenfold.speedup_ratio);
  if (gain < kWorthwhile) return;
  out.push_back(
      {.lever = "transfer",
       .text = d.hosts == 1
                   ? "make transfers shorter or hide them: larger buckets, overlap, another algorithm; "
                     "all ranks share a host, so they pass through its memory, not a network"
                   : "make transfers shorter or hide them: larger buckets, overlap, another algorithm, "
                     "hierarchy or rank order, a faster network",
       .ranks = {},
       .gain_ratio = gain,
       .basis = "replay with every transfer ten times faster: a bound, not a forecast of one lever",
       .verify = "cox diagnose AFTER --against BEFORE: the median step and the transfer column should fall"});
}

/// A job that stands still first has to go on: where to look for why it does not. Nothing where nobody holds it up.
std::vector<Remedy> look_at_stall(const Stall& stall, bool live) {
  if (stall.ranks.empty()) return {};
  std::string text =
      fmt::format("see what {} did after its last call: its log, how it ended", rank_words(stall.ranks));
  if (live && !stall.last_seen.empty() && stall.last_seen.front().pid > 0) {
    const LastSeen& seen = stall.last_seen.front();
    text = fmt::format("see where rank {} is: its stack (gdb -p {}, py-spy dump --pid {}) on {}, its log",
                       seen.rank.value(), seen.pid, seen.pid, seen.host);
  }
  return {Remedy{.lever = "look_at_ranks",
                 .text = std::move(text),
                 .ranks = stall.ranks,
                 .gain_ratio = {},
                 .basis = "a job that stands still first has to go on",
                 .verify = "cox diagnose of the next Run names nobody as missing"}};
}

/// What would make the input tell.
const char* more_input(AnswerReason r) {
  switch (r) {
    case AnswerReason::OneRank:
      return "record all ranks: cox observe before the launcher, or a file per rank in one folder";
    case AnswerReason::RanksMissing:
      return "give the files of the missing ranks too, or record all ranks";
    case AnswerReason::CallsMissing:
      return "find out why calls lack members (files that were cut or overwritten), and record again";
    case AnswerReason::OrderRefused:
      return "put the hosts' clocks beside each other (NTP, PTP), or record with cox observe, which does";
    case AnswerReason::NothingMeets:
      return "add the collectives and messages to the table: at which ranks wait for each other";
    case AnswerReason::NoSteps:
      return "mark the steps of the program, or record for longer";
    case AnswerReason::FewSteps:
      return "record more steps: from 10 on a rank can be told from chance, small effects from 40 on";
    case AnswerReason::TooNoisy:
      return "record more steps, with nothing else on the hosts";
    case AnswerReason::ReplayOff:
      return "see with --all what the replay misses, and record what lies between the operations";
    case AnswerReason::Unexplained:
      return "look at the timeline of some slow steps: cox report RUN -o PAGE.html";
    case AnswerReason::MessagesOnly:
      return "record for longer, or with more ranks of a kind";
    case AnswerReason::ExitStatus:
    case AnswerReason::Hang:
    case AnswerReason::Mismatch:
      break;
  }
  return nullptr;
}

void add_more_input(const Diagnosis& d, std::vector<Remedy>& out) {
  // A series without ranks is what it is.
  if (d.answer.kind != AnswerKind::CannotTell || d.answer.reasons.empty() || d.series != SeriesState::None)
    return;
  if (const char* text = more_input(d.answer.reasons.front().reason))
    out.push_back({.lever = "record_more",
                   .text = text,
                   .ranks = {},
                   .gain_ratio = std::nullopt,
                   .basis = "this input does not tell who sets the pace",
                   .verify = "cox diagnose names somebody, or says that nobody sets the pace"});
}

}  // namespace

std::vector<Remedy> find_remedies(const Diagnosis& d) {
  const auto hung =
      std::find_if(d.trouble.stalls.begin(), d.trouble.stalls.end(), [](const Stall& s) { return s.hung; });
  if (hung != d.trouble.stalls.end()) return look_at_stall(*hung, d.trouble.present.live);
  std::vector<Remedy> out;
  out.reserve(d.findings.size());
  for (const Finding& f : d.findings) out.push_back(for_finding(f, d.hosts == 1));
  add_change(d, out);
  add_global_event(d, out);
  add_fabric(d, out);
  add_pacing(d, out);
  add_unestimated(d, out);
  std::stable_sort(out.begin(), out.end(), [](const Remedy& a, const Remedy& b) {
    return a.gain_ratio.value_or(-1) > b.gain_ratio.value_or(-1);
  });
  std::vector<Remedy> first;
  add_crowding(d, first);
  add_more_input(d, first);
  out.insert(out.begin(), first.begin(), first.end());
  return out;
}

}  // namespace cox::diagnose
