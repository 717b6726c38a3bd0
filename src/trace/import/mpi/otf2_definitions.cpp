// SPDX-License-Identifier: Apache-2.0
#include "trace/import/mpi/otf2_definitions.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "trace/raw/meta_entries.hpp"

namespace cox::trace::otf2 {
namespace {

// Numbers of records (otf2_global_definitions.h, otf2_local_definitions.h).
enum class Global : std::uint8_t {
  ClockProperties = 5,
  String = 10,
  SystemTreeNode = 12,
  LocationGroup = 13,
  Location = 14,
  Region = 15,
  Group = 18,
  Comm = 22,
  SystemTreeNodeDomain = 27,
};
enum class Local : std::uint8_t { MappingTable = 5, ClockOffset = 6 };
constexpr std::uint8_t kMappedRegion = 3;
constexpr std::uint8_t kMappedComm = 6;
constexpr std::uint8_t kDomainSharedMemory = 1;
constexpr std::size_t kLongestName = 256;

/// Groups of before OTF2 1.2 had a numbering of their own (otf2_attic_types.h).
std::uint8_t type_of_old(std::uint8_t type) {
  switch (type) {
    case 4:
      return kCommGroup;
    case 5:
      return kCommSelf;
    case 6:
      return kCommLocations;
    default:
      return 0;
  }
}

/// Collects definitions while their strings may still come: OTF2 writes them first, but nothing says so.
class DefinitionReader {
 public:
  void read(const Record& record) {
    Cursor c = record.content;
    ++out_.records;
    if (!take(static_cast<Global>(record.id), c)) ++out_.skipped;
    if (!c.ok()) ++out_.damaged;
  }
  Definitions finish() &&;

 private:
  struct Named {
    std::uint32_t id;
    std::uint32_t name;
    std::uint32_t class_name = kUndefined32;
  };
  bool take(Global kind, Cursor& c);
  void take_clock(Cursor& c);
  void take_system_node(Cursor& c);
  void take_location_group(Cursor& c);
  void take_location(Cursor& c);
  void take_region(Cursor& c);
  void take_group(Cursor& c);
  void take_comm(Cursor& c);
  [[nodiscard]] std::string text(std::uint32_t id) const {
    const auto at = strings_.find(id);
    return at == strings_.end() ? std::string() : clean_text(at->second.substr(0, kLongestName));
  }

