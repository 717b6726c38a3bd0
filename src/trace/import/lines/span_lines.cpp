// SPDX-License-Identifier: Apache-2.0
// JSON lines of spans: what OpenTelemetry's exporters and home-made loggers write.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cox/trace/time_unit.hpp"

#include "trace/import/bytes/byte_order_mark.hpp"
#include "trace/import/lines/span_choice.hpp"
#include "trace/import/lines/span_line.hpp"
#include "trace/import/lines/span_names.hpp"
#include "trace/import/lines/span_numbers.hpp"
#include "trace/import/lines/span_steps.hpp"
#include "trace/import/nccl/nccl_lines.hpp"
#include "trace/import/part/part_builder.hpp"
#include "trace/import/part/reader.hpp"
#include "trace/import/tables/step_times.hpp"

namespace cox::trace {
namespace {

constexpr int kLinesLookedAt = 20;

tl::unexpected<Error> refuse(const std::filesystem::path& path, std::string message) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "import-005",
                    .message = std::move(message),
                    .hint = "docs/reference/inputs/lines.md says what is read",
                    .where = Where{.file = path.string()}});
}

struct Lines {
  std::vector<ToldSpan> spans;
  SpanLines counts;
  std::int64_t lines = 0, unreadable = 0, first_unreadable = 0;
  std::int64_t repeated = 0;  // spans of lines that stand there before, letter by letter
  bool cut = false;
};

/// Whether no other span would be told by the same line. Without that, short calls in one millisecond are alike and are two.
bool has_identity(std::string_view text, std::span<const ToldSpan> spans) {
  if (spans.empty()) return false;
  for (const std::string_view key : {"\"span_id\"", "\"spanId\"", "\"spanID\""})
    if (text.find(key) != std::string_view::npos) return true;
  return std::ranges::all_of(spans, [](const ToldSpan& s) { return s.sequence >= 0; });
}

Result<Lines> read_lines(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(ByteSource source, ByteSource::open(path, options.limit_bytes));
  JsonLines json(std::move(source));
  Lines out;
  std::unordered_set<std::size_t> told;  // lines that are told once, by their hash
  for (;;) {
    COX_TRY(const auto line, json.next());
    if (!line) break;
    ++out.lines;
    const std::size_t before = out.spans.size();
    out.counts.take(*line, out.spans);
    if (!has_identity(json.text(), std::span(out.spans).subspan(before))) continue;
    if (told.insert(std::hash<std::string_view>()(json.text())).second) continue;
    out.repeated += static_cast<std::int64_t>(out.spans.size() - before);
    out.spans.resize(before);
  }
  out.unreadable = json.unreadable();
  out.first_unreadable = json.first_unreadable();
  out.cut = json.cut();
  return out;
}

class SpanJob {
 public:
  SpanJob(const std::filesystem::path& path, Lines lines)
      : path_(path),
        lines_(std::move(lines)),
        chosen_(choose_spans(lines_.spans)),
        part_(path.string(), kSpanLinesReader.format) {}

  Result<Run> finish() && {
    const std::vector<PlacedSpan>& spans = chosen_.spans;
    if (spans.empty()) return refuse(path_, "no span with a begin and an end, or a length, in the lines");
    const auto is = [](SpanKind kind) {
      return [kind](const PlacedSpan& p) { return p.meaning.kind == kind; };
    };
    const bool collectives = std::any_of(spans.begin(), spans.end(), is(SpanKind::Collective));
    const bool clocked = collectives && std::all_of(spans.begin(), spans.end(), [](const PlacedSpan& p) {
                           return p.meaning.kind != SpanKind::Collective || p.told->begin.has_value();
                         });
    const bool steps = std::any_of(spans.begin(), spans.end(), [](const PlacedSpan& p) {
      return p.meaning.kind == SpanKind::Step || p.told->step >= 0;
    });
    if (!clocked && !steps)
      return refuse(path_, collectives
                               ? "collectives without a begin, and no step: nothing to compare ranks by"
                               : "spans, but no collective and no step among them by their names");
    if (clocked) {
      place_by_clock();
    } else {
      const StepLengths lengths = take_step_lengths(chosen_, part_);
      if (lengths.only_grow)
        return refuse(
            path_,
            "the lengths of steps only grow, from about zero on: points in time, expected how long each "
            "step took");
      used_ += lengths.used;
      chosen_.far += lengths.far;
    }
    write_notes();
    part_.count(static_cast<std::int64_t>(lines_.spans.size()), used_);
    return std::move(part_).finish();
  }

