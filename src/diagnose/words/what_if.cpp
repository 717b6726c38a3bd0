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
/// What would gain less is not worth a line.
constexpr double kWorthSaying = 0.0005;
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

/// x1.018 (1.012 to 1.027)
std::string speedup(const Estimate& e) {
  if (!e.has_interval) return fmt::format("x{:.3f}", e.speedup_ratio);
  return fmt::format("x{:.3f} ({:.3f} to {:.3f})", e.speedup_ratio, e.speedup_low, e.speedup_high);
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
    if (r.evaluated && r.fixed.speedup_ratio - 1 > kWorthSaying) order.push_back(&r);
  std::sort(order.begin(), order.end(), [](const RankWhatIf* a, const RankWhatIf* b) {
    return a->fixed.speedup_ratio != b->fixed.speedup_ratio ? a->fixed.speedup_ratio > b->fixed.speedup_ratio
                                                            : a->rank < b->rank;
  });
  for (std::size_t i = 0; i < order.size() && i < kListed; ++i)
    lines.push_back(fmt::format("rank {} fixed: {}, {} of what is lost; it alone slow: {} lost",
                                order[i]->rank.value(), speedup(order[i]->fixed),
                                percent(order[i]->removal_share), percent(order[i]->loss_ratio)));
  if (order.size() > kListed) lines.push_back(fmt::format("and {} more ranks", order.size() - kListed));
}

void add_sets(const WhatIf& w, std::vector<std::string>& lines) {
  for (const SetWhatIf& s : w.sets)
    if (s.ranks.size() > 1 && s.ranks.size() <= kLargestSet)
      lines.push_back(fmt::format("ranks {} fixed together: {}{}", numbers(s.ranks), speedup(s.fixed),
                                  s.beyond_noise ? "" : ", the last one within the noise"));
  const auto best = [&](const std::vector<SetWhatIf>& sets, std::string_view what) {
    if (!sets.empty())
      lines.push_back(fmt::format("best {} of all: ranks {}: {}", what, numbers(sets.front().ranks),
                                  speedup(sets.front().fixed)));
  };
  best(w.best_pairs, "pair");
  best(w.best_triples, "three");
}

void add_fabric(const WhatIf& w, std::vector<std::string>& lines) {
  lines.push_back(fmt::format("better fabric: ten times faster {}, no transfer at all {}",
                              speedup(w.fabric_tenfold), speedup(w.fabric_free)));
  std::size_t said = 0;
  for (const CommWhatIf& c : w.communicators) {
    if (!c.evaluated || c.zero.speedup_ratio - 1 < kWorthSaying || said == kListed) continue;
    lines.push_back(fmt::format("{}: never slower than its lower quartile {}, no transfer {}", label(c),
                                speedup(c.lower_quartile), speedup(c.zero)));
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
  lines.push_back(fmt::format("{} as recorded, {} if all worked as their peers: {:.3f} times slower",
                              to_string(w.simulated), to_string(w.ideal), w.slowdown_ratio));
  if (!w.why.empty()) lines.push_back("doubtful: " + w.why);
  if (whom == Whom::Ranks) {
    add_ranks(w, lines);
    add_sets(w, lines);
  }
  if (w.amplification_ratio > 0)
    lines.push_back(fmt::format("{} of own delay cost all ranks together {}: {:.1f} times as much",
                                to_string(w.injected), to_string(w.lost), w.amplification_ratio));
  add_fabric(w, lines);
  add_path(w, lines);
  lines.insert(lines.end(), w.screened.begin(), w.screened.end());
  for (std::string& line : lines) line = shortened(std::move(line));
  return lines;
}

}  // namespace cox::diagnose
