// SPDX-License-Identifier: Apache-2.0
#include "diagnose/what_if/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kWidth = 118;
/// Ranks and communicators that get a line of their own.
constexpr std::size_t kListed = 5;
/// What would gain less of the run's time is not worth a line.
constexpr double kWorthSaying = 0.01;
/// The largest set that is printed: with more, half of a small job is fixed and the answer is its jitter.
constexpr std::size_t kLargestSet = 4;

std::string shortened(std::string line) {
  if (line.size() > kWidth) line = line.substr(0, kWidth - 3) + "...";
  return line;
}

std::string numbers(const std::vector<Rank>& ranks) {
  std::string text;
  for (const Rank r : ranks) text += (text.empty() ? "" : ", ") + std::to_string(r.value());
  return text;
}

/// Of the recorded time, what is saved by going `speedup` times as fast.
double saved(double speedup) {
  return speedup > 0 ? 1 - 1 / speedup : 0;
}

/// `21 % shorter (20 % to 22 %)`; without the interval where it does not hold the value or ends nowhere.
std::string shorter(const Estimate& e) {
  const std::string text = percent(std::max(0.0, saved(e.speedup_ratio))) + " shorter";
  const bool told = e.has_interval && e.speedup_low > 0.5 && e.speedup_low <= e.speedup_ratio &&
                    e.speedup_ratio <= e.speedup_high;
  return told ? fmt::format("{} ({} to {})", text, percent(saved(e.speedup_low)),
                            percent(saved(e.speedup_high)))
              : text;
}

/// Names come from files; only what any terminal shows is shown.
std::string printable(std::string_view name) {
  std::string text;
  for (const char c : name.substr(0, 40)) text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

std::string label(const CommWhatIf& c) {
  if (!c.comm) return "waits of no named communicator";
  return c.name.empty() ? fmt::format("communicator {}", c.comm->value()) : printable(c.name);
}

void add_ranks(const WhatIf& w, std::vector<std::string>& lines) {
  std::vector<const RankWhatIf*> order;
  for (const RankWhatIf& r : w.ranks)
    if (r.evaluated && saved(r.fixed.speedup_ratio) >= kWorthSaying) order.push_back(&r);
  std::sort(order.begin(), order.end(), [](const RankWhatIf* a, const RankWhatIf* b) {
    return a->fixed.speedup_ratio != b->fixed.speedup_ratio ? a->fixed.speedup_ratio > b->fixed.speedup_ratio
                                                            : a->rank < b->rank;
  });
  for (std::size_t i = 0; i < order.size() && i < kListed; ++i)
    lines.push_back(fmt::format("rank {} as its peers: {}, {} of what uneven work costs",
                                order[i]->rank.value(), shorter(order[i]->fixed),
                                percent(std::clamp(order[i]->removal_share, 0.0, 1.0))));
  if (order.size() > kListed) lines.push_back(fmt::format("and {} more ranks", order.size() - kListed));
}

void add_sets(const WhatIf& w, std::vector<std::string>& lines) {
  for (const SetWhatIf& s : w.sets)
    if (s.ranks.size() > 1 && s.ranks.size() <= kLargestSet && s.added_ratio >= kWorthSaying)
      lines.push_back(fmt::format("ranks {} together: {}{}", numbers(s.ranks), shorter(s.fixed),
                                  s.beyond_noise ? "" : ", the last one within the noise"));
  double before = 0;
  for (const RankWhatIf& r : w.ranks)
    if (r.evaluated) before = std::max(before, saved(r.fixed.speedup_ratio));
  const auto best = [&](const std::vector<SetWhatIf>& sets, std::string_view what) {
    if (sets.empty() || saved(sets.front().fixed.speedup_ratio) - before < kWorthSaying) return;
    before = saved(sets.front().fixed.speedup_ratio);
    lines.push_back(fmt::format("best {} of all: ranks {}: {}", what, numbers(sets.front().ranks),
                                shorter(sets.front().fixed)));
  };
  best(w.best_pairs, "pair");
  best(w.best_triples, "three");
}

void add_fabric(const WhatIf& w, std::vector<std::string>& lines) {
  if (saved(w.fabric_free.speedup_ratio) < kWorthSaying) return;
  lines.push_back(fmt::format("transfers ten times faster: {}; no transfer at all: {}",
                              shorter(w.fabric_tenfold), shorter(w.fabric_free)));
  std::size_t said = 0;
  for (const CommWhatIf& c : w.communicators) {
    if (!c.evaluated || said == kListed) continue;
    if (saved(c.lower_quartile.speedup_ratio) >= kWorthSaying)
      lines.push_back(fmt::format("{}: no transfer slower than its lower quartile: {}", label(c),
                                  shorter(c.lower_quartile)));
    if (w.communicators.size() > 1 && saved(c.zero.speedup_ratio) >= kWorthSaying)
      lines.push_back(fmt::format("{}: no transfer: {}", label(c), shorter(c.zero)));
    ++said;
  }
}

void add_path(const WhatIf& w, std::vector<std::string>& lines) {
  std::vector<std::size_t> order(w.path.work.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return w.path.work[a] > w.path.work[b]; });
  std::string text;
  for (std::size_t i = 0; i < order.size() && i < kListed && w.path.work[order[i]] >= 0.01; ++i)
    text += fmt::format("{}rank {} {}", text.empty() ? "" : ", ", w.ranks[order[i]].rank.value(),
                        percent(w.path.work[order[i]]));
  double transfer = 0;
  for (const CommWhatIf& c : w.communicators) transfer += c.path_share;
  lines.push_back(fmt::format("critical path: own work of {}; transfer {}", text.empty() ? "nobody" : text,
                              percent(transfer)));
}

}  // namespace

std::vector<std::string> describe(const WhatIf& w, Whom whom) {
  if (w.fidelity == Fidelity::Refused) return {shortened("not estimated: " + w.why)};
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{} as recorded, {} if all worked as their peers: {} shorter",
                              to_string(w.simulated), to_string(w.ideal),
                              percent(std::max(0.0, saved(w.slowdown_ratio)))));
  if (!w.why.empty()) lines.push_back("doubtful: " + w.why);
  if (whom == Whom::Ranks) {
    add_ranks(w, lines);
    add_sets(w, lines);
  }
  // Nobody can make more wait than there are: beyond that the divisor is noise.
  if (w.amplification_ratio > 0 && w.amplification_ratio <= static_cast<double>(w.ranks.size()))
    lines.push_back(fmt::format("{} of own delay cost all ranks together {}: {:.1f} times as much",
                                to_string(w.injected), to_string(w.lost), w.amplification_ratio));
  add_fabric(w, lines);
  add_path(w, lines);
  lines.insert(lines.end(), w.screened.begin(), w.screened.end());
  for (std::string& line : lines) line = shortened(std::move(line));
  return lines;
}

}  // namespace cox::diagnose
