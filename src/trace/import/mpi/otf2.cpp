// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/release_memory.hpp"

#include "trace/import/mpi/otf2_events.hpp"
#include "trace/import/part/reader.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
using namespace otf2;

tl::unexpected<Error> bad(const fs::path& path, std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "import-005",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = Where{.file = path.string()}});
}

fs::path beside(const fs::path& anchor, const char* extension) {
  return fs::path(anchor).replace_extension(extension);
}
fs::path folder_of(const fs::path& anchor) {
  return fs::path(anchor).replace_extension();
}

/// Members of all communicators together; each is kept three times, 12 bytes.
constexpr std::size_t kMostMembers = std::size_t{16} << 20;

/// One location that becomes a thread of a rank.
struct Chosen {
  std::uint64_t id = 0;
  std::uint64_t events = 0;  ///< as the definitions say
  std::int32_t rank = 0;
  std::uint32_t thread = 0;
  std::string host;
};

/// Numbers of ranks by group of locations (process).
std::map<std::uint32_t, std::int32_t> ranks_of_processes(const Definitions& d, PartBuilder& part) {
  std::map<std::uint64_t, std::uint32_t> process_of;
  for (const Location& l : d.locations) process_of.emplace(l.id, l.group);
  std::map<std::uint32_t, std::int32_t> ranks;
  for (const auto& [id, group] : d.groups) {
    if (group.type != kCommLocations || group.paradigm != kMpi) continue;
    for (std::size_t place = 0; place < group.members.size(); ++place)
      if (const auto at = process_of.find(group.members[place]); at != process_of.end())
        ranks.try_emplace(at->second, static_cast<std::int32_t>(place));
    if (!ranks.empty()) return ranks;
  }
  for (const auto& [id, group] : d.groups_of_locations)
    if (group.type == kProcess) ranks.emplace(id, static_cast<std::int32_t>(ranks.size()));
  part.note("no list of MPI ranks: processes are numbered in the order of their definition");
  return ranks;
}

/// The machine that a process ran on: the nearest node of the system tree whose parts share memory.
std::string host_of(const Definitions& d, std::uint32_t process) {
  const auto group = d.groups_of_locations.find(process);
  if (group == d.groups_of_locations.end()) return {};
  std::uint32_t id = group->second.node;
  std::string nearest;
  for (int height = 0; height < 16; ++height) {
    const auto node = d.nodes.find(id);
    if (node == d.nodes.end()) break;
    if (nearest.empty()) nearest = node->second.name;
    if (node->second.shares_memory || node->second.class_name == "node") return node->second.name;
    id = node->second.parent;
  }
  return nearest;
}

std::vector<Chosen> choose_locations(const Definitions& d, PartBuilder& part) {
  const auto ranks = ranks_of_processes(d, part);
  std::vector<Location> locations = d.locations;
  std::stable_sort(locations.begin(), locations.end(),
                   [](const Location& a, const Location& b) { return a.id < b.id; });
  locations.erase(std::unique(locations.begin(), locations.end(),
                              [](const Location& a, const Location& b) { return a.id == b.id; }),
                  locations.end());
  std::vector<Chosen> chosen;
  std::map<std::int32_t, std::uint32_t> threads;
  std::int64_t other = 0;
  for (const Location& l : locations) {
    const auto rank = ranks.find(l.group);
    if (l.type != kCpuThread || rank == ranks.end()) {
      ++other;
      continue;
    }
    chosen.push_back({.id = l.id,
                      .events = l.events,
                      .rank = rank->second,
                      .thread = threads[rank->second]++,
                      .host = host_of(d, l.group)});
  }
  part.note_count(other, "location not used: no thread", "locations not used: no threads",
                  " of an MPI rank (metrics, accelerators)");
  return chosen;
}

/// World ranks of a group; nothing where it is no group of ranks.
std::optional<std::vector<std::int32_t>> ranks_of(const Group& group, std::size_t world) {
  std::vector<std::int32_t> ranks;
  if (group.type == kCommLocations) {
    for (std::size_t i = 0; i < group.members.size(); ++i) ranks.push_back(static_cast<std::int32_t>(i));
    return ranks;
  }
  if (group.type != kCommGroup) return std::nullopt;
  for (const std::uint64_t m : group.members) {
    if (m >= world) return std::nullopt;
    ranks.push_back(static_cast<std::int32_t>(m));
  }
  return ranks;
}

