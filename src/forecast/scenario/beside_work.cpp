// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/beside_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/stats.hpp"
#include "cox/model/closed_form.hpp"

#include "forecast/calibrate/message_growth.hpp"

namespace cox::forecast {
namespace {

using model::Algorithm;
using model::Collective;

constexpr double kTold = 0.02;             ///< of a step: less that is hidden is not told
constexpr double kSeenEnough = 0.1;        ///< of steps in which a sum did not wait tell where it begins
constexpr double kBehind = 0.01;           ///< of own work: less behind the waits is chance
constexpr double kSteady = 0.005;          ///< what messages vary by less is not played
constexpr double kMostMessages = 1 << 24;  ///< of all steps, that are played one by one
constexpr double kBackward = 2.0 / 3;      ///< of own work, where the first sum does not say more
constexpr Seconds kRounding{1e-6};  ///< a sum that begins so soon behind the one before it waited for it

using Steps = std::vector<OverlappedStep>;

/// Why these steps are none that layers can say; empty = they are.
std::string obstacle(const Steps& steps) {
  const auto& first = steps.front().operations;
  for (const OverlappedStep& s : steps) {
    if (s.operations.size() != first.size() || !(s.work > Seconds{}))
      return "steps have unlike numbers of sums beside their work";
    for (std::size_t i = 0; i < first.size(); ++i) {
      const BesideOperation& o = s.operations[i];
      if (o.chain != 0) return "several groups of ranks sum beside each other";
      if (o.kind != Collective::AllReduce) return "what runs beside work are no all-reduces";
      if (o.bytes != first[i].bytes) return "steps have sums of unlike sizes beside their work";
      if (o.bytes <= Bytes{}) return "the bytes of what runs beside work are not recorded";
    }
  }
  return {};
}

/// What of the sums' time the work hides, over the steps.
double hidden_share(const Steps& steps) {
  Seconds hidden{};
  Seconds all{};
  for (const OverlappedStep& s : steps) {
    Seconds end = s.work;
    for (const BesideOperation& o : s.operations) {
      hidden += std::max(std::min(o.departure, s.work) - o.arrival, Seconds{});
      end = std::max(end, o.departure);
    }
    all += end;
  }
  return all > Seconds{} ? hidden / all : 0;
}

/// Where in the work sums begin, as parts of it.
struct Places {
  std::vector<double> at{};
  std::size_t waited = 0;  ///< sums of which only the latest place is known
};

/// Where one sum was seen.
struct SeenPlace {
  std::optional<double> at{};
  double latest = 1;
};

SeenPlace seen_place(const Steps& steps, std::size_t i) {
  std::vector<double> known, all;
  for (const OverlappedStep& s : steps) {
    const double at = s.operations[i].arrival / s.work;
    all.push_back(at);
    if (i == 0 || s.operations[i].arrival > s.operations[i - 1].departure + kRounding) known.push_back(at);
  }
  SeenPlace out{.latest = std::clamp(quantile_in_place(all, kSeenEnough), 0.0, 1.0)};
  if (static_cast<double>(known.size()) >= kSeenEnough * static_cast<double>(steps.size()))
    out.at = std::min(quantile_in_place(known, 0.5), 1.0);
  return out;
}

Places places_of(const Steps& steps) {
  const auto& sums = steps.front().operations;
  const std::size_t count = sums.size();
  std::vector<SeenPlace> seen;
  for (std::size_t i = 0; i < count; ++i) seen.push_back(seen_place(steps, i));
  Places out;
  double before = 0;
  for (std::size_t i = 0; i < count;) {
    std::size_t end = i;  // the next one that is known, or the end of the work
    while (end < count && !seen[end].at) ++end;
    const double at = end < count ? *seen[end].at : 1;
    double bytes = 0, all = 0;
    const std::size_t last = std::min(end, count - 1);
    for (std::size_t k = i; k <= last; ++k) all += static_cast<double>(sums[k].bytes.count());
    const double from = before;
    for (std::size_t k = i; k <= last; ++k) {
      bytes += static_cast<double>(sums[k].bytes.count());
      const double even = seen[k].at ? at : std::min(from + (at - from) * bytes / all, seen[k].latest);
      before = std::max(before, even);
      out.at.push_back(before);
      out.waited += seen[k].at ? 0 : 1;
    }
    i = last + 1;
  }
  return out;
}

/// Of own work what is behind the waits.
double behind_waits(const Sample& sample) {
  const std::size_t ranks = sample.ranks.size();
  Welford own, until;
  for (std::size_t k = 0; k < sample.steps.size(); ++k) {
    Seconds most{};
    for (std::size_t r = 0; r < ranks; ++r) most = std::max(most, sample.positions.front().at(k, r, ranks));
    own.add(most.count());
  }
  for (const OverlappedStep& s : sample.record.overlapped) until.add(s.work.count());
  const double part = own.mean() > 0 ? 1 - until.mean() / own.mean() : 0;
  return part > kBehind ? std::min(part, 0.9) : 0;
}

/// Seven digits: layers that are alike are one line of a file.
Seconds rounded(Seconds time) {
  if (!(time > Seconds{})) return {};
  const double unit = std::pow(10.0, std::floor(std::log10(time.count())) - 6);
  return Seconds{std::round(time.count() / unit) * unit};
}

/// Layers in their order, which the backward pass goes through from the end: one for each sum, and one before them for work behind the last.
std::vector<model::Layer> layers_of(const Steps& steps, const Places& places, Seconds work) {
  const auto& sums = steps.front().operations;
  const double forward = std::min(1 - kBackward, places.at.front());
  std::vector<model::Layer> out;
  double from = forward;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    out.push_back({.forward = rounded(work * forward / static_cast<double>(sums.size())),
                   .backward = rounded(work * (places.at[i] - from)),
                   .gradients = sums[i].bytes,
                   .activations = {}});
    from = places.at[i];
  }
  if (from < 1)
    out.push_back(
        {.forward = {}, .backward = rounded(work * (1 - from)), .gradients = {}, .activations = {}});
  std::ranges::reverse(out);
  return out;
}

/// The sums of a step that its end follows: the last one, and those before it that it waited for.
std::span<const BesideOperation> followed(const OverlappedStep& step) {
  const auto& sums = step.operations;
  std::size_t first = sums.size() - 1;
  while (first > 0 && sums[first].arrival <= sums[first - 1].departure + kRounding) --first;
  return std::span(sums).subspan(first);
}

/// Sums that steps follow, by what messages would cost, and over that what they took.
struct Compared {
  Welford ratio{};      ///< one a step
  Welford seen{};       ///< seconds, one a step
  double by_bytes = 0;  ///< of their time, what is no latency
};

Compared compare(const Steps& steps, model::CollectiveSpec spec, const model::MessageCost& cost) {
  model::MessageCost no_latency = cost;
  no_latency.latency = {};
  Compared out;
  Seconds all{};
  Seconds by_bytes{};
  for (const OverlappedStep& s : steps) {
    Seconds seen{};
    Seconds here{};
    for (const BesideOperation& o : followed(s)) {
      spec.bytes = o.bytes;
      seen += o.departure - o.arrival;
      here += model::closed_form(spec, cost).value_or(Seconds{});
      by_bytes += model::closed_form(spec, no_latency).value_or(Seconds{});
    }
    if (here > Seconds{}) out.ratio.add(seen / here);
    out.seen.add(seen.count());
    all += here;
  }
  out.by_bytes = all > Seconds{} ? by_bytes / all : 0;
  return out;
}

/// Messages of one sum.
double messages_of(Algorithm way, std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  return 2 * n * (way == Algorithm::Ring ? n - 1 : std::log2(n));
}

/// What messages vary by from step to step, of so many a step in so many steps.
void set_spread(BesideWork& out, const Compared& with, double messages, std::size_t steps) {
  const double cv = with.ratio.stddev() / with.ratio.mean();
  if (!(cv > kSteady)) return;
  if (messages * static_cast<double>(steps) > kMostMessages || with.by_bytes < 0.5) {
    out.deviation = Seconds{with.seen.stddev()};
    return;
  }
  out.cv = cv / with.by_bytes;
  out.notes.emplace_back(
      "what messages vary by from step to step is played as bandwidth that all of a step share");
}

/// How messages are carried out, and what one costs, so that the sums which steps follow take as long as they did.
/// `recorded`: steps of the Run.
void set_messages(BesideWork& out, const MessageGrowth& growth, std::int64_t ranks, const Steps& steps,
                  std::size_t recorded) {
  constexpr Algorithm kWays[] = {Algorithm::Ring, Algorithm::HalvingDoubling, Algorithm::RecursiveDoubling};
  const MessageLaw& law = growth.value;
  const bool doubles = law.way == MessageWay::Doubling;
  out.job.collective = {.kind = Collective::AllReduce, .algorithm = kWays[static_cast<std::size_t>(law.way)]};
  out.cost.latency = doubles ? law.passes * law.latency : law.latency;
  out.cost.per_byte =
      TimePerByte::seconds_per_byte(law.per_byte.in_seconds_per_byte() / (doubles ? 1 : law.passes));
  model::CollectiveSpec spec = out.job.collective;
  spec.ranks = static_cast<int>(ranks);
  const Compared with = compare(steps, spec, out.cost);
  if (!(with.ratio.mean() > 0)) return;
  out.cost.latency *= with.ratio.mean();
  out.cost.per_byte =
      TimePerByte::seconds_per_byte(out.cost.per_byte.in_seconds_per_byte() * with.ratio.mean());
  const bool told = growth.bytes_told || growth.sizes > 1;
  out.notes.push_back(fmt::format(
      "messages: {} of the time of these sums is latency, {}", percent(1 - with.by_bytes),
      told ? "as several sizes tell" : "as is likely: one size does not tell, and faster links rest on it"));
  set_spread(
      out, with,
      messages_of(out.job.collective.algorithm, ranks) * static_cast<double>(steps.front().operations.size()),
      recorded);
}

std::string places_note(const Places& places) {
  const std::size_t count = places.at.size();
  const std::string seen =
      count == 1
          ? "the sum of a step begins where in the work it was seen to begin, as a layer"
          : fmt::format("the {} sums of a step begin where in the work they were seen to begin, as layers",
                        count);
  if (places.waited == 0) return seen;
  return seen +
         fmt::format("; {} waited for the one before: evenly between the others, by bytes", places.waited);
}

}  // namespace

