// SPDX-License-Identifier: Apache-2.0
// JSON lines of spans: what OpenTelemetry's exporters and home-made loggers write.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cox/trace/time_unit.hpp"

#include "trace/import/lines/span_line.hpp"
#include "trace/import/lines/span_names.hpp"
#include "trace/import/nccl/nccl_lines.hpp"
#include "trace/import/part/part_builder.hpp"
#include "trace/import/part/reader.hpp"
#include "trace/import/tables/step_times.hpp"

namespace cox::trace {
namespace {

constexpr int kLinesLookedAt = 20;
constexpr WidePs kLongestPs = WidePs{9'000'000} * 1'000'000'000'000;
constexpr WidePs kSecondPs = 1'000'000'000'000;
constexpr WidePs kYear2001 = WidePs{978'000'000} * kSecondPs;

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
  bool cut = false;
};

Result<Lines> read_lines(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(ByteSource source, ByteSource::open(path, options.limit_bytes));
  JsonLines json(std::move(source));
  Lines out;
  for (;;) {
    COX_TRY(const auto line, json.next());
    if (!line) break;
    ++out.lines;
    out.counts.take(*line, out.spans);
  }
  out.unreadable = json.unreadable();
  out.first_unreadable = json.first_unreadable();
  out.cut = json.cut();
  return out;
}

/// One span with what its name means, on its rank's time line.
struct Placed {
  const ToldSpan* told = nullptr;
  SpanMeaning meaning;
  Duration begin{};
  Duration end{};
};

class SpanJob {
 public:
  SpanJob(const std::filesystem::path& path, Lines lines)
      : path_(path), lines_(std::move(lines)), part_(path.string(), kSpanLinesReader.format) {}

  Result<Run> finish() && {
    choose();
    if (spans_.empty()) return refuse(path_, "no span with a begin and an end, or a length, in the lines");
    const auto is = [](SpanKind kind) { return [kind](const Placed& p) { return p.meaning.kind == kind; }; };
    const bool collectives = std::any_of(spans_.begin(), spans_.end(), is(SpanKind::Collective));
    const bool clocked = collectives && std::all_of(spans_.begin(), spans_.end(), [](const Placed& p) {
                           return p.meaning.kind != SpanKind::Collective || p.told->begin.has_value();
                         });
    const bool steps = std::any_of(spans_.begin(), spans_.end(), [](const Placed& p) {
      return p.meaning.kind == SpanKind::Step || p.told->step >= 0;
    });
    if (!clocked && !steps)
      return refuse(path_, collectives
                               ? "collectives without a begin, and no step: nothing to compare ranks by"
                               : "spans, but no collective and no step among them by their names");
    if (clocked)
      place_by_clock();
    else
      place_by_steps();
    write_notes();
    part_.count(static_cast<std::int64_t>(lines_.spans.size()), used_);
    return std::move(part_).finish();
  }

 private:
  /// Spans of ranks where any line tells one, of the kind of unit that most have.
  void choose() {
    const bool any_rank =
        std::any_of(lines_.spans.begin(), lines_.spans.end(), [](const ToldSpan& s) { return s.rank >= 0; });
    const auto known =
        std::count_if(lines_.spans.begin(), lines_.spans.end(), [](const ToldSpan& s) { return s.has_unit; });
    has_unit_ = 2 * known >= static_cast<std::int64_t>(lines_.spans.size());
    for (const ToldSpan& s : lines_.spans) {
      if (s.has_unit != has_unit_)
        ++other_unit_;
      else if (any_rank && s.rank < 0)
        ++no_rank_;
      else
        spans_.push_back({.told = &s, .meaning = span_meaning(s.name), .begin = {}, .end = {}});
    }
    choose_scale();
    drop_far();
  }

  [[nodiscard]] static WidePs end_of(const ToldSpan& s) { return s.begin.value_or(0) + s.length; }

