// SPDX-License-Identifier: Apache-2.0
// From columns in the order of the file to the part of a Run: order, launches, groups, sequence, notes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "cox/base/number_text.hpp"
#include "cox/base/release_memory.hpp"

#include "trace/import/kineto/order.hpp"
#include "trace/import/kineto/part.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace::kineto {
namespace {

using model::Collective;

/// Longest name that is kept: names of templates have no end.
constexpr std::size_t kMaxName = 4096;
/// A launch that seems to begin after its kernel by less is still it: two clocks were compared.
constexpr Duration kClockSlack = std::chrono::milliseconds(1);
/// Calls looked back on for the one that holds a launch; they nest a few deep at most.
constexpr int kMaxNesting = 32;

/// Launches and device items by correlation, each in order of time: every item gets the last launch before
/// it, since correlations come again when a file holds several windows.
template <class Assign>
void join(const std::vector<Keyed>& launches, const std::vector<Duration>& launch_begin,
          const std::vector<Keyed>& items, const std::vector<Duration>& item_begin, Assign assign) {
  std::size_t l = 0;
  for (const Keyed& item : items) {
    while (l < launches.size() && launches[l].key < item.key) ++l;
    if (l == launches.size() || launches[l].key != item.key) continue;
    const Duration at = item_begin[item.value];
    while (l + 1 < launches.size() && launches[l + 1].key == item.key &&
           launch_begin[launches[l + 1].value] <= at)
      ++l;
    if (launch_begin[launches[l].value] <= at + kClockSlack) assign(item.value, launches[l].value);
  }
}

}  // namespace

bool Collector::near(std::int64_t at) const {
  return at >= middle_ - kFarNs && at <= middle_ + kFarNs;
}

/// What is too far away for a Duration lies at its end: a host call may stand anywhere.
Duration Collector::since_origin(std::int64_t at) const {
  constexpr std::int64_t kFarthest =
      std::numeric_limits<std::int64_t>::max() / 1000;  // in picoseconds it fits
  std::int64_t ns = 0;
  if (__builtin_sub_overflow(at, origin_, &ns)) ns = at < origin_ ? -kFarthest : kFarthest;
  return Nanoseconds(std::clamp(ns, -kFarthest, kFarthest));
}

/// A single wild time stamp must not decide where the time line lies: the middle of a sample does.
void Collector::choose_origin() {
  constexpr std::size_t kSample = 4096;
  std::vector<std::int64_t> sample;
  const std::size_t every = rows_.size() / kSample + 1;
  for (std::size_t i = 0; i < rows_.size(); i += every) sample.push_back(rows_.begin[i]);
  for (const auto* spans : {&collectives_, &marks_}) {
    const std::size_t stride = spans->size() / kSample + 1;
    for (std::size_t i = 0; i < spans->size(); i += stride) sample.push_back((*spans)[i].begin);
  }
  if (sample.empty()) return;
  const auto middle = sample.begin() + static_cast<std::ptrdiff_t>(sample.size() / 2);
  std::nth_element(sample.begin(), middle, sample.end());
  constexpr std::int64_t kEdge = std::numeric_limits<std::int64_t>::max() - 2 * kFarNs;
  middle_ = std::clamp(*middle, -kEdge, kEdge);
  origin_ = middle_ + kFarNs;
  const auto lower = [&](std::int64_t begin, std::int64_t end) {
    if (near(begin) && near(end)) origin_ = std::min(origin_, begin);
  };
  for (std::size_t i = 0; i < rows_.size(); ++i) lower(rows_.begin[i], rows_.end[i]);
  for (const auto* spans : {&collectives_, &marks_})
    for (const Span& s : *spans) lower(s.begin, s.end);
}

/// `cuda_sync` events tell again what a call of the runtime told;
/// where that call is absent, they stand for it.
void Collector::add_late_syncs() {
  if (syncs_.empty()) return;
  std::vector<std::int64_t> told;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_.kind[i] == ActivityKind::HostSync) told.push_back(rows_.correlation[i]);
  std::sort(told.begin(), told.end());
  for (Span& s : syncs_) {
    if (s.correlation != 0 && std::binary_search(told.begin(), told.end(), s.correlation)) continue;
    s.lane = 0;  // which thread it was is not said
    add_row(ActivityKind::HostSync, s);
  }
}