/// Who is in each communicator. Those of one member each (MPI_COMM_SELF) have a size only.
void resolve_communicators(const Definitions& d, std::size_t world, Context& context) {
  for (const auto& [id, group] : d.groups)
    if (auto ranks = ranks_of(group, world)) context.groups.emplace(id, *std::move(ranks));
  for (const auto& [id, comm] : d.comms) {
    if (const auto group = d.groups.find(comm.group);
        group != d.groups.end() && group->second.type == kCommSelf)
      context.sizes[id] = 1;
    const auto ranks = context.groups.find(comm.group);
    if (ranks == context.groups.end()) continue;
    context.sizes[id] = static_cast<int>(ranks->second.size());
    context.members.emplace(id, &ranks->second);
  }
}

/// Everything that one location's files tell.
struct Loaded {
  LocalDefinitions local;
  LocationResult result;
  std::string problem;  ///< where its events cannot be read
};

/// Reads the anchor's archive into a part.
class Archive {
 public:
  Archive(const fs::path& anchor, const ImportOptions& options)
      : anchor_path_(anchor), options_(options), part_(anchor.filename().string(), "otf2") {}

  Result<Run> read(const Anchor& anchor);

 private:
  [[nodiscard]] fs::path file_of(std::uint64_t location, const char* extension) const {
    return folder_of(anchor_path_) / fmt::format("{}{}", location, extension);
  }
  [[nodiscard]] Context context();
  [[nodiscard]] std::uint64_t origin() const;
  void read_locals();
  void read_locations(const Context& context);
  [[nodiscard]] std::vector<MpiRank> take_ranks();
  CommId communicator(const Context& context, std::uint32_t id, Rank rank);
  void place_clocks();
  void note_losses();
  void note_record_kinds();

  fs::path anchor_path_;
  const ImportOptions& options_;
  PartBuilder part_;
  Anchor anchor_;
  Definitions definitions_;
  std::vector<Chosen> chosen_;
  std::vector<Loaded> loaded_;
  std::uint64_t origin_ = 0;
  std::map<std::string, std::uint32_t> names_of_comms_;
  std::map<std::uint32_t, CommId> comms_;
  /// Many communicators may share one group, so their lists are not bounded by the bytes read.
  std::size_t members_left_ = kMostMembers;
  std::int64_t unlisted_ = 0;
};

void Archive::read_locals() {
  loaded_.resize(chosen_.size());
  parallel_for(chosen_.size(), options_.threads, [&](std::size_t i) {
    if (auto bytes = whole_file(file_of(chosen_[i].id, ".def"), options_.limit_bytes))
      loaded_[i].local = parse_local_definitions(*bytes, anchor_.definition_chunk_bytes);
  });
}

/// The archive's own zero where it is near the first event, else the first event.
std::uint64_t Archive::origin() const {
  std::vector<std::uint64_t> first(chosen_.size(), kUndefined64);
  parallel_for(chosen_.size(), options_.threads, [&](std::size_t i) {
    auto source = ByteSource::open(file_of(chosen_[i].id, ".evt"), options_.limit_bytes);
    if (!source) return;
    std::array<char, 256> head{};
    const auto n = source->read(head);
    if (!n) return;
    const auto time = first_time({head.data(), *n}, anchor_.event_chunk_bytes, loaded_[i].local);
    if (time) first[i] = *time;
  });
  const auto least = std::min_element(first.begin(), first.end());
  if (least == first.end() || *least == kUndefined64) return definitions_.global_offset;
  const std::uint64_t declared = definitions_.global_offset;
  const bool near = *least >= declared && (*least - declared) / definitions_.ticks_per_second < 86'400;
  return near ? declared : *least;
}

