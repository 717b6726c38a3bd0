// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/message_levers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "forecast/calibrate/run_parameters.hpp"

namespace cox::forecast {
namespace {

constexpr double kLess = 0.25;  ///< of the bytes: 8 bits an element of 32; of a bucket
constexpr double kMoreMessages = 4;

bool sums_gradients(model::Collective kind) {
  return kind == model::Collective::AllReduce || kind == model::Collective::ReduceScatter;
}

/// What messages between these ranks take, where their sizes part latency from bytes.
struct MessageFits {
  std::vector<MessageFit> fits;

  [[nodiscard]] const MessageFit* of(model::Collective kind, std::int64_t ranks, bool one_node) const {
    const auto at = std::ranges::find_if(fits, [&](const MessageFit& f) {
      return f.kind == kind && f.ranks == ranks && f.one_node == one_node;
    });
    return at == fits.end() ? nullptr : &*at;
  }
};

bool parts_latency(const MessageFit* fit) {
  return fit != nullptr && fit->per_byte.origin == Origin::Measured && fit->sizes > 1;
}

Seconds time_of(const MessageFit& fit, Bytes bytes) {
  return fit.latency.value + fit.per_byte.value.over(bytes);
}

/// The part of a message's time that is latency.
TimesAsLong latency_part(const MessageFit& fit, Bytes bytes) {
  const auto part = [bytes](Seconds latency, TimePerByte per_byte) {
    const Seconds all = latency + per_byte.over(bytes);
    return all > Seconds{} ? latency / all : 0.5;
  };
  return {.value = part(fit.latency.value, fit.per_byte.value),
          .low = part(fit.latency.low, fit.per_byte.high),
          .high = part(fit.latency.high, fit.per_byte.low)};
}

/// A line in a part is one in its interval, too.
TimesAsLong line(const TimesAsLong& part, double at_none, double at_all) {
  const auto at = [&](double p) { return at_none + (at_all - at_none) * p; };
  TimesAsLong out{.value = at(part.value), .low = at(part.low), .high = at(part.high)};
  if (out.low > out.high) std::swap(out.low, out.high);
  return out;
}

/// Mean over positions by what they transfer; those that `of` says nothing of stay.
std::optional<TimesAsLong> over_positions(
    const Sample& sample, const std::function<std::optional<TimesAsLong>(const Position&)>& of) {
  TimesAsLong sum{.value = 0, .low = 0, .high = 0};
  Seconds all{};
  bool any = false;
  for (const Position& p : sample.positions) {
    const std::optional<TimesAsLong> here = of(p);
    any = any || here.has_value();
    const TimesAsLong times = here.value_or(TimesAsLong{});
    const double weight = p.traffic.transfer.count();
    sum.value += weight * times.value;
    sum.low += weight * times.low;
    sum.high += weight * times.high;
    all += p.traffic.transfer;
  }
  if (!any || !(all > Seconds{})) return {};
  return TimesAsLong{
      .value = sum.value / all.count(), .low = sum.low / all.count(), .high = sum.high / all.count()};
}

std::int64_t node_count(const Sample& sample) {
  std::set<std::int32_t> nodes;
  for (const SampleRank& r : sample.ranks) {
    if (r.node < 0) return 0;
    nodes.insert(r.node);
  }
  return static_cast<std::int64_t>(nodes.size());
}

/// Whether the ranks of a node have numbers one after another.
bool node_after_node(const Sample& sample) {
  std::vector<SampleRank> order = sample.ranks;
  std::ranges::sort(order, {}, &SampleRank::rank);
  std::set<std::int32_t> done;
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i].node != order[i - 1].node) {
      if (done.contains(order[i].node)) return false;
      done.insert(order[i - 1].node);
    }
  return true;
}

bool in_one_node(const Sample& sample) {
  return node_count(sample) == 1;
}

bool is_beside_work(const Sample& sample) {
  return !sample.record.background.empty();
}

