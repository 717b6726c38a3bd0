// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>
#include <utility>

#include "cox/base/number_text.hpp"

#include "trace/import/nccl/flight_recorder.hpp"
#include "trace/import/nccl/flight_recorder_entry.hpp"
#include "trace/import/part/part_builder.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

using Index = PlainTree::Index;

/// An honest entry is several hundred bytes; more of them than this are references to shared ones.
constexpr std::size_t kBytesPerEntry = 64;
/// Beyond a hundred days from the first entry, a time is damage (and would not fit a Duration).
constexpr std::int64_t kMostNanoseconds = std::int64_t{9'000'000} * 1'000'000'000;
constexpr std::size_t kGroupsInNote = 8;

struct RingGroup {
  std::string name;   ///< as the entries call it
  std::string title;  ///< with its description
  std::vector<Rank> ranks;
  bool is_world = false;
  CommId comm = kNoComm;
  std::int64_t first_sequence = -1;  ///< of the collectives kept
};

/// When an entry ran, and on what that rests.
struct RingSpan {
  std::int64_t begin_ns = 0;
  Duration length{};
  bool ended = false;
};

class DumpMapper {
 public:
  DumpMapper(const PlainDocument& dump, const std::filesystem::path& path, const char* format,
             std::size_t input_bytes)
      : tree_(dump.tree),
        root_(dump.root),
        path_(path),
        part_(path.string(), format),
        budget_(input_bytes),
        most_entries_(input_bytes / kBytesPerEntry + 1) {}

  Result<Run> map() && {
    const Index list = tree_.find(root_, "entries");
    if (tree_.kind(list) != PlainKind::List)
      return fail(Error{.code = Errc::InvalidInput,
                        .id = "import-005",
                        .message = "no list `entries`, expected a Flight Recorder dump with its collectives",
                        .hint = "dump with includeCollectives, or take the file that the watchdog wrote",
                        .where = Where{.file = path_.string()}});
    read_groups();
    read_entries(list);
    const std::size_t rank = part_.add_rank(find_rank(), host());
    join_coalesced();
    set_origin();
    for (const RingEntry& e : entries_) add(rank, e);
    describe(rank);
    write_notes();
    return std::move(part_).finish();
  }

