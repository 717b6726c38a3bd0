// SPDX-License-Identifier: Apache-2.0
#include "forecast/calibrate/message_growth.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "cox/base/random.hpp"
#include "cox/base/stats.hpp"

namespace cox::forecast {
namespace {

constexpr double kError = 0.03;  ///< of a time: other switches, noise
/// Of the times of a number of ranks and bytes: those of ranks that arrive apart are shorter, since a ring passes on what it has.
constexpr double kUpper = 0.9;
constexpr Seconds kLatency{5e-6};
constexpr double kLatencyApart = 1.1;  ///< deviation of its logarithm
constexpr double kLeast = 1e-8;        ///< seconds: latencies that are looked at
constexpr double kMost = 3e-3;
constexpr int kLookedAt = 160;
/// What is thought of ways, in the order of `MessageWay`.
constexpr std::array<double, 3> kOfLarge = {0.7, 0.2, 0.1};
constexpr std::array<double, 3> kOfSmall = {0.2, 0.4, 0.4};
constexpr double kLeavesNode = 3;  ///< e-folds, at most, by which what leaves a node takes longer
constexpr std::uint32_t kStream = 0x6d736773;
constexpr Bytes kSmall{std::int64_t{64} * 1024};

/// A time by ranks and bytes.
struct Point {
  std::int64_t ranks = 0;
  Bytes bytes{};
  Seconds time{};
  bool one_node = false;
};

double rounds_of(MessageWay way, std::int64_t ranks) {
  const double n = static_cast<double>(std::max<std::int64_t>(ranks, 1));
  return way == MessageWay::Ring ? n - 1 : std::log2(n);
}

double passed_of(MessageWay way, std::int64_t ranks, Bytes bytes) {
  const double n = static_cast<double>(std::max<std::int64_t>(ranks, 1));
  return static_cast<double>(bytes.count()) * (way == MessageWay::Doubling ? std::log2(n) : (n - 1) / n);
}

/// The law of a way, and how far it is from points and from what is thought of a latency, in squares of their deviations.
struct Fitted {
  MessageLaw law{};
  double misfit = 0;
};

Fitted fit(const std::vector<Point>& points, MessageWay way, int passes, double thought) {
  Fitted best{.law = {.way = way, .passes = passes}, .misfit = -1};
  for (int i = 0; i < kLookedAt; ++i) {
    const double latency = kLeast * std::pow(kMost / kLeast, static_cast<double>(i) / (kLookedAt - 1));
    double xx = 0;
    double xy = 0;
    for (const Point& p : points) {
      const double t = p.time.count();
      const double x = passed_of(way, p.ranks, p.bytes) / t;
      xx += x * x;
      xy += x * (1 - passes * rounds_of(way, p.ranks) * latency / t);
    }
    const double per_byte = xx > 0 ? std::max(xy / xx, 0.0) : 0;
    double misfit = std::pow(std::log(latency / thought) / kLatencyApart, 2);
    for (const Point& p : points) {
      const double told =
          passes * rounds_of(way, p.ranks) * latency + passed_of(way, p.ranks, p.bytes) * per_byte;
      misfit += std::pow((told / p.time.count() - 1) / kError, 2);
    }
    if (best.misfit >= 0 && misfit >= best.misfit) continue;
    best.misfit = misfit;
    best.law.latency = Seconds{latency};
    best.law.per_byte = TimePerByte::seconds_per_byte(per_byte);
  }
  return best;
}

/// Of times by ranks and bytes; those on one node are another network, and left out where others were recorded.
std::vector<Point> points_of(std::span<const Sample> samples, model::Collective kind) {
  std::map<std::tuple<std::int64_t, Bytes, bool>, std::vector<double>> times;
  for (const Sample& s : samples)
    for (const MessageTimes& m : s.record.messages)
      if (m.kind == kind && m.ranks == s.record.overlapped_among)
        for (const Seconds t : m.times) times[{m.ranks, m.bytes, m.one_node}].push_back(t.count());
  std::vector<Point> out;
  for (auto& [key, all] : times)
    out.push_back({.ranks = std::get<0>(key),
                   .bytes = std::get<1>(key),
                   .time = Seconds{quantile_in_place(all, kUpper)},
                   .one_node = std::get<2>(key)});
  std::erase_if(out, [](const Point& p) { return p.ranks < 2 || !(p.time > Seconds{}); });
  if (std::ranges::any_of(out, [](const Point& p) { return !p.one_node; }))
    std::erase_if(out, [](const Point& p) { return p.one_node; });
  return out;
}

}  // namespace

Seconds MessageLaw::at(std::int64_t ranks, Bytes bytes) const {
  const Seconds time = passes * rounds_of(way, ranks) * latency +
                       Seconds{per_byte.in_seconds_per_byte() * passed_of(way, ranks, bytes)};
  return ranks > inside ? leaves_node * time : time;
}

std::optional<MessageGrowth> message_growth(std::span<const Sample> samples, model::Collective kind,
                                            int draws, std::uint64_t seed) {
  const std::vector<Point> points = points_of(samples, kind);
  if (points.empty()) return std::nullopt;
  const int passes = kind == model::Collective::AllReduce ? 2 : 1;
  MessageGrowth out;
  Bytes largest{};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& p = points[i];
    largest = std::max(largest, p.bytes);
    if (i == 0 || points[i - 1].ranks != p.ranks) ++out.sizes;
    for (const Point& q : points)
      out.bytes_told = out.bytes_told || (p.ranks == q.ranks && p.bytes.count() >= 2 * q.bytes.count());
  }
  out.only_one_node = points.front().one_node;
  const std::int64_t inside = out.only_one_node ? points.back().ranks : 0;
  const std::array<double, 3> before = largest > kSmall ? kOfLarge : kOfSmall;
  /// The likeliest way, or one by `place` in (0, 1).
  const auto choose = [&](const std::vector<Point>& of, double thought, std::optional<double> place) {
    std::array<Fitted, 3> ways{};
    std::array<double, 3> odds{};
    double sum = 0;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      ways[i] = fit(of, static_cast<MessageWay>(i), passes, thought);
      odds[i] = before[i] * std::exp((ways[0].misfit - ways[i].misfit) / 2);
      sum += odds[i];
    }
    if (!place || !std::isfinite(sum)) {
      const auto best = std::ranges::min_element(ways, {}, [&](const Fitted& f) {
        return f.misfit - 2 * std::log(before[static_cast<std::size_t>(f.law.way)]);
      });
      return best->law;
    }
    double left = *place * sum;
    for (std::size_t i = 0; i + 1 < ways.size(); ++i)
      if ((left -= odds[i]) < 0) return ways[i].law;
    return ways.back().law;
  };
  out.value = choose(points, kLatency.count(), std::nullopt);
  out.value.inside = inside;
  const RandomStream random(seed, kStream);
  for (int r = 0; r < draws; ++r) {
    const auto draw = static_cast<std::uint64_t>(r);
    const double thought = kLatency.count() * std::exp(kLatencyApart * random.normal(draw, 0));
    std::vector<Point> drawn = points;
    double error = 0;
    for (std::size_t i = 0; i < drawn.size(); ++i) {  // ranks of one number have one error
      if (i == 0 || drawn[i - 1].ranks != drawn[i].ranks) error = kError * random.normal(draw, 4 + 2 * i);
      drawn[i].time *= std::exp(error + kError / 3 * random.normal(draw, 5 + 2 * i));
    }
    MessageLaw law = choose(drawn, thought, random.uniform(draw, 1));
    if (out.only_one_node) law.leaves_node = std::exp(kLeavesNode * random.uniform(draw, 2));
    law.inside = inside;
    out.draws.push_back(law);
  }
  return out;
}

}  // namespace cox::forecast