Context Archive::context() {
  origin_ = origin();
  Context context{.definitions = definitions_,
                  .clock = TickClock(definitions_.ticks_per_second, origin_),
                  .groups = {},
                  .members = {},
                  .sizes = {}};
  std::int32_t world = 0;
  for (const Chosen& c : chosen_) world = std::max(world, c.rank + 1);
  for (const auto& [id, group] : definitions_.groups)
    if (group.type == kCommLocations && group.paradigm == kMpi)
      world = std::max(world, static_cast<std::int32_t>(group.members.size()));
  part_.run().world_size = world;
  resolve_communicators(definitions_, static_cast<std::size_t>(world), context);
  return context;
}

void Archive::read_locations(const Context& context) {
  parallel_for(chosen_.size(), options_.threads, [&](std::size_t i) {
    Loaded& l = loaded_[i];
    const fs::path path = file_of(chosen_[i].id, ".evt");
    if (auto bytes = whole_file(path, options_.limit_bytes))
      l.result = read_events(*bytes, anchor_.event_chunk_bytes, l.local, context, Rank(chosen_[i].rank),
                             chosen_[i].thread);
    else
      l.problem = bytes.error().message;
    l.result.calls.rank = Rank(chosen_[i].rank);
    l.result.calls.host = chosen_[i].host;
  });
}

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
  release_memory(from);
}

/// Threads of one rank put together.
std::vector<MpiRank> Archive::take_ranks() {
  std::map<std::int32_t, MpiRank> ranks;
  for (Loaded& l : loaded_) {
    MpiRank& from = l.result.calls;
    const auto [at, is_new] = ranks.try_emplace(from.rank.value());
    MpiRank& to = at->second;
    if (is_new) {
      to = std::move(from);
      continue;
    }
    const auto before = static_cast<std::uint32_t>(to.events.size());
    for (auto& [wait, collective] : from.waits_for) {
      wait += before;
      collective += before;
    }
    append(to.waits_for, from.waits_for);
    append(to.events, from.events);
    append(to.sends, from.sends);
    append(to.receives, from.receives);
    append(to.inside, from.inside);
    to.recorded.begin = std::min(to.recorded.begin, from.recorded.begin);
    to.recorded.end = std::max(to.recorded.end, from.recorded.end);
    to.inits += from.inits;
    to.finalizes += from.finalizes;
  }
  std::vector<MpiRank> out;
  out.reserve(ranks.size());
  for (auto& [number, rank] : ranks) out.push_back(std::move(rank));
  return out;
}

CommId Archive::communicator(const Context& context, std::uint32_t id, Rank rank) {
  const auto members = context.members.find(id);
  const auto size = context.sizes.find(id);
  const bool each_its_own = members == context.members.end() && size != context.sizes.end();
  if (const auto known = comms_.find(id); known != comms_.end() && !each_its_own) return known->second;
  const Comm& comm = definitions_.comms.at(id);
  std::string name = comm.name.empty() ? fmt::format("communicator {}", id) : comm.name;
  // Names are the program's; two communicators may have the same.
  if (const auto [at, is_new] = names_of_comms_.try_emplace(name, id); !is_new && at->second != id)
    name += fmt::format(" ({})", id);
  std::vector<Rank> ranks;
  if (each_its_own) ranks.push_back(rank);
  if (members != context.members.end()) {
    if (members->second->size() <= members_left_)
      for (const std::int32_t m : *members->second) ranks.emplace_back(m);
    else
      ++unlisted_;
  }
  members_left_ -= ranks.size();
  const CommId out = part_.communicator(name, ranks, size == context.sizes.end() ? 0 : size->second);
  part_.run().communicators[static_cast<std::size_t>(out.value())].by_rank = std::move(ranks);
  comms_.insert_or_assign(id, out);
  return out;
}

void Archive::note_record_kinds() {
  std::array<std::int64_t, 256> records{};
  for (const Loaded& l : loaded_)
    for (std::size_t id = 0; id < records.size(); ++id) records[id] += l.result.records[id];
  constexpr std::array<std::uint8_t, 13> kUsed{12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 85, 86};
  std::vector<std::string> unused;
  for (std::size_t id = 0; id < records.size(); ++id) {
    const auto kind = static_cast<std::uint8_t>(id);
    if (records[id] > 0 && std::find(kUsed.begin(), kUsed.end(), kind) == kUsed.end())
      unused.push_back(fmt::format("{} {}", records[id], event_name(kind)));
  }
  if (!unused.empty()) part_.note(fmt::format("records not used: {}", fmt::join(unused, ", ")));
}

