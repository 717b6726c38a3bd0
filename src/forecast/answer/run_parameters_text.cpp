// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/run_parameters_text.hpp"

#include <fmt/format.h>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "forecast/project/estimate_json.hpp"

namespace cox::forecast {
namespace {

std::string range(const TimeEstimate& t) {
  return t.low == t.high ? to_string(t.value)
                         : fmt::format("{} ({} .. {}{})", to_string(t.value), to_string(t.low),
                                       to_string(t.high), t.origin == Origin::Range ? ", a range" : "");
}

/// The bandwidth that goes with a time per byte; nothing where there is no limit.
std::optional<Bandwidth> bandwidth(TimePerByte t) {
  if (t <= TimePerByte{}) return {};
  return Bandwidth::bytes_per_s(1 / t.in_seconds_per_byte());
}

std::string text_of(const PerByteEstimate& p) {
  const auto value = bandwidth(p.value);
  const auto slow = bandwidth(p.high);
  const auto fast = bandwidth(p.low);
  if (!slow) return "no limit of bandwidth";
  if (!value || !fast) return "at least " + to_string(*slow);
  return fmt::format("{} ({} .. {})", to_string(*value), to_string(*slow), to_string(*fast));
}

std::string cost_text(const MessageFit& m) {
  if (m.kind == model::Collective::Barrier) return range(m.latency);
  if (m.latency.origin == Origin::Range)
    return m.most > Bytes{} ? fmt::format("{} only: its {} are latency or bandwidth, one size does not tell",
                                          to_string(m.most), to_string(m.latency.high))
                            : fmt::format("{}, of how many bytes is not known", to_string(m.latency.high));
  std::string out = fmt::format("{} sizes from {} to {}: {} and {}", m.sizes, to_string(m.least),
                                to_string(m.most), range(m.latency), text_of(m.per_byte));
  if (m.ceiling)
    out +=
        fmt::format(", at most {} of the bus from {} on", to_string(*m.ceiling), to_string(*m.ceiling_from));
  return out;
}

std::string line_of(const MessageFit& m) {
  std::string out = fmt::format("messages: {} among {}{}, {}", model::name_of(m.kind), grouped(m.ranks),
                                m.one_node ? " on one node" : "", cost_text(m));
  if (m.dip > 0)
    out += fmt::format("; {} of them take over twice as long, {:.1f} times on average", percent(m.dips.value),
                       m.dip);
  return out;
}

std::string line_of(const StartFit& s) {
  const std::string first =
      fmt::format("start-up: {} from the first process to the first step", range(s.at_seen));
  if (s.sizes < 2) return first + "; one size does not tell what of it grows with the ranks";
  return first + fmt::format("; {} and {} for each rank", range(s.fixed), range(s.per_rank));
}

std::string line_of(const FailuresSeen& f) {
  std::string out = fmt::format("failures: {} rank{} ended otherwise than with status 0, {} restart{}",
                                f.ended, f.ended == 1 ? "" : "s", f.restarts, f.restarts == 1 ? "" : "s");
  if (f.between.low <= Seconds{}) return out;
  return out + (f.between.origin == Origin::Measured
                    ? ", a node's failure every " + range(f.between)
                    : fmt::format(", so a node fails less often than every {} (19 times of 20)",
                                  to_string(f.between.low)));
}

}  // namespace

std::vector<std::string> run_lines(const RunParameters& run, bool all) {
  std::vector<std::string> out;
  for (const MessageFit& m : run.messages)
    if (all || (m.sizes > 1 && m.latency.origin == Origin::Measured)) out.push_back(line_of(m));
  if (run.hidden)
    out.push_back(fmt::format(
        "overlap: {}{} of the {} in a step in which communication runs beside the program are hidden",
        run.hidden_at_most ? "at most " : "", percent(run.hidden->value), to_string(run.in_flight)));
  if (run.start) out.push_back(line_of(*run.start));
  if (run.failures && (all || run.failures->ended + run.failures->restarts > 0))
    out.push_back(line_of(*run.failures));
  return out;
}

Json run_json(const RunParameters& run) {
  const auto rate = [](TimePerByte t) {
    const auto b = bandwidth(t);
    return b ? Json(b->in_bytes_per_s()) : Json(nullptr);
  };
  Json j{{"messages", Json::array()}, {"overlap", nullptr}, {"startup", nullptr}, {"failures", nullptr}};
  for (const MessageFit& m : run.messages)
    j["messages"].push_back(
        {{"collective", model::name_of(m.kind)},
         {"ranks", m.ranks},
         {"one_node", m.one_node},
         {"sizes", m.sizes},
         {"operations", m.operations},
         {"least_bytes", m.least.count()},
         {"most_bytes", m.most.count()},
         {"latency", json_of(m.latency)},
         {"bandwidth",
          {{"value_bytes_per_s", rate(m.per_byte.value)},
           {"low_bytes_per_s", rate(m.per_byte.high)},
           {"high_bytes_per_s", rate(m.per_byte.low)},
           {"origin", origin_name(m.per_byte.origin)}}},
         {"misfit_ratio", m.misfit},
         {"ceiling_bytes_per_s", m.ceiling ? Json(m.ceiling->in_bytes_per_s()) : Json(nullptr)},
         {"ceiling_from_bytes", m.ceiling_from ? Json(m.ceiling_from->count()) : Json(nullptr)},
         {"dips", json_of(m.dips)},
         {"dip_ratio", m.dip > 0 ? Json(m.dip) : Json(nullptr)}});
  if (run.hidden)
    j["overlap"] = {{"hidden", json_of(*run.hidden)},
                    {"at_most", run.hidden_at_most},
                    {"in_flight_s", run.in_flight.count()}};
  if (run.start)
    j["startup"] = {{"runs", run.start->runs},
                    {"sizes", run.start->sizes},
                    {"at_seen", json_of(run.start->at_seen)},
                    {"fixed", json_of(run.start->fixed)},
                    {"per_rank", json_of(run.start->per_rank)}};
  if (run.failures) {
    const FailuresSeen& f = *run.failures;
    const auto known = [](Seconds s) { return s > Seconds{} ? Json(s.count()) : Json(nullptr); };
    j["failures"] = {{"ended_ranks", f.ended},
                     {"restarts", f.restarts},
                     {"node_time_s", known(f.node_time)},
                     {"between_s",
                      {{"value_s", known(f.between.value)},
                       {"low_s", known(f.between.low)},
                       {"high_s", known(f.between.high)},
                       {"origin", origin_name(f.between.origin)},
                       {"units", f.between.units}}}};
  }
  return j;
}

}  // namespace cox::forecast