/// Where all that the ranks stand in is the end of what they began before: the sums of all ranks that are under way beside work.
std::vector<const MessageTimes*> sums_beside_work(const Sample& sample) {
  std::vector<const MessageTimes*> out;
  const bool stood_in = std::ranges::any_of(
      sample.positions, [](const Position& p) { return p.traffic.kind != model::Collective::Other; });
  if (stood_in || !is_beside_work(sample)) return out;
  for (const MessageTimes& m : sample.record.messages)
    if (sums_gradients(m.kind) && m.ranks == sample.size() && m.bytes > Bytes{}) out.push_back(&m);
  return out;
}

std::string one_size(const PartsCase& job) {
  return fmt::format("messages of one size do not part latency from bytes: none to {} of {} would go",
                     percent(1 - kLess), to_string(job.parts.rest.value));
}

/// Why nothing is known of the bytes of what is under way beside work; empty = times by size are there.
std::string why_no_bytes_beside(const PartsCase& job, const Sample& sample, const MessageFits& known) {
  const std::vector<const MessageTimes*> sums = sums_beside_work(sample);
  if (sums.empty())
    return sample.record.until_waits
               ? "sums are under way beside work, and when each was done is not recorded"
               : "what is under way beside work is no sum of all ranks";
  for (const MessageTimes* m : sums)
    if (!parts_latency(known.of(m->kind, m->ranks, m->one_node))) return one_size(job);
  return {};
}

/// Why no lever of bytes can be told; empty = times by size are there for a position at least.
std::string why_no_bytes(const PartsCase& job, const Sample& sample, const MessageFits& known) {
  if (!(job.parts.rest.value > Seconds{})) return "no communication was seen";
  bool summed = false, sized = false;
  for (const Position& p : sample.positions) {
    if (!sums_gradients(p.traffic.kind)) continue;
    summed = true;
    if (p.traffic.bytes <= Bytes{} || !(p.traffic.transfer > Seconds{})) continue;
    sized = true;
    if (parts_latency(known.of(p.traffic.kind, sample.size(), in_one_node(sample)))) return {};
  }
  if (!summed && is_beside_work(sample)) return why_no_bytes_beside(job, sample, known);
  if (!summed) return "the input tells no sum that all ranks meet in";
  if (!sized) return "how many bytes the ranks exchange, or how long that takes, is not in the input";
  return one_size(job);
}

/// Of sums beside work, the one that fewer bytes shorten least: no step ends later than with all of them as that.
std::optional<TimesAsLong> least_shortened(const Sample& sample, const MessageFits& known) {
  std::optional<TimesAsLong> out;
  for (const MessageTimes* m : sums_beside_work(sample)) {
    const MessageFit* fit = known.of(m->kind, m->ranks, m->one_node);
    if (!parts_latency(fit)) return {};
    const TimesAsLong here = line(latency_part(*fit, m->bytes), kLess, 1);
    if (!out || here.value > out->value) out = here;
  }
  return out;
}

/// Of what is hidden nothing is taken away: shorter messages leave less of the rest than is told.
std::string at_least(const Sample& sample) {
  return !is_beside_work(sample) ? "" : "; at least, as what is beside work gets shorter, too";
}

PartLever message_lever(std::string name, std::string does, std::string why,
                        std::optional<TimesAsLong> times) {
  PartLever out{
      .name = std::move(name), .does = std::move(does), .part = {}, .why_not = std::move(why), .apply = {}};
  out.part = out.name;
  if (out.why_not.empty() && !times) out.why_not = "no time of a message is known";
  if (out.why_not.empty()) out.apply = [by = *times](PartsCase& c) { change_communication(c, by); };
  return out;
}