  Definitions out_;
  std::map<std::uint32_t, std::string_view> strings_;
  std::vector<Named> nodes_, location_groups_, regions_, comms_;
};

bool DefinitionReader::take(Global kind, Cursor& c) {
  switch (kind) {
    case Global::ClockProperties:
      take_clock(c);
      return true;
    case Global::String: {
      const std::uint32_t id = c.packed32();
      const std::string_view value = c.text();
      if (c.ok()) strings_.emplace(id, value);
      return true;
    }
    case Global::SystemTreeNode:
      take_system_node(c);
      return true;
    case Global::LocationGroup:
      take_location_group(c);
      return true;
    case Global::Location:
      take_location(c);
      return true;
    case Global::Region:
      take_region(c);
      return true;
    case Global::Group:
      take_group(c);
      return true;
    case Global::Comm:
      take_comm(c);
      return true;
    case Global::SystemTreeNodeDomain: {
      const std::uint32_t node = c.packed32();
      const std::uint8_t domain = c.u8();
      if (c.ok() && domain == kDomainSharedMemory) out_.nodes[node].shares_memory = true;
      return true;
    }
  }
  return false;
}

void DefinitionReader::take_clock(Cursor& c) {
  const std::uint64_t ticks = c.packed64();
  const std::uint64_t offset = c.packed64();
  const std::uint64_t length = c.packed64();
  if (!c.ok()) return;
  out_.ticks_per_second = ticks;
  out_.global_offset = offset;
  out_.trace_length = length;
  if (c.left() == 0) return;  // before OTF2 3.0 there is no time of day
  const std::uint64_t realtime = c.packed64();
  if (c.ok() && realtime != kUndefined64) out_.realtime_ns = realtime;
}

void DefinitionReader::take_system_node(Cursor& c) {
  const std::uint32_t id = c.packed32();
  const std::uint32_t name = c.packed32();
  const std::uint32_t class_name = c.packed32();
  const std::uint32_t parent = c.packed32();
  if (!c.ok()) return;
  out_.nodes[id].parent = parent;
  nodes_.push_back({.id = id, .name = name, .class_name = class_name});
}

void DefinitionReader::take_location_group(Cursor& c) {
  const std::uint32_t id = c.packed32();
  const std::uint32_t name = c.packed32();
  const std::uint8_t type = c.u8();
  const std::uint32_t node = c.packed32();
  if (!c.ok()) return;
  out_.groups_of_locations[id] = {.name = {}, .type = type, .node = node};
  location_groups_.push_back({.id = id, .name = name});
}

void DefinitionReader::take_location(Cursor& c) {
  Location l;
  l.id = c.packed64();
  static_cast<void>(c.packed32());  // name
  l.type = c.u8();
  l.events = c.packed64();
  l.group = c.packed32();
  if (c.ok()) out_.locations.push_back(l);
}

void DefinitionReader::take_region(Cursor& c) {
  const std::uint32_t id = c.packed32();
  const std::uint32_t name = c.packed32();
  static_cast<void>(c.packed32());                              // description
  static_cast<void>(c.u8());                                    // type of before 1.1
  for (int i = 0; i < 3; ++i) static_cast<void>(c.packed32());  // source file, first line, last line
  if (!c.ok()) return;
  out_.regions.try_emplace(id);
  regions_.push_back({.id = id, .name = name});
  if (c.left() == 0) return;        // before OTF2 1.1 the name alone tells whose it is
  static_cast<void>(c.packed32());  // name as the linker knows it
  static_cast<void>(c.u8());        // role
  const std::uint8_t paradigm = c.u8();
  if (c.ok()) out_.regions[id].is_mpi = paradigm == kMpi;
}

void DefinitionReader::take_group(Cursor& c) {
  const std::uint32_t id = c.packed32();
  static_cast<void>(c.packed32());  // name
  const std::uint8_t old_type = c.u8();
  const std::uint32_t count = c.packed32();
  if (!c.ok()) return;
  if (count > c.left()) {  // a member takes a byte at least
    c.skip(kUndefined64);
    return;
  }
  Group group;
  group.members.reserve(count);
  for (std::uint32_t i = 0; i < count && c.ok(); ++i) group.members.push_back(c.packed64());
  if (c.ok() && c.left() == 0) {
    group.type = type_of_old(old_type);
    group.paradigm = kMpi;
  } else {
    group.type = c.u8();
    group.paradigm = c.u8();
  }
  if (c.ok()) out_.groups.insert_or_assign(id, std::move(group));
}

void DefinitionReader::take_comm(Cursor& c) {
  const std::uint32_t id = c.packed32();
  const std::uint32_t name = c.packed32();
  const std::uint32_t group = c.packed32();
  if (!c.ok()) return;
  out_.comms[id].group = group;
  comms_.push_back({.id = id, .name = name});
}

Definitions DefinitionReader::finish() && {
  for (const Named& n : nodes_) {
    out_.nodes[n.id].name = text(n.name);
    out_.nodes[n.id].class_name = text(n.class_name);
  }
  for (const Named& n : location_groups_) out_.groups_of_locations[n.id].name = text(n.name);
  for (const Named& n : comms_) out_.comms[n.id].name = text(n.name);
  for (const Named& n : regions_) {
    Region& region = out_.regions[n.id];
    region.name = text(n.name);
    region.is_mpi = region.is_mpi || is_mpi_name(region.name);
    region.function = mpi_function(region.name);
  }
  return std::move(out_);
}

}  // namespace

bool is_anchor(std::string_view head) {
  return head.size() >= 7 && head[0] == 3 && (head[1] == 0x42 || head[1] == 0x23) &&
         head.substr(2, 5) == std::string_view("OTF2\0", 5);
}

bool is_part(std::string_view head) {
  // A chunk header whose first event or definition is number one.
  if (head.size() < 18 || head[0] != 3) return false;
  if (head[1] == 0x42) return head.substr(2, 8) == std::string_view("\1\0\0\0\0\0\0\0", 8);
  return head[1] == 0x23 && head.substr(2, 8) == std::string_view("\0\0\0\0\0\0\0\1", 8);
}

std::optional<Anchor> parse_anchor(std::string_view bytes) {
  if (!is_anchor(bytes)) return std::nullopt;
  Cursor c(bytes.substr(2), static_cast<ByteOrder>(bytes[1]));
  static_cast<void>(c.text());
  c.skip(5);  // formats of the anchor and of the trace, version of the library
  Anchor a;
  a.event_chunk_bytes = c.u64();
  a.definition_chunk_bytes = c.u64();
  a.substrate = c.u8();
  a.compression = c.u8();
  a.locations = c.u64();
  a.definitions = c.u64();
  static_cast<void>(c.text());  // machine
  a.creator = clean_text(c.text().substr(0, kLongestName));
  if (!c.ok()) return std::nullopt;
  return a;
}

Definitions parse_definitions(std::string_view bytes, std::uint64_t chunk_bytes) {
  RecordReader records(bytes, Content::Definitions, chunk_bytes);
  DefinitionReader reader;
  Record record;
  while (records.next(record)) reader.read(record);
  Definitions out = std::move(reader).finish();
  out.ending = records.ending();
  out.end_at = records.position();
  return out;
}

void IdMap::read(Cursor& from) {
  const std::uint64_t count = from.packed64();
  const bool dense = from.u8() == 0;
  if (!from.ok() || count > from.left()) return;  // an entry takes a byte at least
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t own = dense ? i : from.packed64();
    const std::uint64_t global = from.packed64();
    if (!from.ok()) return;
    if (dense)
      dense_.push_back(global);
    else
      sparse_.insert_or_assign(own, global);
  }
}

