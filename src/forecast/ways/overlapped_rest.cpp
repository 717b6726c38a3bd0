// SPDX-License-Identifier: Apache-2.0
#include "forecast/ways/overlapped_rest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/random.hpp"
#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"

#include "forecast/calibrate/message_growth.hpp"
#include "forecast/law/monotone_cubic.hpp"

namespace cox::forecast {
namespace {

constexpr int kDraws = 120;
constexpr double kEnd = 0.02;  ///< of draws beyond each end of the range
constexpr std::int64_t kMostRanks = 1'048'576;
constexpr int kByDoubling = 4;  ///< sizes that are played
constexpr std::uint32_t kStream = 0x68696465;
constexpr double kTold = 0.02;  ///< of a step: less is not told

using Laws = std::map<model::Collective, MessageLaw>;

/// One step, whose operations take as long among `ranks` as a law says over those recorded; the slowest rank's work `longer` times as long,
/// its operations begin `launched` times as late.
struct Played {
  const Laws& laws;
  std::int64_t seen = 0;
  std::int64_t ranks = 0;
  double longer = 1;
  double launched = 1;
  [[nodiscard]] double growth(const BesideOperation& o) const {
    const auto law = laws.find(o.kind);
    if (law == laws.end() || ranks == seen) return 1;
    const Seconds here = law->second.at(seen, o.bytes);
    return here > Seconds{} ? law->second.at(ranks, o.bytes) / here : 1;
  }
  /// What ends behind the work.
  [[nodiscard]] Seconds rest(const OverlappedStep& step) const {
    Seconds behind{};
    Seconds end{};
    std::int32_t chain = -1;
    for (const BesideOperation& o : step.operations) {
      if (o.chain != chain) end = {};
      chain = o.chain;
      end = std::max(end, launched * o.arrival) + growth(o) * (o.departure - o.arrival);
      behind = std::max(behind, end - longer * step.work);
    }
    return behind;
  }
  [[nodiscard]] Seconds mean(const std::vector<OverlappedStep>& steps) const {
    Seconds sum{};
    for (const OverlappedStep& s : steps) sum += rest(s);
    return sum / static_cast<double>(steps.size());
  }
};

/// What steps took beyond the slowest own work.
Seconds measured_rest(const Sample& sample) {
  const std::size_t ranks = sample.ranks.size();
  Welford all;
  for (std::size_t k = 0; k < sample.steps.size(); ++k) {
    Seconds rest = sample.steps[k].length;
    for (const Position& p : sample.positions) {
      const auto row = p.own.begin() + static_cast<std::ptrdiff_t>(k * ranks);
      rest -= *std::max_element(row, row + static_cast<std::ptrdiff_t>(ranks));
    }
    all.add(std::max(rest.count(), 0.0));
  }
  return Seconds{all.mean()};
}

/// By how much the slowest of so many ranks takes longer than that of those seen, by the parts; of strong scaling with less work.
class Slowest {
 public:
  Slowest(const Parts& parts, ProjectOptions options, const std::vector<std::int64_t>& sizes) {
    options.replicates = 0;
    options.coarse = true;
    options.growth = {};
    options.rest = [](std::int64_t) { return TimeEstimate{}; };
    Parts alone = parts;
    alone.beyond = {};
    alone.beyond_growth.clear();
    alone.rest = {};
    const Seconds seen = project_one(alone, parts.ranks, options).mean.value;
    std::vector<double> x, y;
    for (std::size_t i = 0; i < sizes.size(); i += kByDoubling) {
      const double longer = project_one(alone, sizes[i], options).mean.value / seen;
      if (!std::isfinite(longer) || !(longer > 0)) continue;
      x.push_back(std::log(static_cast<double>(sizes[i])));
      y.push_back(std::log(longer));
    }
    if (!x.empty()) curve_.emplace(std::move(x), std::move(y));
  }
  [[nodiscard]] double at(std::int64_t ranks) const {
    return curve_ ? std::exp(curve_->at(std::log(static_cast<double>(ranks))).y) : 1;
  }