void add_bytes(const PartsCase& job, const Sample& sample, const MessageFits& known,
               std::vector<PartLever>& out) {
  const std::string why = why_no_bytes(job, sample, known);
  const auto along = [&](double at_none, double at_all) {
    return over_positions(sample, [&](const Position& p) -> std::optional<TimesAsLong> {
      const MessageFit* fit = known.of(p.traffic.kind, sample.size(), in_one_node(sample));
      if (!sums_gradients(p.traffic.kind) || !parts_latency(fit)) return {};
      return line(latency_part(*fit, p.traffic.bytes), at_none, at_all);
    });
  };
  std::optional<TimesAsLong> fewer = along(kLess, 1);
  if (!fewer) fewer = least_shortened(sample, known);
  PartLever compression =
      message_lever("compression",
                    "sums of a quarter of the bytes: 8 bits an element of 32" + at_least(sample), why, fewer);
  compression.learning = "rounded gradients; what rounding takes to compute";
  out.push_back(std::move(compression));
  const bool beside = is_beside_work(sample);
  out.push_back(
      message_lever("buckets", "four sums of a quarter of the bytes, one after another",
                    beside ? "sums are under way beside work: when each could begin is not recorded" : why,
                    along(1, kMoreMessages)));
}

void add_hierarchical(const PartsCase& job, const Sample& sample, const MessageFits& known,
                      std::vector<PartLever>& out) {
  const std::int64_t nodes = node_count(sample);
  const std::int64_t each = nodes > 0 ? sample.size() / nodes : 0;
  std::string why;
  if (nodes == 0) why = "which ranks share a node is not known";
  if (nodes == 1) why = "all ranks are on one node";
  if (nodes > 1 && each < 2) why = "a node has one rank";
  std::map<std::int32_t, std::int64_t> ranks_on;
  for (const SampleRank& r : sample.ranks) ++ranks_on[r.node];
  const bool alike = std::ranges::all_of(ranks_on, [each](const auto& node) { return node.second == each; });
  if (nodes > 1 && !alike) why = "nodes have unlike numbers of ranks";
  const auto times = over_positions(sample, [&](const Position& p) -> std::optional<TimesAsLong> {
    const MessageFit* all = known.of(p.traffic.kind, sample.size(), false);
    const MessageFit* inside = known.of(p.traffic.kind, each, true);
    const MessageFit* across = known.of(p.traffic.kind, nodes, false);
    if (p.traffic.kind != model::Collective::AllReduce || p.traffic.bytes <= Bytes{} || !parts_latency(all) ||
        !parts_latency(inside) || !parts_latency(across))
      return {};
    const Bytes bytes = p.traffic.bytes;
    const double by = (time_of(*inside, bytes) + time_of(*across, bytes / each)) / time_of(*all, bytes);
    return TimesAsLong{.value = by, .low = by, .high = by};
  });
  if (why.empty() && !(job.parts.rest.value > Seconds{})) why = "no communication was seen";
  if (why.empty() && !times)
    why = "sums of a node's ranks, and of one rank of each, were not recorded at several sizes";
  out.push_back(message_lever("hierarchical", "sums inside the node first" + at_least(sample), why, times));
}

/// At most all of communication is beside work, as far as there is work.
void hide(PartsCase& c) {
  Seconds own{};
  for (const PositionParts& p : c.parts.positions) own += p.level.value;
  const auto less = [own](TimeEstimate t) {
    for (Seconds* one : {&t.value, &t.low, &t.high}) *one = std::max(*one - own, Seconds{});
    return t;
  };
  c.parts.rest = less(c.parts.rest);
  c.parts.rest_growth.clear();
  change_rest(c, [less](TimeEstimate rest, std::int64_t) { return less(rest); });
}

void add_overlap(const PartsCase& job, const Sample& sample, std::vector<PartLever>& out) {
  const std::string rest = to_string(job.parts.rest.value);
  PartLever lever{
      .name = "overlap",
      .does =
          !is_beside_work(sample)
              ? fmt::format("none to all of {} is hidden: which work needs the sums is not recorded", rest)
              : fmt::format(
                    "part is hidden already, and none to all of the other {}: which work could go on beside it is "
                    "not recorded",
                    rest),
      .part = "overlap",
      .why_not = job.parts.rest.value > Seconds{} ? "" : "no communication was seen",
      .apply = hide,
      .range = true};
  out.push_back(std::move(lever));
}