void Archive::note_losses() {
  LocationResult sum;
  std::int64_t declared_differs = 0;
  for (std::size_t i = 0; i < loaded_.size(); ++i) {
    const LocationResult& r = loaded_[i].result;
    std::int64_t records = 0;
    for (const std::int64_t n : r.records) records += n;
    part_.count(records, r.used);
    if (!loaded_[i].problem.empty())
      part_.note(fmt::format("events of location {} are missing: {}", chosen_[i].id, loaded_[i].problem));
    else if (r.ending != Ending::Whole)
      part_.note(fmt::format("events of location {} are {} at byte {}: used up to there", chosen_[i].id,
                             r.ending == Ending::Cut ? "cut" : "damaged", r.end_at));
    else if (static_cast<std::uint64_t>(records) != chosen_[i].events)
      ++declared_differs;
    sum.far += r.far;
    sum.backwards += r.backwards;
    sum.damaged += r.damaged;
    sum.strange_leaves += r.strange_leaves;
    sum.user_regions += r.user_regions;
    sum.without_comm += r.without_comm;
    sum.orphans += r.orphans;
  }
  part_.note_count(declared_differs, "location holds another number of events than it declares",
                   "locations hold another number of events than they declare");
  part_.note_count(sum.far, "record", "records", " more than fifty days from the beginning, not used");
  part_.note_count(sum.backwards, "record with a time before the one in front of it",
                   "records with a time before the one in front of them", ": taken as the same");
  part_.note_count(sum.damaged, "record shorter than its fields", "records shorter than their fields",
                   ", not used");
  part_.note_count(sum.strange_leaves, "region left that was not entered last, not used",
                   "regions left that were not entered last, not used");
  part_.note_count(sum.orphans, "completion of a request", "completions of requests",
                   " whose start is not recorded, not used");
  part_.note_count(sum.user_regions, "call of a region that is not MPI", "calls of regions that are not MPI",
                   ", used as time outside MPI only");
  part_.note_count(sum.without_comm, "collective", "collectives",
                   " of which only the call is recorded: communicator and size not known");
  note_record_kinds();
}

/// OTF2's times are on one clock where the archive holds corrections for every location.
void Archive::place_clocks() {
  Run& run = part_.run();
  if (run.nodes.size() < 2) return;
  const bool corrected =
      std::all_of(loaded_.begin(), loaded_.end(), [](const Loaded& l) { return l.local.offsets.size() > 1; });
  if (corrected) {
    part_.note("clocks of the hosts are put together by the offsets in the archive (linear in time)");
    return;
  }
  for (std::size_t i = 1; i < run.nodes.size(); ++i) run.nodes[i].clock.source = ClockSource::Unknown;
  part_.note("no clock offsets in the archive: how the clocks of its hosts compare is not known");
}

Result<Run> Archive::read(const Anchor& anchor) {
  anchor_ = anchor;
  const fs::path path = beside(anchor_path_, ".def");
  auto bytes = whole_file(path, options_.limit_bytes);
  if (!bytes)
    return bad(anchor_path_,
               fmt::format("its definitions, {}, cannot be read: {}", clean_text(path.filename().string()),
                           bytes.error().message),
               "copy the whole archive: the anchor, the .def file and the folder of its name");
  definitions_ = parse_definitions(*bytes, anchor_.definition_chunk_bytes);
  bytes->clear();
  if (definitions_.ticks_per_second == 0)
    return bad(path, "no clock properties among the definitions, expected ticks per second",
               "the file may be cut; copy the archive again");
  if (definitions_.ending != Ending::Whole)
    part_.note(fmt::format("definitions are cut at byte {}: used up to there", definitions_.end_at));
  part_.note_count(definitions_.damaged, "definition shorter than its fields",
                   "definitions shorter than their fields", ", not used");
  chosen_ = choose_locations(definitions_, part_);
  if (chosen_.empty())
    return bad(path, "no thread of a process among its locations, expected one per rank at least",
               "an archive without processes cannot be used");
  read_locals();
  const Context with = context();
  read_locations(with);
  std::vector<MpiRank> ranks = take_ranks();
  note_losses();
  std::vector<Rank> numbers;
  numbers.reserve(ranks.size());
  for (const MpiRank& r : ranks) numbers.push_back(r.rank);
  add_ranks(part_, std::move(ranks), [&](std::size_t rank, CommId own) {
    return communicator(with, static_cast<std::uint32_t>(own.value()), numbers[rank]);
  });
  if (unlisted_ > 0)
    part_.note(fmt::format("members of {} not listed: more than {} in all",
                           counted(unlisted_, "communicator", "communicators"), kMostMembers));
  place_clocks();
  Run& run = part_.run();
  run.info.tool = anchor_.creator;
  run.info.name = clean_text(anchor_path_.stem().string());
  if (definitions_.realtime_ns) {
    const TickClock from_declared(definitions_.ticks_per_second, definitions_.global_offset);
    if (const auto shift = from_declared.time(origin_); shift && *definitions_.realtime_ns < (1ULL << 62))
      run.origin_realtime_ns = static_cast<std::int64_t>(*definitions_.realtime_ns) + shift->count() / 1000;
  }
  return std::move(part_).finish();
}