std::uint32_t IdMap::operator()(std::uint32_t own) const {
  if (own < dense_.size()) return static_cast<std::uint32_t>(dense_[own]);
  const auto at = sparse_.find(own);
  return at == sparse_.end() ? own : static_cast<std::uint32_t>(at->second);
}

std::uint64_t LocalDefinitions::corrected(std::uint64_t time) const {
  if (offsets.size() < 2) return time;  // as OTF2: one reading gives no line
  // Distances that do not fit are no times of one trace; they wrap instead of being undefined.
  const auto apart = [](std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b); };
  auto after = std::lower_bound(offsets.begin(), offsets.end(), time,
                                [](const ClockOffset& o, std::uint64_t t) { return o.time < t; });
  if (after == offsets.begin()) ++after;
  if (after == offsets.end()) --after;
  const ClockOffset& right = *after;
  const ClockOffset& left = *(after - 1);
  const std::int64_t span = apart(right.time, left.time);
  if (span <= 0) return time + static_cast<std::uint64_t>(left.offset);
  const double slope =
      (static_cast<double>(right.offset) - static_cast<double>(left.offset)) / static_cast<double>(span);
  const double grown = slope * static_cast<double>(apart(time, left.time));
  constexpr double kMost = 9e18;
  if (!(std::abs(grown) < kMost)) return time;
  // Rounded as OTF2 does, to the tick: the whole offset apart from what has grown since.
  return time + static_cast<std::uint64_t>(left.offset) + static_cast<std::uint64_t>(std::llrint(grown));
}

LocalDefinitions parse_local_definitions(std::string_view bytes, std::uint64_t chunk_bytes) {
  LocalDefinitions out;
  RecordReader records(bytes, Content::Definitions, chunk_bytes);
  Record record;
  while (records.next(record)) {
    Cursor& c = record.content;
    if (record.id == static_cast<std::uint8_t>(Local::MappingTable)) {
      const std::uint8_t kind = c.u8();
      if (kind == kMappedRegion) out.regions.read(c);
      if (kind == kMappedComm) out.comms.read(c);
    } else if (record.id == static_cast<std::uint8_t>(Local::ClockOffset)) {
      const std::uint64_t time = c.u64();
      const auto offset = static_cast<std::int64_t>(c.packed64());
      if (c.ok()) out.offsets.push_back({.time = time, .offset = offset});
    }
  }
  std::stable_sort(out.offsets.begin(), out.offsets.end(),
                   [](const ClockOffset& a, const ClockOffset& b) { return a.time < b.time; });
  return out;
}

}  // namespace cox::trace::otf2