/// What a sum of all ranks would take, were all its messages those of a node: rings of more ranks have as many more messages, each of a
/// smaller part.
Seconds inside_alone(const MessageFit& inside, Bytes bytes, std::int64_t ranks) {
  const auto part = [](std::int64_t n) { return static_cast<double>(n - 1) / static_cast<double>(n); };
  const double messages = static_cast<double>(ranks - 1) / static_cast<double>(inside.ranks - 1);
  return inside.latency.value * messages +
         inside.per_byte.value.over(bytes) * (part(ranks) / part(inside.ranks));
}

/// From what messages take that go between nodes, as those of a sum that waits for its slowest, to what they take inside.
void add_placement(const PartsCase& job, const Sample& sample, const MessageFits& known,
                   std::vector<PartLever>& out) {
  const std::int64_t nodes = node_count(sample);
  const std::int64_t each = nodes > 0 ? sample.size() / nodes : 0;
  const auto times = over_positions(sample, [&](const Position& p) -> std::optional<TimesAsLong> {
    const MessageFit* inside = known.of(p.traffic.kind, each, true);
    if (!sums_gradients(p.traffic.kind) || each < 2 || p.traffic.bytes <= Bytes{} ||
        !(p.traffic.transfer > Seconds{}) || !parts_latency(inside))
      return {};
    const double by =
        std::min(inside_alone(*inside, p.traffic.bytes, sample.size()) / p.traffic.transfer, 1.0);
    return TimesAsLong{.value = by, .low = by, .high = by};
  });
  std::string why;
  if (nodes == 0) why = "which ranks share a node is not known";
  if (nodes == 1) why = "all ranks are on one node";
  if (nodes > 1 && node_after_node(sample)) why = "ranks are placed node after node";
  if (why.empty() && !(job.parts.rest.value > Seconds{})) why = "no communication was seen";
  if (why.empty() && !times)
    why = "what sums take among the ranks of a node alone was not recorded at several sizes";
  if (why.empty() && times->value >= 1) why = "sums among the ranks of a node alone are not quicker";
  PartLever lever = message_lever(
      "placement",
      "ranks node after node: from messages as they are, of which some go between nodes, to all as inside a node",
      std::move(why), times);
  lever.range = true;
  out.push_back(std::move(lever));
}

}  // namespace

void change_communication(PartsCase& c, const TimesAsLong& by) {
  const auto change = [by](TimeEstimate& t) {
    t.value *= by.value;
    t.low *= by.low;
    t.high *= by.high;
  };
  change(c.parts.rest);
  for (GrowthFit& fit : c.parts.rest_growth) fit.slope *= by.value;
  change_rest(c, [change](TimeEstimate rest, std::int64_t) {
    change(rest);
    return rest;
  });
}

void widen_links(PartsCase& c, double times) {
  const auto wider = [times](const RestWithLinks& links) -> RestWithLinks {
    if (!links) return {};
    return [links, times](std::int64_t ranks, double bandwidth) { return links(ranks, times * bandwidth); };
  };
  c.links = wider(c.links);
  c.exact_links = wider(c.exact_links);
  const RestWithLinks& known = c.exact_links ? c.exact_links : c.links;
  c.rest = [known](std::int64_t ranks) { return known(ranks, 1); };
  c.parts.rest = c.rest(c.parts.ranks);
}

void add_message_levers(const PartsCase& job, const Sample& sample, std::vector<PartLever>& out) {
  const MessageFits known{run_parameters({&sample, 1}).messages};
  add_hierarchical(job, sample, known, out);
  add_bytes(job, sample, known, out);
  add_overlap(job, sample, out);
  add_placement(job, sample, known, out);
}

}  // namespace cox::forecast