 private:
  // --- what the dump says ---------------------------------------------------------------------------------
  void read_groups() {
    const auto& pairs = tree_.items(tree_.find(root_, "pg_config"));
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const auto key = tree_.as_text(pairs[i]);
      if (!key || !budget_.take(1)) continue;
      RingGroup group;
      group.name = key->substr(0, kRingNameBytes);
      const std::string_view about =
          tree_.as_text(tree_.find(pairs[i + 1], "desc")).value_or("").substr(0, kRingNameBytes);
      group.is_world = about == "default_pg";
      group.title = clean_text(group.name);
      if (!about.empty() && about != "undefined") group.title += " " + clean_text(about);
      group.ranks = read_rank_list(tree_, tree_.find(pairs[i + 1], "ranks"), budget_);
      groups_.try_emplace(group.name, std::move(group));
    }
    // By name, so that all ranks' files number groups of equal members in the same order.
    for (auto& [name, group] : groups_) {
      group.comm = part_.communicator(group.title, group.ranks, static_cast<int>(group.ranks.size()));
      auto& about = part_.run().communicators[static_cast<std::size_t>(group.comm.value())];
      about.by_rank = group.ranks;
      if (group.is_world) part_.run().world_size = static_cast<int>(group.ranks.size());
    }
  }

  void read_entries(Index list) {
    const auto& all = tree_.items(list);
    const std::size_t looked_at = std::min(all.size(), most_entries_);
    unreadable_ += static_cast<std::int64_t>(all.size() - looked_at);
    for (std::size_t i = 0; i < looked_at; ++i) {
      auto entry = read_ring_entry(tree_, all[i], budget_);
      if (!entry || entry->sequence < 0 || entry->sequence > 0xffffffffLL) {
        ++unreadable_;
        continue;
      }
      if (entry->record >= 0) {
        first_record_ = first_record_ < 0 ? entry->record : std::min(first_record_, entry->record);
        last_record_ = std::max(last_record_, entry->record);
        ++numbered_;
      }
      any_completed_ |= entry->completed_ns.has_value();
      entries_.push_back(*std::move(entry));
    }
    part_.count(static_cast<std::int64_t>(all.size()), 0);
  }

  std::string host() {
    for (const char* key : {"host_name", "hostname"})
      if (const auto text = tree_.as_text(tree_.find(root_, key)))
        return clean_text(text->substr(0, kRingNameBytes));
    return {};
  }

  // --- which rank this is ---------------------------------------------------------------------------------
  [[nodiscard]] bool may_be(Rank rank) const {
    return std::all_of(groups_.begin(), groups_.end(), [&](const auto& g) {
      const auto& ranks = g.second.ranks;
      return ranks.empty() || std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
    });
  }

  Rank find_rank() {
    for (const char* key : {"rank", "global_rank"})
      if (const auto n = tree_.as_integer(tree_.find(root_, key)); n && *n >= 0 && *n <= 0x7fffffff)
        return Rank(static_cast<std::int32_t>(*n));
    if (const auto told = rank_from_messages()) return *told;
    if (const auto left = rank_from_groups()) {
      part_.note(fmt::format("the dump does not hold its rank; {} is the only member of all its groups",
                             left->value()));
      return *left;
    }
    // `nccl_trace_rank_3`, also with an ending
    std::string stem = path_.filename().string();
    for (const char* ending : {".gz", ".zst", ".json", ".pickle", ".pkl"})
      if (stem.ends_with(ending)) stem.resize(stem.size() - std::string_view(ending).size());
    std::size_t first = stem.find_last_not_of("0123456789");
    first = first == std::string::npos ? 0 : first + 1;
    std::int32_t n = -1;
    if (const auto [end, ec] = std::from_chars(stem.data() + first, stem.data() + stem.size(), n);
        ec == std::errc() && n >= 0 && may_be(Rank(n))) {
      part_.note(fmt::format("the dump does not hold its rank; {} is taken from the file's name", n));
      return Rank(n);
    }
    part_.note("the dump does not hold its rank, and neither its groups nor its name tell it");
    return Rank(-1);
  }

  /// `send 2->3` names the sender's place in the group.
  [[nodiscard]] std::optional<Rank> rank_from_messages() const {
    for (const RingEntry& e : entries_) {
      const auto group = groups_.find(e.group);
      if (e.own >= 0 && group != groups_.end() &&
          static_cast<std::size_t>(e.own) < group->second.ranks.size())
        return group->second.ranks[static_cast<std::size_t>(e.own)];
    }
    return std::nullopt;
  }

  /// A process records the groups that it is a member of; where only one rank is in all of them, it is that.
  [[nodiscard]] std::optional<Rank> rank_from_groups() const {
    std::optional<std::vector<Rank>> common;
    for (const auto& [name, group] : groups_) {
      if (group.ranks.empty()) continue;
      std::vector<Rank> sorted = group.ranks;
      std::sort(sorted.begin(), sorted.end());
      if (common) {
        std::vector<Rank> both;
        std::set_intersection(common->begin(), common->end(), sorted.begin(), sorted.end(),
                              std::back_inserter(both));
        common = std::move(both);
      } else {
        common = std::move(sorted);
      }
    }
    if (!common || common->size() != 1) return std::nullopt;
    return common->front();
  }

  // --- entries that are parts of one operation ------------------------------------------------------------
  /// Operations inside a coalescing group share a sequence number and have no events of their own: one
  /// collective with the sum of the bytes and the group's times; messages keep their sizes and get its times.
  void join_coalesced() {
    using Key = std::pair<std::string_view, std::int64_t>;
    std::map<Key, std::size_t> collectives;
    std::map<Key, const RingEntry*> messages;
    for (const RingEntry& e : entries_)
      if (e.message && e.coalesced) messages.emplace(Key{e.group, e.sequence}, &e);
    std::vector<RingEntry> joined;
    joined.reserve(entries_.size());
    for (const RingEntry& e : entries_) {
      const Key key{e.group, e.sequence};
      if (e.message) {
        if (e.coalesced) continue;
        joined.push_back(e);
        if (const auto all = messages.find(key); all != messages.end())
          take_times(joined.back(), *all->second);
        continue;
      }
      const auto [at, is_new] = collectives.try_emplace(key, joined.size());
      if (is_new)
        joined.push_back(e);
      else {
        join(joined[at->second], e);
        ++joined_;
      }
    }
    entries_ = std::move(joined);
  }
  static void take_times(RingEntry& to, const RingEntry& from) {
    if (from.created_ns && (!to.created_ns || *from.created_ns < *to.created_ns))
      to.created_ns = from.created_ns;
    to.started_ns = from.started_ns;
    to.completed_ns = from.completed_ns;
    to.device_time = from.device_time;
    to.retired = from.retired;
  }
  static void join(RingEntry& to, const RingEntry& from) {
    if (from.coalesced || (!to.coalesced && !to.completed_ns && from.completed_ns)) take_times(to, from);
    if (to.coalesced) to.op = from.op;
    to.coalesced = to.coalesced && from.coalesced;
    std::int64_t sum = 0;
    if (__builtin_add_overflow(to.bytes.count(), from.bytes.count(), &sum)) to.sized = false;
    to.bytes = Bytes(sum);
    if (to.element_bytes == 0) to.element_bytes = from.element_bytes;
  }

  // --- times ----------------------------------------------------------------------------------------------
  void set_origin() {
    std::int64_t first = 0;
    for (const RingEntry& e : entries_)
      for (const auto& t : {e.created_ns, e.started_ns, e.completed_ns})
        if (t && (first == 0 || *t < first)) first = *t;
    origin_ns_ = first;
    part_.run().origin_realtime_ns = first;
  }

  [[nodiscard]] std::optional<RingSpan> span_of(const RingEntry& e) {
    const auto since_origin = [&](std::int64_t ns) { return ns - origin_ns_; };
    const auto begin = e.started_ns ? e.started_ns : e.created_ns;
    const std::int64_t last = std::max(e.completed_ns.value_or(0), begin.value_or(0));
    if ((!begin && !e.completed_ns) || since_origin(last) > kMostNanoseconds) return std::nullopt;
    RingSpan span;
    if (!e.completed_ns) {
      span.begin_ns = since_origin(*begin);
      span.ended = e.retired && !any_completed_;
      return span;
    }
    span.ended = true;
    if (e.device_time && *e.device_time <= std::chrono::nanoseconds(kMostNanoseconds)) {
      ++by_device_;
      span.length = *e.device_time;
      span.begin_ns =
          since_origin(*e.completed_ns) - std::chrono::ceil<std::chrono::nanoseconds>(span.length).count();
    } else {
      ++(e.started_ns ? by_watchdog_ : by_creation_);
      span.begin_ns = since_origin(begin ? std::min(*begin, *e.completed_ns) : *e.completed_ns);
      span.length = std::chrono::nanoseconds(since_origin(*e.completed_ns) - span.begin_ns);
      if (begin && *begin > *e.completed_ns) ++backwards_;
    }
    return span;
  }

  void add(std::size_t rank, const RingEntry& e) {
    const auto span = span_of(e);
    if (!span) {
      ++untimed_;
      return;
    }
    RingGroup& group = group_of(e.group);
    Event event;
    event.begin = std::chrono::nanoseconds(span->begin_ns);
    event.end = span->ended ? event.begin + span->length : kStillRunning;
    event.bytes = e.sized ? e.bytes : Bytes();
    event.comm = group.comm;
    if (e.message) {
      event.kind = EventKind::PointToPoint;
      event.op = static_cast<std::uint8_t>(e.direction);
      event.seq = 1;
      event.aux = e.peer >= 0 ? static_cast<std::uint32_t>(e.peer) : kAnyPeer;
      ++messages_;
    } else {
      event.op = static_cast<std::uint8_t>(e.op);
      event.flags = static_cast<std::uint16_t>(kTagged | (e.variable ? kVariable : 0));
      event.seq = static_cast<std::uint32_t>(e.sequence);
      if (e.element_bytes != 0) {
        event.flags |= kElement;
        event.aux = e.element_bytes;
      }
      if (group.first_sequence < 0 || e.sequence < group.first_sequence) group.first_sequence = e.sequence;
      if (e.op == model::Collective::Other) ++unnamed_;
    }
    if (!e.sized) ++unsized_;
    if (!span->ended) ++(e.started_ns ? running_ : waiting_);
    if (!span->ended && e.retired) ++timed_out_;
    part_.add_event(rank, event);
    ++used_;
  }

  RingGroup& group_of(const std::string& name) {
    const auto [at, is_new] = groups_.try_emplace(name);
    if (is_new) {
      at->second.name = name;
      at->second.title = clean_text(name);
      at->second.comm = part_.communicator(at->second.title, {}, 0);
      ++unlisted_;
    }
    return at->second;
  }

  // --- what to say ----------------------------------------------------------------------------------------
  void describe(std::size_t rank) {
    RankTrack& track = part_.rank(rank);
    const auto version = tree_.as_text(tree_.find(root_, "version")).value_or("?");
    const std::string backend = entries_.empty() ? "" : clean_text(entries_.front().backend);
    track.library = fmt::format("c10d{}{}, Flight Recorder {}", backend.empty() ? "" : "+", backend,
                                clean_text(version.substr(0, 16)));
    if (by_device_ > 0)
      track.timing = "collective=device time, placed where its end was seen";
    else if (by_watchdog_ > 0)
      track.timing = "collective=begin and end as seen by the watchdog";
    else if (by_creation_ > 0)
      track.timing = "collective=from enqueue to where its end was seen";
    else
      track.timing = "collective=enqueue only";
    if (!any_completed_ && running_ + waiting_ < used_) part_.run().times = TimesKind::None;
    track.state =
        WriterState::Open;  // the process was under way when its ring was dumped: what is open is so still
    if (first_record_ > 0) track.recycled_records = static_cast<std::uint64_t>(first_record_);
    part_.count(0, used_ + joined_);
  }

  void write_notes() {
    if (first_record_ > 0)
      part_.note(fmt::format("ring wrapped: {} overwritten; first kept {}",
                             counted(first_record_, "entry before was", "entries before were"),
                             first_kept()));
    if (const auto whole =
            static_cast<std::uint64_t>(last_record_) - static_cast<std::uint64_t>(first_record_) + 1;
        numbered_ > 0 && whole > numbered_)
      part_.note(fmt::format("{} of the {} entries between the first and the last {} missing",
                             whole - numbered_, whole, whole - numbered_ == 1 ? "is" : "are"));
    part_.note_count(unreadable_, "entry without a name or a usable sequence number is left out",
                     "entries without a name or a usable sequence number are left out");
    part_.note_count(untimed_, "entry without a usable time is left out",
                     "entries without a usable time are left out");
    part_.note_count(backwards_, "entry ends before it begins: taken as an instant",
                     "entries end before they begin: taken as instants");
    part_.note_count(unsized_, "entry without sizes or data types: its bytes are not known",
                     "entries without sizes or data types: their bytes are not known");
    part_.note_count(unnamed_, "collective", "collectives", " of a kind that is not known here");
    part_.note_count(unlisted_, "process group is not in pg_config: its members are not known",
                     "process groups are not in pg_config: their members are not known");
    part_.note_count(joined_, "entry was part of a coalesced operation and is counted with it",
                     "entries were parts of coalesced operations and are counted with them");
    part_.note_count(messages_, "message is kept as a point-to-point event",
                     "messages are kept as point-to-point events", ", not matched with the other side");
    part_.note_count(waiting_, "call was", "calls were",
                     " on the queue and had not started when the dump was made");
    part_.note_count(running_, "call", "calls", " had started and not finished when the dump was made");
    part_.note_count(timed_out_, "of the unfinished calls was", "of the unfinished calls were",
                     " given up by the watchdog (timed out)");
    part_.note_count(by_creation_, "call is timed from its enqueue", "calls are timed from their enqueue",
                     ": TORCH_NCCL_ENABLE_TIMING was off");
    if (part_.run().times == TimesKind::None)
      part_.note("no ends were recorded (as with Gloo): only the order and what is unfinished can be told");
  }

  [[nodiscard]] std::string first_kept() const {
    std::string out;
    std::size_t said = 0;
    for (const auto& [name, group] : groups_) {
      if (group.first_sequence < 0) continue;
      if (said++ == kGroupsInNote) return out + ", ...";
      out += fmt::format("{}seq {} of group {}", out.empty() ? "" : ", ", group.first_sequence, group.title);
    }
    return out.empty() ? "none" : out;
  }

  const PlainTree& tree_;
  Index root_;
  std::filesystem::path path_;
  PartBuilder part_;
  WorkBudget budget_;
  std::size_t most_entries_;
  std::map<std::string, RingGroup, std::less<>> groups_;
  std::vector<RingEntry> entries_;
  std::int64_t origin_ns_ = 0;
  std::int64_t first_record_ = -1;
  std::int64_t last_record_ = -1;
  std::uint64_t numbered_ = 0;
  bool any_completed_ = false;
  std::int64_t used_ = 0, joined_ = 0, messages_ = 0, unreadable_ = 0, untimed_ = 0, unsized_ = 0;
  std::int64_t unnamed_ = 0, unlisted_ = 0, backwards_ = 0, waiting_ = 0, running_ = 0, timed_out_ = 0;
  std::int64_t by_device_ = 0, by_watchdog_ = 0, by_creation_ = 0;
};

}  // namespace

Result<Run> map_flight_recorder(const PlainDocument& dump, const std::filesystem::path& path,
                                const char* format, std::size_t input_bytes) {
  return DumpMapper(dump, path, format, input_bytes).map();
}

}  // namespace cox::trace