void Collector::place_rows(PartBuilder& builder, RankTrack& track) {
  std::vector<Keyed> order;
  order.reserve(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (near(rows_.begin[i]) && near(rows_.end[i]))
      order.push_back({static_cast<std::uint64_t>(rows_.begin[i] - origin_), static_cast<std::uint32_t>(i)});
    else
      ++far_;
  }
  sort_by_key(order);
  // Column by column, and each is let go before the next: this is the peak of memory.
  const auto place = [&](auto& from, auto& to, auto convert) {
    to.reserve(order.size());
    for (const Keyed& k : order) to.push_back(convert(from[k.value]));
    release_memory(from);
  };
  ActivityColumns& a = track.activities;
  const auto time = [&](std::int64_t at) { return since_origin(at); };
  const auto same = [](auto v) { return v; };
  place(rows_.begin, a.begin, time);
  place(rows_.end, a.end, time);
  place(rows_.kind, a.kind, same);
  place(rows_.lane, a.lane, same);
  std::array<std::vector<std::uint32_t>, 9> names;
  place(rows_.name, a.name, [&](std::uint32_t packed) {
    const auto category = static_cast<Category>(packed >> 28);
    const std::uint32_t index = packed & 0xfffffff;
    std::vector<std::uint32_t>& known = names[packed >> 28];
    if (known.empty()) known.assign(names_.size(category), kNone);
    if (known[index] == kNone)
      known[index] = builder.name(clean_text(unescape(names_.raw(category, index)).substr(0, kMaxName)));
    return known[index];
  });
  std::vector<std::int64_t> correlation;
  place(rows_.correlation, correlation, same);
  rows_.correlation.swap(correlation);
  a.launched.assign(a.size(), kNoActivity);
}

void Collector::link_launches(RankTrack& track) {
  ActivityColumns& a = track.activities;
  std::vector<Keyed> launches;
  std::vector<Keyed> items;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (rows_.correlation[i] == 0) continue;
    const Keyed k{static_cast<std::uint64_t>(rows_.correlation[i]), static_cast<std::uint32_t>(i)};
    if (a.kind[i] == ActivityKind::Launch) launches.push_back(k);
    if (a.kind[i] == ActivityKind::Kernel || a.kind[i] == ActivityKind::Copy) items.push_back(k);
  }
  sort_by_key(launches);
  sort_by_key(items);
  join(launches, a.begin, items, a.begin,
       [&](std::uint32_t item, std::uint32_t launch) { a.launched[item] = launch; });
  items.clear();
  std::vector<Duration> begins;
  for (std::size_t i = 0; i < placed_.size(); ++i) {
    begins.push_back(since_origin(placed_[i].span.begin));
    if (placed_[i].span.correlation != 0)
      items.push_back(
          {static_cast<std::uint64_t>(placed_[i].span.correlation), static_cast<std::uint32_t>(i)});
  }
  sort_by_key(items);
  join(launches, a.begin, items, begins,
       [&](std::uint32_t item, std::uint32_t launch) { placed_[item].launch = launch; });
  rows_ = {};
}