  void choose_scale() {
    std::vector<WidePs> begins;
    WidePs last = 0;
    for (const Placed& p : spans_)
      if (p.told->begin) begins.push_back(*p.told->begin);
    if (!begins.empty()) {
      // The median, since one stray clock must not move all others out of reach.
      const auto middle = begins.begin() + static_cast<std::ptrdiff_t>(begins.size() / 2);
      std::nth_element(begins.begin(), middle, begins.end());
      middle_ = *middle;
    }
    if (has_unit_) return;
    for (const Placed& p : spans_) {
      const WidePs from = p.told->begin ? *p.told->begin - middle_ : 0;
      last = std::max({last, from < 0 ? -from : from, p.told->length});
    }
    // With where they lie, so that the files of one job are divided alike.
    last = std::max(last, middle_ < 0 ? -middle_ : middle_);
    while (last / divisor_ > kLongestPs / 4 && divisor_ < 1'000'000'000) divisor_ *= 1000;
  }

  /// What lies months away from the others is no time of this job.
  void drop_far() {
    const auto far = [&](const Placed& p) {
      const WidePs from = p.told->begin ? (*p.told->begin - middle_) / divisor_ : 0;
      return from < -kLongestPs / 2 || from > kLongestPs / 2 || p.told->length / divisor_ > kLongestPs / 2;
    };
    far_ = static_cast<std::int64_t>(std::erase_if(spans_, far));
    origin_ = middle_;
    for (const Placed& p : spans_)
      if (p.told->begin) origin_ = std::min(origin_, *p.told->begin);
    // A file of one rank, on a clock whose zero is not known: nothing ties it to the other ranks' files.
    own_clock_ = (!has_unit_ || origin_ <= kYear2001) &&
                 std::all_of(spans_.begin(), spans_.end(),
                             [&](const Placed& p) { return p.told->rank == spans_.front().told->rank; });
    for (Placed& p : spans_) {
      if (p.told->begin) p.begin = Duration(static_cast<std::int64_t>((*p.told->begin - origin_) / divisor_));
      p.end = p.begin + Duration(static_cast<std::int64_t>(p.told->length / divisor_));
    }
  }

  [[nodiscard]] Seconds unit() const { return Seconds(1.0 / static_cast<double>(divisor_)); }

  std::size_t track_of(const ToldSpan& s) {
    const auto at = tracks_.find(s.rank);
    if (at != tracks_.end()) return at->second;
    // Where no host is told each rank has a clock of its own: whether they share one nobody says.
    const std::string host = s.host.empty() || own_clock_ ? fmt::format("\n{}", s.rank) : s.host;
    const std::size_t track = part_.add_rank(Rank(s.rank), host);
    has_hosts_ = has_hosts_ || !s.host.empty();
    std::string timing = "collective=span";
    part_.rank(track).timing = has_unit_ ? timing : timing_in_unknown_unit(timing, unit());
    tracks_.emplace(s.rank, track);
    return track;
  }

  void place_by_clock() {
    std::stable_sort(spans_.begin(), spans_.end(),
                     [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    check_sequences();
    int world = 0;  // what the lines say: one file may be one rank of many
    // Marks first: of what begins at the same moment the step does.
    for (const Placed& p : spans_) {
      if (!p.told->begin) continue;
      if (tracks_.size() >= StepTimes::kMostRanks && !tracks_.contains(p.told->rank)) continue;
      static_cast<void>(track_of(*p.told));
      mark_step(p);
      world = std::max(world, static_cast<int>(p.told->world_size));
    }
    for (const Placed& p : spans_) {
      if (!p.told->begin) continue;
      if (const auto track = tracks_.find(p.told->rank); track != tracks_.end())
        add(p, track->second);
      else
        ++no_rank_;
    }
    for (Node& node : part_.run().nodes)
      if (node.host.starts_with('\n')) node.host.clear();
    part_.run().times = TimesKind::Clocked;
    part_.run().world_size = world;
    if (has_unit_ && origin_ > kYear2001 && origin_ / 1000 < std::numeric_limits<std::int64_t>::max())
      part_.run().origin_realtime_ns = static_cast<std::int64_t>(origin_ / 1000);
  }

  /// Numbers of the lines count where they tell operations apart; else their order does: within a step where all tell
  /// theirs, so that a line that is missing moves nothing of the next step.
  void check_sequences() {
    std::set<std::tuple<std::int32_t, std::string_view, std::int64_t>> seen;
    for (const Placed& p : spans_) {
      if (p.meaning.kind != SpanKind::Collective) continue;
      const ToldSpan& s = *p.told;
      numbered_ = numbered_ && s.sequence >= 0 && s.sequence <= std::numeric_limits<std::uint32_t>::max() &&
                  seen.emplace(s.rank, s.group, s.sequence).second;
    }
    if (!numbered_) number_by_step();
  }

  /// Where all collectives tell their step: the number of the first one of each step in each group, after as many as any
  /// rank has in the steps before.
  void number_by_step() {
    std::map<std::pair<std::string_view, std::int64_t>, std::map<std::int32_t, std::uint32_t>> in_step;
    for (const Placed& p : spans_) {
      if (p.meaning.kind != SpanKind::Collective) continue;
      if (p.told->step < 0) return;
      ++in_step[{p.told->group, p.told->step}][p.told->rank];
    }
    std::string_view group;
    std::uint32_t next = 0;
    for (const auto& [at, ranks] : in_step) {
      if (at.first != group) next = 0;
      group = at.first;
      first_of_step_[at] = next;
      std::uint32_t most = 0;
      for (const auto& [rank, count] : ranks) most = std::max(most, count);
      next += most;
    }
  }

  [[nodiscard]] std::uint32_t number_of(const ToldSpan& s, CommId comm) {
    if (numbered_) return static_cast<std::uint32_t>(s.sequence);
    if (first_of_step_.empty()) return counts_[{s.rank, comm, -1}]++;
    return first_of_step_.at({s.group, s.step}) + counts_[{s.rank, comm, s.step}]++;
  }

  void add(const Placed& p, std::size_t track) {
    Event e{.begin = p.begin, .end = p.end};
    switch (p.meaning.kind) {
      case SpanKind::Collective: {
        e.op = static_cast<std::uint8_t>(p.meaning.collective);
        e.bytes = Bytes(p.told->bytes);
        e.comm = part_.communicator(p.told->group.empty() ? "world" : p.told->group, {},
                                    p.told->group.empty() ? static_cast<int>(p.told->world_size) : 0);
        e.seq = number_of(*p.told, e.comm);
        if (numbered_ || !first_of_step_.empty()) e.flags = kTagged;
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

  void add_activity(const Placed& p, std::size_t track) {
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
  void mark_step(const Placed& p) {
    if (!asked_for_steps_) {
      asked_for_steps_ = true;
      has_step_spans_ = std::any_of(spans_.begin(), spans_.end(), [](const Placed& s) {
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

  /// Without a collective only the length of steps tells something: of spans called step, or of all that name it.
  void place_by_steps() {
    const bool called = std::any_of(spans_.begin(), spans_.end(),
                                    [](const Placed& p) { return p.meaning.kind == SpanKind::Step; });
    struct Extent {
      Duration first = Duration::max();
      Duration last = Duration::min();
      Seconds sum{};
      bool placed = true;
    };
    std::map<std::pair<std::int32_t, std::int64_t>, Extent> extents;
    for (const Placed& p : spans_) {
      if (called ? p.meaning.kind != SpanKind::Step : p.told->step < 0) continue;
      const std::int32_t rank = std::max(p.told->rank, 0);
      std::int64_t number = p.told->step >= 0 ? p.told->step : p.meaning.step;
      if (number < 0) number = steps_of_[rank]++;
      Extent& e = extents[{rank, number}];
      e.placed = e.placed && p.told->begin.has_value();
      e.first = std::min(e.first, p.begin);
      e.last = std::max(e.last, p.end);
      // Of an unknown unit the number itself, which StepTimes scales.
      e.sum += Seconds(static_cast<double>(p.told->length) / static_cast<double>(kSecondPs));
      ++used_;
    }
    StepTimes times(has_unit_ ? StepTimes::Unit::Seconds : StepTimes::Unit::Unknown);
    for (const auto& [key, e] : extents) {
      const Seconds own =
          e.placed && !called ? Seconds(in_seconds(e.last - e.first) * static_cast<double>(divisor_)) : e.sum;
      const auto series = times.series_of(key.first);
      if (!series || !times.add(*series, key.second, own)) ++far_;
    }
    const Seconds taken_as = times.largest_unit();
    std::move(times).finish(part_, 0, taken_as);
    part_.note(
        called ? "no collective among the spans: the length of each step is that of its span"
               : "no collective among the spans: the length of a step is from its first span to its last");
    const bool any_rank =
        std::any_of(spans_.begin(), spans_.end(), [](const Placed& p) { return p.told->rank >= 0; });
    if (!any_rank) part_.note("one series for the whole job: no rank can be named");
  }

  void count_note(std::int64_t n, std::string_view what) {
    if (n > 0) part_.note(fmt::format("{} {}", n, what));
  }

  void write_notes() {
    const SpanLines& c = lines_.counts;
    if (!has_unit_) part_.note("no unit in the keys of the times: only ratios mean anything");
    if (c.took_since_1970 && has_unit_)
      part_.note("begins have no unit: taken as the one in which they are times of day");
    if (c.took_length_as_begin) part_.note("lengths have no unit: taken as that of the begins");
    if (tracks_.size() > 1 && !has_hosts_)
      part_.note("no host in the lines: each rank is taken to have a clock of its own");
    if (own_clock_ && has_hosts_)
      part_.note(
          "times are no times of day and the file holds one rank: it is taken to have a clock of its own");
    if (messages_ > 0)
      part_.note(
          fmt::format("{} sends and receives are waiting, of which nothing tells for whom", messages_));
    if (lines_.unreadable > 0)
      part_.note(fmt::format("{} lines are no JSON object, the first is line {}", lines_.unreadable,
                             lines_.first_unreadable));
    count_note(c.no_span, "lines tell no span and are left out");
    count_note(c.no_unit, "spans have a unit for one of begin and length only, and are left out");
    count_note(c.backward, "spans end before they begin and are left out");
    count_note(other_unit_, "spans have another kind of unit than most and are left out");
    count_note(no_rank_, "spans tell no rank and are left out");
    count_note(far_, "spans lie months from the others, or last as long, and are left out");
    if (lines_.cut) part_.note("the compressed file stops early; what could be unpacked is used");
  }

  std::filesystem::path path_;
  Lines lines_;
  PartBuilder part_;
  std::vector<Placed> spans_;
  std::map<std::int32_t, std::size_t> tracks_;  // by rank; -1 where none is told
  std::map<std::tuple<std::int32_t, CommId, std::int64_t>, std::uint32_t>
      counts_;  // by step where those count
  std::map<std::pair<std::string_view, std::int64_t>, std::uint32_t> first_of_step_;  // by group and step
  std::map<std::int32_t, std::int64_t> steps_of_;
  std::set<std::pair<std::int32_t, std::int64_t>> marked_;
  WidePs middle_ = 0, origin_ = 0;
  std::int64_t divisor_ = 1;  // of times in an unknown unit
  bool has_unit_ = true, numbered_ = true, has_hosts_ = false, own_clock_ = false;
  bool asked_for_steps_ = false, has_step_spans_ = false;
  std::int64_t used_ = 0, no_rank_ = 0, other_unit_ = 0, far_ = 0, messages_ = 0;
};

Result<Run> read(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(Lines lines, read_lines(path, options));
  return SpanJob(path, std::move(lines)).finish();
}

/// Lines of JSON, of which one of the first tells a span that has a name, a rank or a step.
bool recognise(const Head& head) {
  std::string_view text = head.bytes;
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