 private:
  [[nodiscard]] Seconds unit() const { return Seconds(1.0 / static_cast<double>(chosen_.divisor)); }

  std::size_t track_of(const ToldSpan& s) {
    const auto at = tracks_.find(s.rank);
    if (at != tracks_.end()) return at->second;
    // Where no host is told each rank has a clock of its own: whether they share one nobody says.
    const std::string host = s.host.empty() || chosen_.own_clock ? fmt::format("\n{}", s.rank) : s.host;
    const std::size_t track = part_.add_rank(Rank(s.rank), host);
    has_hosts_ = has_hosts_ || !s.host.empty();
    std::string timing = "collective=span";
    part_.rank(track).timing = chosen_.has_unit ? timing : timing_in_unknown_unit(timing, unit());
    tracks_.emplace(s.rank, track);
    return track;
  }

  void place_by_clock() {
    std::vector<PlacedSpan>& spans = chosen_.spans;
    std::stable_sort(spans.begin(), spans.end(),
                     [](const PlacedSpan& a, const PlacedSpan& b) { return a.begin < b.begin; });
    SpanNumbers numbers(spans);
    int world = 0;  // what the lines say: one file may be one rank of many
    // Marks first: of what begins at the same moment the step does.
    for (const PlacedSpan& p : spans) {
      if (!p.told->begin) continue;
      if (tracks_.size() >= StepTimes::kMostRanks && !tracks_.contains(p.told->rank)) continue;
      static_cast<void>(track_of(*p.told));
      mark_step(p);
      world = std::max(world, static_cast<int>(p.told->world_size));
    }
    for (const PlacedSpan& p : spans) {
      if (!p.told->begin) continue;
      if (const auto track = tracks_.find(p.told->rank); track != tracks_.end())
        add(p, track->second, numbers);
      else
        ++chosen_.no_rank;
    }
    for (Node& node : part_.run().nodes)
      if (node.host.starts_with('\n')) node.host.clear();
    part_.run().times = TimesKind::Clocked;
    part_.run().world_size = world;
    const WidePs origin_ns = chosen_.origin / 1000;
    if (chosen_.is_dated() && origin_ns < std::numeric_limits<std::int64_t>::max())
      part_.run().origin_realtime_ns = static_cast<std::int64_t>(origin_ns);
  }

  void add(const PlacedSpan& p, std::size_t track, SpanNumbers& numbers) {
    Event e{.begin = p.begin, .end = p.end};
    switch (p.meaning.kind) {
      case SpanKind::Collective: {
        e.op = static_cast<std::uint8_t>(p.meaning.collective);
        e.bytes = Bytes(p.told->bytes);
        e.comm = part_.communicator(p.told->group.empty() ? "world" : p.told->group, {},
                                    p.told->group.empty() ? static_cast<int>(p.told->world_size) : 0);
        e.seq = numbers.next(*p.told, e.comm);
        if (numbers.told()) e.flags = kTagged;
        break;
      }
      case SpanKind::Phase:
        e.kind = EventKind::Phase;
        e.op = static_cast<std::uint8_t>(p.meaning.phase);
        break;
      case SpanKind::Message:
        // Waiting for a peer is no work of one's own.
        e.kind = EventKind::Wait;
        e.op = static_cast<std::uint8_t>(WaitKind::Other);
        ++messages_;
        break;
      case SpanKind::Step:
        return;
      case SpanKind::Gc:
      case SpanKind::Other:
        return add_activity(p, track);
    }
    part_.add_event(track, e);
    ++used_;
  }

  void add_activity(const PlacedSpan& p, std::size_t track) {
    ActivityColumns& a = part_.rank(track).activities;
    a.begin.push_back(p.begin);
    a.end.push_back(p.end);
    a.kind.push_back(p.meaning.kind == SpanKind::Gc ? ActivityKind::Gc : ActivityKind::HostOp);
    a.lane.push_back(0);
    a.name.push_back(part_.name(p.told->name));
    a.launched.push_back(kNoActivity);
    ++used_;
  }

