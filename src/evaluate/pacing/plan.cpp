// SPDX-License-Identifier: Apache-2.0
#include "evaluate/pacing/plan.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "cox/base/random.hpp"

namespace cox::evaluate {
namespace {

constexpr std::uint32_t kOrderStream = 0x70616368;
constexpr std::int64_t kDrawsOfStart = 1'000'000;

class Planner {
 public:
  Planner(const PacingStudy& study, const PacingCondition& condition, int start)
      : protocol_(study.protocol),
        condition_(condition),
        random_(study.protocol.seed, kOrderStream),
        pair_of_starts_(static_cast<std::uint64_t>(start / 2)),
        is_mirrored_(start % 2 == 1),
        draw_(start * kDrawsOfStart) {
    const std::int64_t steps = protocol_.lead_in_windows * protocol_.window;
    if (steps > 0) plan_.blocks.push_back({.steps = steps, .dropped = steps, .first_draw = draw_});
    draw_ += steps;
  }

  /// `cold`: the arm of the chunks. `again`: an arm with a block in every round, beside off. `shorts`: arms
  /// with one block in the whole start.
  void add_rounds(std::optional<std::size_t> cold, std::optional<std::size_t> again,
                  std::vector<std::size_t> shorts) {
    shuffle(shorts);
    const bool begins_short = toss();
    const Seconds segment = condition_.segment > Seconds{} ? condition_.segment : protocol_.segment;
    const auto rounds = 2 * static_cast<std::size_t>(std::max(1.0, std::ceil(segment / protocol_.chunk / 2)));
    const std::int64_t cold_steps = windows_for(segment / static_cast<double>(rounds), condition_.best);
    const std::int64_t short_steps = protocol_.block_windows * protocol_.window;
    const std::int64_t off_steps = std::max(windows_for(protocol_.chunk_off, condition_.period), short_steps);
    for (std::size_t i = 0; i < rounds; ++i) {
      // A mirrored start has the short arms of its last round first.
      const std::size_t part = is_mirrored_ ? rounds - 1 - i : i;
      std::vector<PacingBlock> blocks;
      const auto add = [&](std::size_t arm, std::int64_t steps) {
        blocks.push_back({.arm = arm, .steps = steps, .dropped = dropped(), .first_draw = draw_});
      };
      for (std::size_t k = part * shorts.size() / rounds; k < (part + 1) * shorts.size() / rounds; ++k)
        add(shorts[k], short_steps);
      if (again) add(*again, short_steps);
      add(0, off_steps);
      if (cold) {
        add(*cold, cold_steps);
        blocks.back().dropped = 0;
        blocks.back().cold = i == 0;
      }
      if ((i % 2 == 0) != begins_short) std::reverse(blocks.begin(), blocks.end());
      add_round(blocks);
      draw_ += std::max(off_steps, cold_steps);
    }
  }

  [[nodiscard]] PacingPlan take() { return std::move(plan_); }

 private:
  [[nodiscard]] bool toss() { return random_.uniform(pair_of_starts_, drawn_++) < 0.5; }
  void shuffle(std::vector<std::size_t>& items) {
    for (std::size_t left = items.size(); left > 1; --left)
      std::swap(items[left - 1], items[static_cast<std::size_t>(random_.uniform(pair_of_starts_, drawn_++) *
                                                                static_cast<double>(left))]);
  }
  [[nodiscard]] std::int64_t dropped() const { return protocol_.dropped_windows * protocol_.window; }
  [[nodiscard]] std::int64_t windows_for(Seconds lasts, Seconds step) const {
    return protocol_.window *
           static_cast<std::int64_t>(std::ceil(lasts / step / static_cast<double>(protocol_.window)));
  }
  /// Blocks that follow each other and share one block of off.
  void add_round(const std::vector<PacingBlock>& blocks) {
    const std::size_t first = plan_.blocks.size();
    const auto off =
        std::find_if(blocks.begin(), blocks.end(), [](const PacingBlock& b) { return b.arm == 0; });
    const std::size_t at_off = first + static_cast<std::size_t>(off - blocks.begin());
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (first + i != at_off) plan_.pairs.push_back({.arm = blocks[i].arm, .off = at_off, .on = first + i});
    plan_.blocks.insert(plan_.blocks.end(), blocks.begin(), blocks.end());
  }

  const PacingProtocol& protocol_;
  const PacingCondition& condition_;
  RandomStream random_;
  std::uint64_t pair_of_starts_;
  bool is_mirrored_;
  std::uint64_t drawn_ = 0;
  std::int64_t draw_;
  PacingPlan plan_;
};

}  // namespace

Seconds PacingPlan::lasts(const PacingCondition& condition) const {
  std::int64_t steps = 0;
  for (const PacingBlock& b : blocks) steps += b.steps;
  return condition.period * static_cast<double>(steps);
}

PacingPlan plan_pacing(const PacingStudy& study, const PacingCondition& condition,
                       const std::vector<std::size_t>& arms, PacingDepth depth, int start) {
  std::vector<std::size_t> shorts;
  std::optional<std::size_t> cold;
  std::optional<std::size_t> again;
  for (const std::size_t arm : arms) {
    if (study.arms[arm].name == kArmAuto)
      cold = arm;
    else if (depth == PacingDepth::Quick && !study.arms[arm].quick)
      continue;
    else if (study.arms[arm].name == kArmAgain)
      again = arm;
    else
      shorts.push_back(arm);
  }
  Planner planner(study, condition, start);
  planner.add_rounds(cold, again, std::move(shorts));
  return planner.take();
}

}  // namespace cox::evaluate
