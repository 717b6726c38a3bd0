// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only.
#include "cox/pace/decision.hpp"
#include "cox/pace/settings.hpp"

namespace cox::pace {
namespace {

struct Words {
  const char* name;
  const char* sentence;
};

constexpr Words kReasons[] = {
    {"observing", "the mode decides nothing"},
    {"warming-up", "too few iterations seen"},
    {"no-slack", "this rank does not wait predictably: it is late, or its waits move"},
    {"too-small", "its predictable slack is too small for a timer"},
    {"unknown-transfer", "wait and transfer time cannot be told apart here"},
    {"launch-ahead", "an accelerator's queue would absorb a delay of the host"},
    {"over-budget", "finding out could cost more than is left of the budget"},
    {"backing-off", "the last test showed no benefit; the next one is some steps away"},
    {"block-off", "an unpaced block of a test"},
    {"block-paced", "a paced block of a test"},
    {"holding", "paced: blocks with the delay were measurably better"},
    {"hold-off", "an unpaced block that keeps testing the benefit"},
    {"other-group", "a synchronisation with another group has less slack"},
    {"threshold", "imbalance above the threshold"},
    {"released", "imbalance below the threshold"},
    {"fixed", "a fixed delay, not tested"},
    {"clock-step", "an observation with a negative time was left out"},
    {"probe-turn", "own turn of a probe: a small delay to tell slack from transfer"},
    {"no-gain", "a test ended without a benefit"},
    {"harm", "a test ended because paced blocks were worse"},
    {"waiting", "the next test begins at a step that is alike on all ranks"},
    {"in-order", "a collective held until the one before it had begun"},
    {"long-off", "unpaced for long, to see whether delays cost something later"},
};
constexpr Words kNoReason = {"unknown", "not known to this version"};

const Words& words_of(Reason reason) {
  const auto i = static_cast<std::size_t>(reason);
  return i < sizeof kReasons / sizeof kReasons[0] ? kReasons[i] : kNoReason;
}

template <std::size_t N, class Enum>
const char* word_at(const char* const (&words)[N], Enum value) {
  const auto i = static_cast<std::size_t>(value);
  return i < N ? words[i] : kNoReason.name;
}

}  // namespace

const char* name_of(Mode mode) noexcept {
  static constexpr const char* kWords[] = {"off", "observe", "paper", "auto", "always", "random"};
  return word_at(kWords, mode);
}
const char* name_of(Objective objective) noexcept {
  static constexpr const char* kWords[] = {"throughput", "tail", "energy"};
  return word_at(kWords, objective);
}
const char* name_of(Placement placement) noexcept {
  static constexpr const char* kWords[] = {"iteration", "collective"};
  return word_at(kWords, placement);
}
const char* name_of(State state) noexcept {
  static constexpr const char* kWords[] = {"warm-up", "watch", "probe", "trial", "hold"};
  return word_at(kWords, state);
}
const char* name_of(Reason reason) noexcept {
  return words_of(reason).name;
}
const char* explain(Reason reason) noexcept {
  return words_of(reason).sentence;
}

}  // namespace cox::pace