  /// By spans called step; where there are none, a step begins with the first span of its number.
  void mark_step(const PlacedSpan& p) {
    if (!asked_for_steps_) {
      asked_for_steps_ = true;
      has_step_spans_ = std::any_of(chosen_.spans.begin(), chosen_.spans.end(), [](const PlacedSpan& s) {
        return s.meaning.kind == SpanKind::Step && s.told->begin;
      });
    }
    const auto track = tracks_.find(p.told->rank);
    if (track == tracks_.end() || (has_step_spans_ ? p.meaning.kind != SpanKind::Step : p.told->step < 0))
      return;
    std::int64_t number = p.told->step >= 0 ? p.told->step : p.meaning.step;
    if (number < 0) number = steps_of_[p.told->rank]++;
    if (!marked_.emplace(p.told->rank, number).second) return;
    Event mark;
    mark.kind = EventKind::Step;
    mark.begin = mark.end = p.begin;
    mark.bytes = Bytes(number);
    part_.add_event(track->second, mark);
    if (has_step_spans_) ++used_;
  }

  void write_notes() {
    const SpanLines& c = lines_.counts;
    if (!chosen_.has_unit) part_.note("no unit in the keys of the times: only ratios mean anything");
    if (c.took_since_1970 && chosen_.has_unit)
      part_.note("begins have no unit: taken as the one in which they are times of day");
    if (c.took_length_as_begin) part_.note("lengths have no unit: taken as that of the begins");
    if (tracks_.size() > 1 && !has_hosts_)
      part_.note("no host in the lines: each rank is taken to have a clock of its own");
    if (chosen_.own_clock && has_hosts_)
      part_.note(
          "times are no times of day and the file holds one rank: it is taken to have a clock of its own");
    part_.note_count(messages_, "send or receive is", "sends and receives are",
                     " waiting, of which nothing tells for whom");
    note_unreadable(part_, lines_.unreadable, lines_.first_unreadable);
    part_.note_count(lines_.repeated, "span stands there before, in the same line, and counts once",
                     "spans stand there before, in the same line, and count once");
    part_.note_count(c.no_span, "line tells no span and is left out", "lines tell no span and are left out");
    part_.note_count(c.no_unit, "span has a unit for one of begin and length only, and is left out",
                     "spans have a unit for one of begin and length only, and are left out");
    part_.note_count(c.backward, "span ends before it begins and is left out",
                     "spans end before they begin and are left out");
    part_.note_count(chosen_.other_unit, "span has another kind of unit than most and is left out",
                     "spans have another kind of unit than most and are left out");
    part_.note_count(chosen_.no_rank, "span tells no rank and is left out",
                     "spans tell no rank and are left out");
    part_.note_count(chosen_.far, "span lies months from the others, or lasts as long, and is left out",
                     "spans lie months from the others, or last as long, and are left out");
    if (lines_.cut) part_.note("the compressed file stops early; what could be unpacked is used");
  }

  std::filesystem::path path_;
  Lines lines_;
  ChosenSpans chosen_;
  PartBuilder part_;
  std::map<std::int32_t, std::size_t> tracks_;  // by rank; -1 where none is told
  std::map<std::int32_t, std::int64_t> steps_of_;
  std::set<std::pair<std::int32_t, std::int64_t>> marked_;
  bool has_hosts_ = false;
  bool asked_for_steps_ = false, has_step_spans_ = false;
  std::int64_t used_ = 0, messages_ = 0;
};

Result<Run> read(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(Lines lines, read_lines(path, options));
  return SpanJob(path, std::move(lines)).finish();
}

/// Lines of JSON, of which one of the first tells a span that has a name, a rank or a step.
bool recognise(const Head& head) {
  std::string_view text = without_mark(head.bytes);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  simdjson::dom::parser parser;
  SpanLines lines;
  std::vector<ToldSpan> spans;
  for (int i = 0; i < kLinesLookedAt && !text.empty(); ++i) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    simdjson::dom::element value;
    if (parser.parse(line.data(), line.size()).get(value) != simdjson::SUCCESS || !value.is_object())
      continue;
    lines.take(value, spans);
    if (std::any_of(spans.begin(), spans.end(),
                    [](const ToldSpan& s) { return s.rank >= 0 || s.step >= 0 || s.name != "span"; }))
      return true;
  }
  return false;
}

}  // namespace

const Reader kSpanLinesReader{.format = "span-lines",
                              .title = "JSON lines of spans",
                              .recognises = recognise,
                              .read = read_without_program<read>};

}  // namespace cox::trace