/// What the host said about each collective: the record around its launch, or the record with its external
/// id. A kernel's own arguments go first.
void Collector::explain_collectives(const ActivityColumns& a) {
  const auto by_lane = [](const HostCall& x, const HostCall& y) {
    return std::tie(x.lane, x.begin, x.end) < std::tie(y.lane, y.begin, y.end);
  };
  std::stable_sort(records_.begin(), records_.end(), by_lane);
  std::stable_sort(calls_.begin(), calls_.end(), by_lane);
  std::vector<std::uint32_t> by_external;
  for (std::uint32_t i = 0; i < records_.size(); ++i)
    if (records_[i].external != 0) by_external.push_back(i);
  std::sort(by_external.begin(), by_external.end(), [&](std::uint32_t x, std::uint32_t y) {
    return std::tie(records_[x].external, records_[x].begin, x) <
           std::tie(records_[y].external, records_[y].begin, y);
  });
  const auto around = [&](const std::vector<HostCall>& calls, std::uint32_t lane, Duration at) {
    auto i = std::upper_bound(
        calls.begin(), calls.end(), std::pair(lane, at),
        [&](const auto& want, const HostCall& c) { return want < std::pair(c.lane, since_origin(c.begin)); });
    for (int n = 0; n < kMaxNesting && i != calls.begin(); ++n) {
      --i;
      if (i->lane != lane) break;
      if (since_origin(i->end) >= at) return i->comms;
    }
    return kNone;
  };
  const auto with_external = [&](std::int64_t id, std::int64_t before) {
    const auto i = std::upper_bound(by_external.begin(), by_external.end(), std::pair(id, before),
                                    [&](const auto& want, std::uint32_t r) {
                                      return want < std::pair(records_[r].external, records_[r].begin);
                                    });
    if (i == by_external.begin() || records_[*(i - 1)].external != id) return kNone;
    return records_[*(i - 1)].comms;
  };
  for (Placed& p : placed_) {
    if (p.span.comms != kNone) p.comms = comms_[p.span.comms];
    if (p.on_host()) continue;
    std::uint32_t told = kNone;
    if (p.launch != kNone) told = around(records_, a.lane[p.launch], a.begin[p.launch]);
    // Files of 2023 repeat the correlation as the external id.
    if (told == kNone && p.span.external != 0 && p.span.external != p.span.correlation)
      told = with_external(p.span.external, p.span.begin);
    if (told == kNone && p.launch != kNone) told = around(calls_, a.lane[p.launch], a.begin[p.launch]);
    if (told == kNone) continue;
    const Comms& c = comms_[told];
    if (!p.comms.collective) p.comms.collective = c.collective;
    if (p.comms.bytes == 0) p.comms.bytes = c.bytes;
    if (p.comms.element == 0) p.comms.element = c.element;
    if (p.comms.group == GroupTable::kNone) p.comms.group = c.group;
    if (p.comms.sequence < 0) p.comms.sequence = c.sequence;
    p.comms.variable = p.comms.variable || c.variable;
  }
}

void Collector::place_collectives(PartBuilder& builder, const Header& header) {
  std::set<std::uint32_t> used;
  for (const Placed& p : placed_)
    if (p.comms.group != GroupTable::kNone) used.insert(p.comms.group);
  groups_.resolve(builder, header.distributed, used);
  std::map<std::uint32_t, std::set<CommId>> seen_on;  // by stream
  for (Placed& p : placed_) {
    if (p.comms.group == GroupTable::kNone) continue;
    p.comm = groups_.communicator(p.comms.group);
    if (!p.on_host()) seen_on[p.span.lane].insert(p.comm);
  }
  std::set<std::pair<bool, std::uint32_t>> assumed;  // host first, then streams by number
  for (Placed& p : placed_) {
    if (p.comm != kNoComm) continue;
    const auto on = seen_on.find(p.span.lane);
    if (!p.on_host() && on != seen_on.end() && on->second.size() == 1) {
      p.comm = *on->second.begin();
      ++by_stream_;
      continue;
    }
    assumed.emplace(!p.on_host(), p.on_host() ? 0 : p.span.lane);
    ++assumed_;
  }
  std::map<std::pair<bool, std::uint32_t>, CommId> assumed_comm;
  for (const auto& key : assumed) {
    const std::string name =
        key.first ? fmt::format("world (assumed), stream {}", key.second) : std::string("world (assumed)");
    const int size = std::max(0, header.distributed.world_size);
    assumed_comm[key] = builder.communicator(name, groups_.everybody(size), size);
  }
  for (Placed& p : placed_)
    if (p.comm == kNoComm) p.comm = assumed_comm[{!p.on_host(), p.on_host() ? 0 : p.span.lane}];
}

