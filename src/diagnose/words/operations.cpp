// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "diagnose/operations/operation_what_if.hpp"
#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

/// The JSON holds these sentences with whole per cent.
std::string share(double part) {
  return percent(part, PartDigits::Whole);
}

/// Fixing one part may bring more than all parts as usual: others were faster than usual.
std::string of_slowdown(double part) {
  return part > 1 ? "all" : share(std::max(part, 0.0));
}

std::string join(const std::vector<Rank>& ranks) {
  constexpr std::size_t kMost = 8;
  std::string out;
  for (std::size_t i = 0; i < ranks.size() && i < kMost; ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i].value());
  if (ranks.size() > kMost) out += fmt::format(" and {} more", ranks.size() - kMost);
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", out);
}

std::string shares_of_stage(const OperationFinding& f) {
  return fmt::format(
      "{} of the slowdown goes when it works as the others do, {} with its slowest worker alone; "
      "move work to other stages",
      of_slowdown(f.stage_share), of_slowdown(f.worker_share));
}

std::string shares_of_worker(const OperationFinding& f) {
  std::string text = fmt::format("{} of the slowdown goes when {} as usual", of_slowdown(f.worker_share),
                                 f.ranks.size() == 1 ? "it works" : "they work");
  if (f.data_ranks == 1 && f.stages > 1)
    text += "; with one data rank a slow worker and a stage with too much work look the same";
  return text;
}

std::string shares_of_communication(const OperationFinding& f) {
  std::string text = fmt::format("{} of the slowdown goes when they last as long as usual",
                                 of_slowdown(f.communication_share));
  if (!f.slowest_type.empty())
    text += fmt::format("; most of it is {} (x{:.3f})", f.slowest_type, f.slowest_type_slowdown);
  return text;
}

/// What of the slowdown goes with it.
std::string shares_of(const OperationFinding& f) {
  switch (f.cause) {
    case OperationCause::StageImbalance:
      return shares_of_stage(f);
    case OperationCause::SlowWorker:
      return shares_of_worker(f);
    case OperationCause::Communication:
      return shares_of_communication(f);
    case OperationCause::None:
      break;
  }
  if (f.slowdown < f.slow_from)
    return fmt::format("all operations as usual would bring {}, below {}", share(f.slowdown - 1),
                       share(f.slow_from - 1));
  return fmt::format("the best stage {}, the best worker {}, transfers {}; cause unknown",
                     of_slowdown(f.stage_share), of_slowdown(f.worker_share),
                     of_slowdown(f.communication_share));
}

std::string slowdown_words(const OperationWhatIf& w) {
  return fmt::format(
      "steps are x{:.3f} (+-{:.3f}) as long as with all operations as usual: {} against {} ({}, {} simulated)",
      w.slowdown, w.slowdown_error, to_string(w.original), to_string(w.ideal),
      counted(static_cast<std::int64_t>(w.steps.size()), "step"), counted(w.operations, "operation"));
}

}  // namespace

std::string claim_of(const OperationFinding& f) {
  const bool one = f.ranks.size() == 1;
  switch (f.cause) {
    case OperationCause::StageImbalance:
      return fmt::format("{} stage ({}) is too long on all {} data ranks",
                         f.is_last_stage ? "the last" : "one", f.stage, f.data_ranks);
    case OperationCause::SlowWorker:
      return fmt::format("{} {} slow and others in {} place are not", join(f.ranks), one ? "is" : "are",
                         one ? "its" : "their");
    case OperationCause::Communication:
      if (f.ranks.empty()) return "transfers are slow";
      return f.stage >= 0 ? fmt::format("transfers of stage {} are slow", f.stage)
                          : fmt::format("transfers of {} are slow", join(f.ranks));
    case OperationCause::None:
      break;
  }
  return f.slowdown < f.slow_from ? "nothing is slow"
                                  : "no stage, worker or kind of transfer explains half of it";
}

std::string sentence_of(const OperationFinding& f) {
  // Found by its like, not by the slowdown, which is held against a mean that contains it.
  if (f.cause != OperationCause::None && f.slowdown < f.slow_from)
    return claim_of(f) + (f.cause == OperationCause::StageImbalance ? "; move work to other stages" : "");
  return claim_of(f) + ": " + shares_of(f);
}

std::vector<std::string> describe_briefly(const OperationWhatIf& w) {
  std::vector<std::string> out{slowdown_words(w)};
  if (w.patterns.micro_batches)
    out.emplace_back(
        "micro-batches are uneven: forward and backward of the same one are long together, so their work "
        "differs, not their workers");
  // Of one stage arrivals tell turns; here a replica is as slow as its slowest stage.
  if (const auto& r = w.patterns.replicas;
      r && r->changes && w.stages.size() > 1 && w.slowdown >= w.finding.slow_from)
    out.push_back(
        fmt::format("another replica is slow from step to step, in {} of {}: work that is dealt out anew",
                    r->standing_out, counted(r->steps, "step")));
  return out;
}

std::vector<std::string> describe(const OperationWhatIf& w) {
  std::vector<std::string> out{slowdown_words(w)};
  out.push_back(sentence_of(w.finding));
  for (const OperationFinding& f : w.more) out.push_back("also: " + sentence_of(f));
  for (std::string& note : notes_of(w.patterns)) out.push_back(std::move(note));
  if (!w.is_faithful)
    out.push_back(
        fmt::format("the simulation misses the measured step ({}) by {}: do not rely on what is below that",
                    to_string(w.measured), percent_change(w.fidelity)));
  else
    out.push_back(fmt::format("the simulation meets the measured step ({}) within {}", to_string(w.measured),
                              percent_change(w.fidelity)));
  if (!w.culprits.ranks.empty())
    out.push_back(fmt::format("smallest set that explains it: {}: {} of the slowdown, {} per step",
                              join(w.culprits.ranks), of_slowdown(w.culprits.removed),
                              to_string(w.culprits.step_time)));
  constexpr std::size_t kMostTypes = 5;
  for (std::size_t i = 0; i < w.types.size() && i < kMostTypes; ++i)
    out.push_back(fmt::format("{}: x{:.4f}, {} of the critical path", w.types[i].name, w.types[i].slowdown,
                              share(w.types[i].on_path)));
  for (const PartEffect& s : w.stages)
    if (w.stages.size() > 1 && s.removed >= 0.1)
      out.push_back(fmt::format("{}: x{:.4f}, {} of the slowdown goes with it", s.name, s.slowdown,
                                of_slowdown(s.removed)));
  out.push_back(fmt::format(
      "free pipeline messages: x{:.4f}; free data-parallel collectives: x{:.4f}; no transfer at all: x{:.4f}",
      w.fabric.pipeline_free, w.fabric.data_free, w.fabric.communication_free));
  for (const std::string& n : w.notes) out.push_back(n);
  return out;
}

}  // namespace cox::diagnose