BesideWork beside_work(const Sample& sample, std::span<const Sample> samples, Seconds compute,
                       std::int64_t ranks) {
  BesideWork out;
  const Steps& steps = sample.record.overlapped;
  if (sample.record.background.empty() || sample.positions.size() != 1) return out;
  if (steps.empty()) {
    out.why_not = "when what runs beside work ends is not recorded, or steps wait for it more than once";
    return out;
  }
  if (hidden_share(steps) < kTold) return out;
  out.why_not = obstacle(steps);
  const std::optional<MessageGrowth> growth = message_growth(samples, Collective::AllReduce, 0);
  if (out.why_not.empty() && !growth) out.why_not = "no times of the sums beside work are recorded";
  if (!out.why_not.empty()) return out;
  Places places = places_of(steps);
  const double behind = behind_waits(sample);
  out.notes.push_back(places_note(places));
  set_messages(out, *growth, ranks, steps, sample.steps.size());
  out.job.layout.data = static_cast<int>(ranks);
  for (double& at : places.at) at = behind + (1 - behind) * at;
  out.job.layers = layers_of(steps, places, compute);
  out.job.bucket = std::ranges::min_element(steps.front().operations, {}, &BesideOperation::bytes)->bytes;
  return out;
}

}  // namespace cox::forecast