/// What a file of an archive is, of which the anchor was not given. Parsed for the sake of the message, and
/// so that a fuzzer that knows one file only gets to all parsers.
tl::unexpected<Error> lone_part(const fs::path& path, std::string_view bytes) {
  const Definitions definitions = parse_definitions(bytes, 0);
  Context context{.definitions = definitions,
                  .clock = TickClock(definitions.ticks_per_second, definitions.global_offset),
                  .groups = {},
                  .members = {},
                  .sizes = {}};
  resolve_communicators(definitions, definitions.locations.size(), context);
  const std::string_view rest = definitions.ending == Ending::Whole && definitions.end_at < bytes.size()
                                    ? bytes.substr(definitions.end_at)
                                    : bytes;
  const LocalDefinitions local = parse_local_definitions(rest, 0);
  const LocationResult events = read_events(rest, 0, local, context, Rank(0), 0);
  PartBuilder part(path.filename().string(), "otf2");
  add_ranks(part, {events.calls}, [&](std::size_t, CommId) { return part.communicator("any", {}, 0); });
  static_cast<void>(std::move(part).finish());
  return bad(path, "part of an OTF2 archive, expected its anchor file (.otf2)",
             "give the .otf2 file, or the folder that holds it");
}

bool recognise(const Head& head) {
  return is_anchor(head.bytes) || is_part(head.bytes);
}

Result<Run> read(const fs::path& path, const ImportOptions& options) {
  COX_TRY(const std::string bytes, whole_file(path, options.limit_bytes));
  if (!is_anchor(bytes)) return lone_part(path, bytes);
  const std::optional<Anchor> anchor = parse_anchor(bytes);
  if (!anchor)
    return bad(path, "the anchor file ends early, expected chunk sizes and counts", "copy the archive again");
  if (anchor->substrate == 2)
    return bad(path, "the archive is in a SION container, expected one file per location",
               "convert it: otf2-merger or sionsplit write plain files");
  if (anchor->compression > 1)
    return bad(path, "the archive is compressed by OTF2 itself, expected plain files",
               "write it again without OTF2's compression");
  return Archive(path, options).read(*anchor);
}

std::vector<fs::path> companions(const fs::path& anchor) {
  std::vector<fs::path> out;
  std::error_code ec;
  for (const char* extension : {".def", ".marker"})
    if (const fs::path file = beside(anchor, extension); fs::is_regular_file(file, ec)) out.push_back(file);
  for (fs::directory_iterator at(folder_of(anchor), ec), end; !ec && at != end; at.increment(ec)) {
    const std::string kind = at->path().extension().string();
    std::error_code unreadable;
    if ((kind == ".evt" || kind == ".def" || kind == ".snap") && at->is_regular_file(unreadable))
      out.push_back(at->path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

const Reader kOtf2Reader{.format = "otf2",
                         .title = "OTF2 trace",
                         .recognises = recognise,
                         .read = read_without_program<read>,
                         .companions = companions};

}  // namespace cox::trace
