// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "cox/base/random.hpp"
#include "cox/study/pacing.hpp"

namespace cox::study {
namespace {

constexpr std::uint32_t kOrderStream = 0x70616368;
constexpr std::int64_t kDrawsOfGroup = 1'000'000;

class Planner {
 public:
  Planner(const PacingStudy& study, const PacingCondition& condition, PacingDepth depth, int group)
      : protocol_(study.protocol),
        condition_(condition),
        depth_(depth),
        random_(study.protocol.seed, kOrderStream),
        group_(static_cast<std::uint64_t>(group)),
        draw_(group * kDrawsOfGroup) {
    const std::int64_t steps = protocol_.lead_in_windows * protocol_.window;
    if (steps > 0) plan_.blocks.push_back({.steps = steps, .dropped = steps, .first_draw = draw_});
    draw_ += steps;
  }

  /// Four blocks, two pairs: off on on off, or on off off on.
  void add_quad(std::size_t arm) {
    const bool starts_off = toss();
    for (int half = 0; half < 2; ++half) {
      const std::int64_t steps = protocol_.block_windows * protocol_.window;
      const PacingBlock off{.steps = steps, .dropped = dropped(), .first_draw = draw_};
      PacingBlock on = off;
      on.arm = arm;
      add_pair(off, on, starts_off == (half == 0));
      draw_ += steps;
    }
  }

  /// Chunks of one cold start, each beside a chunk of off, in turn before and after it (which comes first is
  /// drawn); the blocks of `beside` are spread over them, in turn and back, and share the chunks of off.
  void add_segment(std::size_t arm, std::vector<std::size_t> beside) {
    beside.insert(beside.end(), beside.rbegin(), beside.rend());
    const bool off_first = toss();
    const Seconds off_lasts = depth_ == PacingDepth::Quick ? protocol_.chunk_off_quick : protocol_.chunk_off;
    const auto chunks = std::max<std::size_t>(
        2, 2 * static_cast<std::size_t>(std::ceil(protocol_.segment / protocol_.chunk / 2)));
    const std::int64_t on_steps = windows_for(
        std::max(protocol_.chunk, protocol_.segment / static_cast<double>(chunks)), condition_.best);
    const std::int64_t least = protocol_.block_windows * protocol_.window;
    const std::int64_t off_steps = std::max(windows_for(off_lasts, condition_.period), least);
    for (std::size_t i = 0; i < chunks; ++i) {
      const PacingBlock off{.steps = off_steps, .dropped = dropped(), .first_draw = draw_};
      std::vector<PacingBlock> blocks;  // short arms, off, the cold one; every other time backwards
      for (std::size_t k = i * beside.size() / chunks; k < (i + 1) * beside.size() / chunks; ++k)
        blocks.push_back({.arm = beside[k], .steps = least, .dropped = dropped(), .first_draw = draw_});
      blocks.push_back(off);
      blocks.push_back({.arm = arm, .steps = on_steps, .dropped = 0, .first_draw = draw_, .cold = i == 0});
      if ((i % 2 == 1) == off_first) std::reverse(blocks.begin(), blocks.end());
      add_round(blocks);
      draw_ += std::max(off_steps, on_steps);
    }
  }

  [[nodiscard]] bool toss() { return random_.uniform(group_, drawn_++) < 0.5; }
  void shuffle(std::vector<std::size_t>& items) {
    for (std::size_t left = items.size(); left > 1; --left)
      std::swap(
          items[left - 1],
          items[static_cast<std::size_t>(random_.uniform(group_, drawn_++) * static_cast<double>(left))]);
  }
  [[nodiscard]] PacingPlan take() { return std::move(plan_); }

 private:
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
      if (blocks[i].arm != 0 || first + i != at_off)
        plan_.pairs.push_back({.arm = blocks[i].arm, .off = at_off, .on = first + i});
    plan_.blocks.insert(plan_.blocks.end(), blocks.begin(), blocks.end());
  }
  void add_pair(const PacingBlock& off, const PacingBlock& on, bool off_first) {
    add_round(off_first ? std::vector{off, on} : std::vector{on, off});
  }

  const PacingProtocol& protocol_;
  const PacingCondition& condition_;
  PacingDepth depth_;
  RandomStream random_;
  std::uint64_t group_;
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
                       const std::vector<std::size_t>& arms, PacingDepth depth, int group) {
  Planner planner(study, condition, depth, group);
  std::vector<std::size_t> quads;
  std::optional<std::size_t> cold;
  for (const std::size_t arm : arms) {
    if (study.arms[arm].name == kArmAuto) {
      cold = arm;
    } else if (depth == PacingDepth::Full || study.arms[arm].quick) {
      quads.insert(quads.end(),
                   depth == PacingDepth::Full ? static_cast<std::size_t>(study.protocol.quads) : 1, arm);
    }
  }
  planner.shuffle(quads);
  const bool segment_first = planner.toss();
  const bool shares = depth == PacingDepth::Quick && cold;
  if (cold && (shares || segment_first))
    planner.add_segment(*cold, shares ? quads : std::vector<std::size_t>{});
  if (!shares)
    for (const std::size_t arm : quads) planner.add_quad(arm);
  if (cold && !shares && !segment_first) planner.add_segment(*cold, {});
  return planner.take();
}

}  // namespace cox::study