 private:
  std::optional<MonotoneCubic> curve_;
};

std::vector<std::int64_t> sizes_from(std::int64_t least, std::int64_t seen) {
  std::vector<std::int64_t> below, out;
  for (int i = 1;; ++i) {
    const auto n = std::llround(static_cast<double>(seen) * std::exp2(-static_cast<double>(i) / kByDoubling));
    if (n < std::max<std::int64_t>(least, 1)) break;
    if ((below.empty() ? seen : below.back()) > n) below.push_back(n);
  }
  out.assign(below.rbegin(), below.rend());
  for (int i = 0;; ++i) {
    const auto n = std::llround(static_cast<double>(seen) * std::exp2(static_cast<double>(i) / kByDoubling));
    if (n > kMostRanks) break;
    if (out.empty() || n > out.back()) out.push_back(n);
  }
  return out;
}

/// By ranks, smooth between those that were played.
class Table {
 public:
  Table(const std::vector<std::int64_t>& sizes, const std::vector<TimeEstimate>& rests, double seen_units)
      : units_(static_cast<std::int64_t>(seen_units)) {
    std::vector<double> x, low, value, high;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      x.push_back(std::log(static_cast<double>(sizes[i])));
      low.push_back(rests[i].low.count());
      value.push_back(rests[i].value.count());
      high.push_back(rests[i].high.count());
    }
    low_.emplace(x, low);
    value_.emplace(x, value);
    high_.emplace(x, high);
  }
  [[nodiscard]] TimeEstimate at(std::int64_t ranks) const {
    const double x = std::log(static_cast<double>(std::max<std::int64_t>(ranks, 1)));
    TimeEstimate out{
        .value = Seconds{std::max(value_->at(x).y, 0.0)}, .origin = Origin::Range, .units = units_};
    out.low = Seconds{std::clamp(low_->at(x).y, 0.0, out.value.count())};
    out.high = Seconds{std::max(high_->at(x).y, out.value.count())};
    out.split = true;
    return out;
  }