/// The library's own number where every collective of a group has one and none twice; else the position in
/// order of begin. Point to point has no such number: it is counted apart then.
void Collector::number_collectives() {
  const auto numbered = [](const Placed& p) {
    return p.comms.sequence >= 0 && p.comms.sequence <= std::numeric_limits<std::uint32_t>::max();
  };
  const auto is_peer = [](const Placed& p) { return p.span.meaning.collective == Collective::SendRecv; };
  std::map<CommId, std::vector<std::size_t>> of;
  for (std::size_t i = 0; i < placed_.size(); ++i) of[placed_[i].comm].push_back(i);
  for (const auto& [comm, members] : of) {
    std::set<std::int64_t> numbers;
    std::int64_t collectives = 0;
    for (const std::size_t i : members) {
      if (is_peer(placed_[i])) continue;
      ++collectives;
      if (numbered(placed_[i])) numbers.insert(placed_[i].comms.sequence);
    }
    const bool tagged = collectives > 0 && static_cast<std::int64_t>(numbers.size()) == collectives;
    if (!tagged && !numbers.empty()) ++not_numbered_;
    std::uint32_t next = 0;
    for (const std::size_t i : members) {
      Placed& p = placed_[i];
      p.tagged = tagged && !is_peer(p);
      p.seq = p.tagged ? static_cast<std::uint32_t>(p.comms.sequence) : next++;
    }
  }
}

void Collector::emit_collectives(PartBuilder& builder, RankTrack& track) {
  for (const Placed& p : placed_) {
    Event e{.kind = EventKind::Collective,
            .op = static_cast<std::uint8_t>(p.span.meaning.collective),
            .begin = since_origin(p.span.begin),
            .end = since_origin(p.span.end),
            .bytes = Bytes{p.comms.bytes},
            .comm = p.comm,
            .seq = p.seq,
            .thread = p.span.lane};
    e.flags =
        static_cast<std::uint16_t>((p.tagged ? kTagged : 0) | (p.comms.variable ? kVariable : 0) |
                                   (p.on_host() ? kOffThread : 0) | (p.comms.element > 0 ? kElement : 0));
    e.aux = p.comms.element;
    const std::size_t index = builder.add_event(0, e);
    if (p.launch == kNone) continue;
    track.launches.push_back({.event = static_cast<std::uint32_t>(index),
                              .begin = track.activities.begin[p.launch],
                              .end = track.activities.end[p.launch]});
  }
}

void Collector::place_marks(PartBuilder& builder) {
  std::stable_sort(marks_.begin(), marks_.end(),
                   [](const Span& a, const Span& b) { return a.begin < b.begin; });
  const Span* last_step = nullptr;
  for (const Span& m : marks_) {
    if (!near(m.begin) || !near(m.end)) {
      ++far_;
      continue;
    }
    Event e{.begin = since_origin(m.begin), .end = since_origin(m.end), .thread = m.lane};
    if (m.meaning.kind == NameKind::Step) {
      // Several threads may mark the same step.
      const bool again =
          last_step != nullptr && last_step->meaning.step == m.meaning.step && m.begin < last_step->end;
      last_step = again ? last_step : &m;
      if (again) continue;
      e.kind = EventKind::Step;
      e.bytes = Bytes{m.meaning.step};
      e.end = e.begin;
    } else {
      e.kind = EventKind::Phase;
      e.op = static_cast<std::uint8_t>(m.meaning.kind == NameKind::DataLoad ? PhaseKind::Data
                                                                            : PhaseKind::Optimizer);
    }
    builder.add_event(0, e);
  }
}

