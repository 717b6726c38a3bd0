// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/step/step_pacing.hpp"

#include <algorithm>

#include "simulate/training/account/accounts.hpp"

namespace cox::simulate::training {

namespace {

constexpr std::size_t kMostChanges = 100'000;  // that are kept, as of jobs of iterations

}  // namespace

StepPacing::StepPacing(const Plan& plan, const pace::Settings& settings)
    : plan_(plan),
      settings_(settings),
      decisions_(static_cast<std::size_t>(plan.units())),
      passing_(decisions_.size()),
      delays_(decisions_.size()),
      waits_(decisions_.size()),
      tally_(decisions_.size()) {
  if (settings.mode == pace::Mode::Off) return;
  holds_.resize(decisions_.size());
  controllers_.reserve(decisions_.size());
  for (std::size_t u = 0; u < decisions_.size(); ++u) {
    const auto replica = static_cast<std::uint32_t>(u) / static_cast<std::uint32_t>(plan.stages());
    controllers_.emplace_back(settings, replica, static_cast<std::uint32_t>(plan.layout().data));
    decisions_[u] = controllers_[u].decide();
    holds_[u] = Seconds(decisions_[u].delay);
  }
}

void StepPacing::record(std::int64_t step, std::span<const Seconds> now, Recorder& recorder) const {
  for (std::size_t u = 0; u < holds_.size(); ++u)
    recorder.pace(
        static_cast<int>(u), step, now[u], now[u] + holds_[u],
        {.decision = decisions_[u], .mode = settings_.mode, .gain = controllers_[u].evidence().gain});
}

void StepPacing::received(int unit, const Instruction& /*i*/, Seconds begin, Seconds leaves,
                          Seconds arrives) {
  passing_[static_cast<std::size_t>(unit)].of_stages +=
      std::max(std::min(leaves, arrives) - begin, Seconds{});
}

void StepPacing::met(const Gathering& g) {
  if (!g.is_exchange()) return;
  const Seconds complete = *std::ranges::max_element(g.arrivals);
  for (std::size_t m = 0; m < g.members.size(); ++m)
    passing_[static_cast<std::size_t>(g.members[m])].of_experts += complete - g.arrivals[m];
}

void StepPacing::awaited(int unit, const Instruction& /*i*/, Seconds begin, Seconds alone, Seconds end) {
  Passing& p = passing_[static_cast<std::size_t>(unit)];
  p.sync += std::max(end - begin, Seconds{});
  p.alone += alone;
}

void StepPacing::close_step(std::int64_t step, bool meets, std::span<const Seconds> now) {
  for (std::size_t u = 0; u < passing_.size(); ++u) {
    delays_[u] = holds_.empty() ? Seconds{} : holds_[u];
    passing_[u].held += delays_[u];
    waits_[u] = meets ? passing_[u].alone : Seconds{};
  }
  const Seconds end = std::max(*std::ranges::max_element(now), last_end_);
  tally_.add(end - last_end_, delays_, waits_);
  last_end_ = end;
  std::ranges::fill(holds_, Seconds{});
  if (!meets) return;
  if (!controllers_.empty())
    for (std::size_t u = 0; u < passing_.size(); ++u) observe(step, u, now[u]);
  ++iterations_;
  for (std::size_t u = 0; u < passing_.size(); ++u) passing_[u] = {.began = now[u]};
}

void StepPacing::observe(std::int64_t step, std::size_t u, Seconds now) {
  const Passing& p = passing_[u];
  pace::Controller& controller = controllers_[u];
  const auto in_ps = [](Seconds s) { return duration_from_seconds(s.count()); };
  if (plan_.stages() > 1) controller.observe_other(kStages, in_ps(p.of_stages));
  if (plan_.layout().expert > 1) controller.observe_other(kExperts, in_ps(p.of_experts));
  const Duration sync = in_ps(p.sync);
  const Duration held = in_ps(p.held);
  controller.observe({.step = iterations_,
                      .work = std::max(Duration::zero(), in_ps(now - p.began) - sync - held),
                      .sync = sync,
                      .transfer = std::max(Duration::zero(), in_ps(p.sync - p.alone)),
                      .delayed = held});
  const pace::Decision decided = controller.decide();
  if (decided.reason != decisions_[u].reason)
    for (int r = 0; r < plan_.ranks_per_unit(); ++r) {
      const int rank = static_cast<int>(u) * plan_.ranks_per_unit() + r;
      if (changes_.size() < kMostChanges)
        changes_.push_back({.step = step + 1, .arm = 0, .rank = rank, .decision = decided});
      else
        ++changes_left_out_;
    }
  decisions_[u] = decided;
  holds_[u] = Seconds(decided.delay);
}

PacedSummary StepPacing::summary() const {
  PacedSummary all = tally_.summary(pace::name_of(settings_.mode), decisions_, controllers_);
  std::vector<PacedRank> ranks;
  for (const PacedRank& unit : all.ranks)
    ranks.insert(ranks.end(), static_cast<std::size_t>(plan_.ranks_per_unit()), unit);
  all.ranks = std::move(ranks);
  return all;
}

Status play_paced(StepEngine& engine, std::int64_t step, Meeting meeting, std::span<Seconds> now,
                  Watcher* watcher, Recorder* recorder, StepPacing* pacing) {
  if (pacing == nullptr) return engine.run(step, meeting, now, watcher);
  if (recorder != nullptr) pacing->record(step, now, *recorder);
  if (watcher != nullptr) {
    Both both(*watcher, *pacing);
    COX_CHECK(engine.run(step, meeting, now, &both, pacing->holds()));
  } else {
    COX_CHECK(engine.run(step, meeting, now, pacing, pacing->holds()));
  }
  pacing->close_step(step, meeting != Meeting::None, now);
  return {};
}

}  // namespace cox::simulate::training