 private:
  std::optional<MonotoneCubic> low_, value_, high_;
  std::int64_t units_ = 0;
};

/// Laws of all kinds that steps have: as estimated, and drawn.
struct AllLaws {
  Laws value{};
  std::vector<Laws> draws{};
  std::int64_t sizes = 0;
  bool bytes_told = true;
  bool only_one_node = false;
};

std::optional<AllLaws> laws_of(std::span<const Sample> samples, const std::vector<OverlappedStep>& steps) {
  AllLaws out;
  out.draws.resize(kDraws);
  out.sizes = std::numeric_limits<std::int64_t>::max();
  for (const OverlappedStep& s : steps)
    for (const BesideOperation& o : s.operations) {
      if (out.value.contains(o.kind)) continue;
      const auto growth = message_growth(samples, o.kind, kDraws);
      if (!growth) return std::nullopt;
      out.value[o.kind] = growth->value;
      for (std::size_t r = 0; r < kDraws; ++r) out.draws[r][o.kind] = growth->draws[r];
      out.sizes = std::min(out.sizes, growth->sizes);
      out.bytes_told = out.bytes_told && growth->bytes_told;
      out.only_one_node = out.only_one_node || growth->only_one_node;
    }
  return out;
}

Seconds mean_step(const Sample& sample) {
  Seconds sum{};
  for (const SampleStep& s : sample.steps) sum += s.length;
  return sum / static_cast<double>(sample.steps.size());
}

std::string unknown_of(const AllLaws& laws, std::int64_t seen) {
  std::vector<std::string> of;
  if (laws.only_one_node)
    return fmt::format(
        "how long messages take beyond one node, and so what surfaces of those that work hides: {} ranks of one were recorded",
        seen);
  if (laws.sizes > 2 || (laws.sizes > 1 && laws.bytes_told)) return {};
  return fmt::format("how messages grow with the ranks, and so what surfaces of those that work hides: {}",
                     laws.sizes == 1 ? "a Run of other ranks tells" : "a third size tells more");
}

/// Steps of one size that are played.
struct Recorded {
  const std::vector<OverlappedStep>& steps;
  std::int64_t ranks = 0;
  std::int64_t among = 0;
  Seconds beside{};  ///< what the play does not explain there: no more, no less at other sizes
};

/// One of each size, ascending.
std::vector<Recorded> recorded_of(std::span<const Sample> samples, const Laws& laws) {
  std::vector<Recorded> out;
  for (const Sample& s : samples) {
    if (s.record.overlapped.empty() || (!out.empty() && out.back().ranks == s.size())) continue;
    const std::int64_t among = s.record.overlapped_among;
    const Seconds here = Played{.laws = laws, .seen = among, .ranks = among}.mean(s.record.overlapped);
    out.push_back(
        {.steps = s.record.overlapped, .ranks = s.size(), .among = among, .beside = measured_rest(s) - here});
  }
  return out;
}

/// Those of the largest size that is not above so many ranks: when what waited for the operation before it could have begun is not recorded.
const Recorded& played_at(const std::vector<Recorded>& recorded, std::int64_t ranks) {
  const auto above = std::ranges::upper_bound(recorded, ranks, {}, &Recorded::ranks);
  return above == recorded.begin() ? recorded.front() : *std::prev(above);
}

OverlappedRest played(std::span<const Sample> samples, const Parts& parts, const ProjectOptions& options,
                      const AllLaws& laws) {
  const Sample& sample = samples.back();
  const std::vector<OverlappedStep>& steps = sample.record.overlapped;
  const std::int64_t seen = sample.size();
  std::vector<std::int64_t> sizes = sizes_from(samples.front().size() / 2, seen);
  const Slowest slowest(parts, options, sizes);
  const std::vector<Recorded> recorded = recorded_of(samples, laws.value);
  for (const Recorded& r : recorded)
    if (const auto at = std::ranges::lower_bound(sizes, r.ranks); at == sizes.end() || *at != r.ranks)
      sizes.insert(at, r.ranks);
  const RandomStream random(options.seed, kStream);
  std::vector<TimeEstimate> rests(sizes.size());
  parallel_for(sizes.size(), options.threads, [&](std::size_t i) {
    const Recorded& of_size = played_at(recorded, sizes[i]);
    const double times = static_cast<double>(sizes[i]) / static_cast<double>(of_size.ranks);
    const auto ranks = std::max<std::int64_t>(std::llround(times * static_cast<double>(of_size.among)), 1);
    const double longer = slowest.at(sizes[i]) / slowest.at(of_size.ranks);
    const auto rest = [&](const Laws& of, double launched) {
      const Played p{.laws = of,
                     .seen = of_size.among,
                     .ranks = ranks,
                     .longer = longer,
                     .launched = 1 + launched * (longer - 1)};
      return std::max(p.mean(of_size.steps) + of_size.beside, Seconds{});
    };
    TimeEstimate& out = rests[i];
    out.value = rest(laws.value, 1);
    std::vector<double> drawn;
    for (std::size_t r = 0; r < laws.draws.size(); ++r)
      drawn.push_back(
          rest(laws.draws[r], options.scaling == Scaling::Strong ? 1 : random.uniform(r, 0)).count());
    out.low = std::min(Seconds{quantile(drawn, kEnd)}, out.value);
    out.high = std::max(Seconds{quantile_in_place(drawn, 1 - kEnd)}, out.value);
    if (sizes[i] > seen) out.high += std::chrono::abs(of_size.beside);  // it may be more
  });
  OverlappedRest out;
  const auto table = std::make_shared<const Table>(sizes, rests, static_cast<double>(steps.size()));
  out.at = [table](std::int64_t ranks) { return table->at(ranks); };
  std::int64_t from = 0;
  for (const std::int64_t n : sizes)
    if (from == 0 && n > seen && table->at(n).value - table->at(seen).value > kTold * mean_step(sample))
      from = n;
  out.told = fmt::format(
      "{} recorded steps are played again at each size, with messages as {} of ranks {}: what work hides {}",
      steps.size(), laws.sizes == 1 ? "one number" : fmt::format("{} numbers", laws.sizes),
      laws.sizes == 1 ? "allows" : "tell",
      from > 0 ? fmt::format("surfaces from {} ranks on", grouped(from)) : std::string("stays hidden"));
  out.unknown = unknown_of(laws, seen);
  return out;
}

/// Hidden in a step, of a rank's mean.
Seconds hidden_of(const Sample& sample) {
  Seconds hidden{};
  for (const BackgroundTime& b : sample.record.background) hidden += b.hidden;
  return hidden / static_cast<double>(sample.record.background.size()) /
         static_cast<double>(sample.steps.size());
}

}  // namespace

std::optional<OverlappedRest> overlapped_rest(std::span<const Sample> samples, const Parts& parts,
                                              const ProjectOptions& options) {
  if (samples.empty() || parts.positions.empty()) return std::nullopt;
  const Sample& sample = samples.back();
  if (sample.record.background.empty() || sample.steps.empty()) return std::nullopt;
  const Seconds hidden = hidden_of(sample);
  if (hidden <= kTold * mean_step(sample)) return std::nullopt;  // next to nothing that could surface
  if (!sample.record.overlapped.empty())
    if (const auto laws = laws_of(samples, sample.record.overlapped))
      return played(samples, parts, options, *laws);
  OverlappedRest out{.hidden = hidden};
  out.unknown =
      "what surfaces of the communication that work hides: when it ends is not recorded, or steps wait for it more than once; bands of "
      "sizes reach up to nothing hidden";
  return out;
}

void widen_by_hidden(SizePoint& point, std::int64_t seen, Seconds hidden) {
  if (!point.refused.empty() || point.ranks <= seen) return;
  for (TimeBand* band : {&point.mean, &point.median, &point.p95, &point.p99, &point.p999, &point.with_unseen,
                         &point.with_shared, &point.without_growth})
    if (band->high > Seconds{}) band->high += hidden;
}

}  // namespace cox::forecast