void Collector::write_notes(PartBuilder& b, const Header& header, const EventCounts& counts) {
  const Distributed& d = header.distributed;
  if (d.rank < 0) b.note("the file does not say which rank it is");
  b.note_count(counts.malformed, "event is", "events are", " not valid JSON and left out");
  b.note_count(no_begin_, "event", "events", " without a time stamp");
  b.note_count(no_duration_, "event", "events", " without a duration");
  std::int64_t unclosed = 0;
  for (const auto& [thread, spans] : open_) unclosed += static_cast<std::int64_t>(spans.size());
  b.note_count(unclosed, "event begins and never ends", "events begin and never end", " (phase B)");
  b.note_count(unpaired_, "event ends", "events end", " and never began (phase E)");
  b.note_count(far_, "event lies", "events lie", " more than 50 days from the others");
  b.note_count(counts.unknown, "event is", "events are", " of no known category");
  if (devices_.size() > 1)
    b.note(fmt::format("kernels of {} devices in one file, taken as one rank", devices_.size()));
  if (assumed_ > 0)
    b.note(fmt::format(
        "{} no process group: each stream is taken as one communicator of {}",
        counted(assumed_, "collective names", "collectives name"),
        d.world_size > 0 ? "all " + counted(d.world_size, "rank", "ranks") : std::string("unknown size")));
  b.note_count(by_stream_, "collective", "collectives",
               " without a process group taken to be of the only one on the same stream");
  b.note_count(groups_.without_members(), "process group", "process groups",
               " without a whole list of members");
  b.note_count(not_numbered_, "process group", "process groups",
               " with sequence numbers missing or repeated: operations are counted by position");
  if (d.group_count >= 0 && d.group_count != static_cast<std::int64_t>(d.groups.size()))
    b.note(fmt::format("distributedInfo counts {} and lists {}",
                       counted(d.group_count, "process group", "process groups"), d.groups.size()));
  const bool device_seen = tally_.kernels > 0;
  if (!calls_.empty() && !device_seen && host_collectives_ == 0)
    b.note_count(static_cast<std::int64_t>(calls_.size()), "collective is", "collectives are",
                 " seen being called only: the file holds no kernels");
  const auto launched = std::count_if(placed_.begin(), placed_.end(),
                                      [](const Placed& p) { return !p.on_host() && p.launch == kNone; });
  b.note_count(launched, "collective", "collectives", " without the launching call");
}

Tally Collector::finish(PartBuilder& builder, const Header& header, const EventCounts& counts) {
  const Distributed& d = header.distributed;
  add_late_syncs();
  choose_origin();
  builder.add_rank(Rank(d.rank));
  RankTrack& track = builder.rank(0);
  if (pid_ > 0 && pid_ <= std::numeric_limits<int>::max()) track.pid = static_cast<int>(pid_);
  if (!d.backend.empty())
    track.library = d.library_version.empty() ? d.backend : d.backend + " " + d.library_version;
  for (Span& s : collectives_) {
    if (near(s.begin) && near(s.end))
      placed_.push_back({.span = s, .comms = {}});
    else
      ++far_;
  }
  release_memory(collectives_);
  std::stable_sort(placed_.begin(), placed_.end(),
                   [](const Placed& a, const Placed& b) { return a.span.begin < b.span.begin; });
  place_rows(builder, track);
  link_launches(track);
  explain_collectives(track.activities);
  for (Placed& p : placed_) {
    // NCCL makes all-to-all, gather and scatter of sends and receives; RCCL's generic kernel says nothing.
    Collective& kind = p.span.meaning.collective;
    if (p.comms.collective && (kind == Collective::SendRecv || kind == Collective::Other))
      kind = *p.comms.collective;
  }
  place_collectives(builder, header);
  number_collectives();
  emit_collectives(builder, track);
  place_marks(builder);
  Run& run = builder.run();
  run.world_size = std::max(0, d.world_size);
  run.times = TimesKind::Clocked;
  // A clock that began less than thirty years before is none of the time of day.
  constexpr std::int64_t kYear2000 = 946'684'800'000'000'000;
  std::int64_t realtime = 0;
  if (!__builtin_add_overflow(origin_, header.base_ns, &realtime) && realtime > kYear2000)
    run.origin_realtime_ns = realtime;
  write_notes(builder, header, counts);
  tally_.used -= std::min(tally_.used, far_);
  builder.count(counts.complete + begun_, tally_.used);
  return tally_;
}

}  // namespace cox::trace::kineto
