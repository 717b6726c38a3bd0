// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/parallel.hpp"

#include "trace/import/mpi/dumpi_calls.hpp"
#include "trace/import/part/reader.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
using namespace dumpi;

tl::unexpected<Error> bad(const fs::path& path, std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "import-005",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = Where{.file = path.string()}});
}

/// What a file claims beyond this is no number of ranks.
constexpr std::int32_t kMostRanks = 1 << 24;

/// The `.meta` file: lines `key=value`.
struct Meta {
  std::string prefix;
  std::int32_t ranks = 0;
  std::string version;
};

std::optional<Meta> parse_meta(std::string_view text) {
  constexpr std::size_t kMostLines = 64;
  Meta meta;
  std::map<std::string_view, std::string_view> values;
  for (std::size_t line = 0; line < kMostLines && !text.empty(); ++line) {
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    values.emplace(one.substr(0, equals), one.substr(equals + 1));
  }
  const auto ranks = values.find("numprocs");
  const auto prefix = values.find("fileprefix");
  if (ranks == values.end() || prefix == values.end()) return std::nullopt;
  const std::string_view digits = ranks->second;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), meta.ranks).ec != std::errc()) return {};
  if (meta.ranks < 1 || meta.ranks > kMostRanks) return std::nullopt;
  meta.prefix = fs::path(prefix->second).filename().string();
  meta.version =
      clean_text(fmt::format("{}.{}.{}", values["version"], values["subversion"], values["subsubversion"])
                     .substr(0, 32));
  return meta;
}

/// Number at the end of `testbgp-0003.bin`, behind a dash; nothing where there is none.
std::optional<std::int32_t> number_in_name(const fs::path& path, std::string* prefix = nullptr) {
  const std::string stem = path.stem().string();
  const std::size_t dash = stem.rfind('-');
  if (dash == std::string::npos || dash + 1 == stem.size()) return std::nullopt;
  std::int32_t number = 0;
  const char* end = stem.data() + stem.size();
  const auto [at, ec] = std::from_chars(stem.data() + dash + 1, end, number);
  if (ec != std::errc() || at != end || number < 0) return std::nullopt;
  if (prefix != nullptr) *prefix = stem.substr(0, dash);
  return number;
}

/// The ranks' files beside a `.meta`, by rank. The prefix in it may be of before a renaming; so the name of
/// the `.meta` counts as well.
std::map<std::int32_t, fs::path> files_beside(const fs::path& meta_path, const Meta& meta) {
  std::map<std::int32_t, fs::path> by_own_name;
  std::map<std::int32_t, fs::path> by_prefix;
  const fs::path folder = meta_path.has_parent_path() ? meta_path.parent_path() : fs::path(".");
  std::error_code ec;
  for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) {
    if (at->path().extension() != ".bin") continue;
    std::string prefix;
    const std::optional<std::int32_t> number = number_in_name(at->path(), &prefix);
    if (!number || *number >= meta.ranks) continue;
    if (prefix == meta_path.stem().string()) by_own_name.emplace(*number, at->path());
    if (prefix == meta.prefix) by_prefix.emplace(*number, at->path());
  }
  return by_own_name.empty() ? by_prefix : by_own_name;
}

/// Turns the files of some or all ranks into a part.
class Job {
 public:
  Job(const fs::path& path, std::vector<RankFile> files, std::vector<std::int32_t> ranks, int world_size)
      : part_(path.filename().string(), "dumpi"),
        files_(std::move(files)),
        ranks_(std::move(ranks)),
        comms_(files_, ranks_, world_size) {
    part_.run().world_size = world_size;
    part_.run().info.name = clean_text(path.stem().string());
  }
  void note(std::string text) { part_.note(std::move(text)); }
  [[nodiscard]] Run finish(const std::vector<std::string>& names) &&;

 private:
  void place_in_time();
  void place_peers(std::size_t file);
  void scale_sizes(std::size_t file);
  CommId communicator(std::size_t file, CommId own);
  void describe_tracks();
  void note_losses(const std::vector<std::string>& names);

  PartBuilder part_;
  std::vector<RankFile> files_;
  std::vector<std::int32_t> ranks_;
  Communicators comms_;
  std::map<std::size_t, CommId> added_;
  bool listed_ = true;  ///< members of all communicators in use are known
};

void shift(MpiRank& calls, Duration by) {
  for (Event& e : calls.events) {
    e.begin += by;
    e.end += by;
  }
  for (auto* ends : {&calls.sends, &calls.receives})
    for (MessageEnd& m : *ends) {
      m.begin += by;
      if (m.end != kStillRunning) m.end += by;
    }
  for (TimeSpan& s : calls.inside) {
    s.begin += by;
    s.end += by;
  }
  if (calls.recorded.begin <= calls.recorded.end) {
    calls.recorded.begin += by;
    calls.recorded.end += by;
  }
}

/// Each file counts from a second of its own.
void Job::place_in_time() {
  constexpr std::uint32_t kMostApart = 30 * 86'400;
  std::uint32_t base = 0xffffffff;
  for (const RankFile& f : files_) base = std::min(base, f.base_second);
  std::int64_t apart = 0;
  bool time_of_day = !files_.empty();
  for (RankFile& f : files_) {
    time_of_day = time_of_day && f.tells_time_of_day();
    if (f.base_second - base > kMostApart)
      ++apart;
    else if (f.base_second != base)
      shift(f.calls, std::chrono::seconds(f.base_second - base));
  }
  if (apart > 0)
    part_.note("times of " + counted(apart, "rank", "ranks") +
               " are months from the others': kept as they are");
  if (time_of_day) part_.run().origin_realtime_ns = std::int64_t{base} * 1'000'000'000;
}

void Job::place_peers(std::size_t file) {
  for (auto* ends : {&files_[file].calls.sends, &files_[file].calls.receives})
    for (MessageEnd& m : *ends) {
      const std::int32_t place = std::exchange(m.peer, -1);
      if (m.comm == kNoComm || place < 0) continue;
      const JobComm& comm = comms_.at(comms_.index(file, m.comm));
      if (comm.ordered && static_cast<std::size_t>(place) < comm.members.size())
        m.peer = comm.members[static_cast<std::size_t>(place)];
    }
}

/// From one rank's share to the size of the whole (nccl-tests), where all shares are equal.
void Job::scale_sizes(std::size_t file) {
  using model::Collective;
  for (Event& e : files_[file].calls.events) {
    if (e.kind != EventKind::Collective || e.comm == kNoComm || (e.flags & kVariable) != 0) continue;
    const auto op = static_cast<Collective>(e.op);
    if (op != Collective::AllGather && op != Collective::Gather && op != Collective::Scatter &&
        op != Collective::AllToAll)
      continue;
    const std::size_t listed = comms_.at(comms_.index(file, e.comm)).members.size();
    const std::int32_t asked = files_[file].sizes[static_cast<std::size_t>(e.comm.value())];
    e.bytes = whole_array(e.bytes, listed > 0 ? static_cast<int>(listed) : asked);
  }
}

CommId Job::communicator(std::size_t file, CommId own) {
  const std::size_t index = comms_.index(file, own);
  if (const auto known = added_.find(index); known != added_.end()) return known->second;
  const JobComm& comm = comms_.at(index);
  std::vector<Rank> members;
  members.reserve(comm.members.size());
  for (const std::int32_t m : comm.members) members.emplace_back(m);
  listed_ = listed_ && !members.empty();
  const std::int32_t asked = files_[file].sizes[static_cast<std::size_t>(own.value())];
  const CommId id =
      part_.communicator(comm.name, members, members.empty() ? asked : static_cast<int>(members.size()));
  if (comm.ordered)
    part_.run().communicators[static_cast<std::size_t>(id.value())].by_rank = std::move(members);
  added_.emplace(index, id);
  return id;
}

void Job::describe_tracks() {
  // Until `finish` the part's ranks stand in the order of the files.
  std::vector<RankTrack>& tracks = part_.run().ranks;
  for (std::size_t i = 0; i < tracks.size(); ++i) tracks[i].program = files_[i].program;
}

void Job::note_losses(const std::vector<std::string>& names) {
  std::int64_t without_times = 0;
  std::int64_t unsized = 0;
  std::int64_t orphans = 0;
  std::int64_t ignored = 0;
  std::int64_t differ = 0;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const RankFile& f = files_[i];
    std::int64_t records = 0;
    for (const std::int64_t n : f.records) records += n;
    part_.count(records, f.used);
    if (f.ending == Ending::Cut)
      part_.note(fmt::format("{} is cut at byte {}: used up to there", names[i], f.end_at));
    if (f.ending == Ending::Damaged)
      part_.note(fmt::format("{} is used up to byte {}: {}", names[i], f.end_at,
                             f.stopped_at.empty() ? std::string("what follows is no call")
                                                  : "the layout of MPI_" + f.stopped_at + " is not known"));
    without_times += f.without_times;
    unsized += f.unsized;
    orphans += f.orphans;
    ignored += f.ignored;
    differ += f.footer_differs > 0;
  }
  part_.note_count(without_times, "call", "calls", " without wall-clock times");
  part_.note_count(unsized, "call with a data type", "calls with data types",
                   " of unknown size, taken as no bytes");
  part_.note_count(orphans, "completion of a request", "completions of requests",
                   " whose start is not recorded, not used");
  part_.note_count(ignored, "call was", "calls were", " not recorded, by the recorder's settings");
  part_.note_count(differ, "file holds another number of calls than its footer says",
                   "files hold other numbers of calls than their footers say");
}

Run Job::finish(const std::vector<std::string>& names) && {
  place_in_time();
  std::vector<MpiRank> calls;
  calls.reserve(files_.size());
  std::int64_t timed = 0;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    place_peers(i);
    scale_sizes(i);
    files_[i].calls.rank = Rank(ranks_[i]);
    if (files_[i].header) files_[i].calls.host = files_[i].header->host;
    timed += static_cast<std::int64_t>(files_[i].calls.inside.size());
  }
  note_losses(names);
  for (RankFile& f : files_) calls.push_back(std::move(f.calls));
  add_ranks(part_, std::move(calls), [&](std::size_t file, CommId own) { return communicator(file, own); });
  if (!listed_)
    part_.note("members of some communicators are not known: read all ranks of the job together (.meta)");
  describe_tracks();
  Run& run = part_.run();
  if (timed == 0) run.times = TimesKind::None;
  for (std::size_t i = 1; i < run.nodes.size(); ++i)
    run.nodes[i].clock.source = run.origin_realtime_ns != 0 ? ClockSource::Realtime : ClockSource::Unknown;
  if (run.nodes.size() > 1)
    part_.note(run.origin_realtime_ns != 0 ? "clocks of the hosts compare as well as their times of day"
                                           : "clocks of the hosts count from their own starts");
  return std::move(part_).finish();
}

tl::unexpected<Error> too_old(const fs::path& path) {
  return bad(path, "DUMPI format before 0.6.9, expected that or later",
             "write the trace again with a later DUMPI");
}

/// One rank's file on its own.
Result<Run> read_bin(const fs::path& path, std::string_view bytes) {
  std::vector<RankFile> files;
  files.push_back(read_rank(bytes));
  const RankFile& file = files.front();
  if (file.too_old) return too_old(path);
  const std::optional<std::int32_t> named = number_in_name(path);
  const bool asked = file.own_rank >= 0 && file.own_rank < kMostRanks;
  const std::int32_t rank = asked ? file.own_rank : std::min(named.value_or(0), kMostRanks);
  const std::int32_t world = file.world_size > rank && file.world_size <= kMostRanks ? file.world_size : 0;
  const bool guessed = !asked && !named;
  Job job(path, std::move(files), {rank}, world);
  if (guessed) job.note("neither MPI_Comm_rank nor the file's name tell the rank: taken as 0");
  return std::move(job).finish({path.filename().string()});
}

/// All ranks of a job, by its `.meta`.
Result<Run> read_meta(const fs::path& path, const Meta& meta, const ImportOptions& options) {
  const std::map<std::int32_t, fs::path> beside = files_beside(path, meta);
  std::vector<fs::path> paths;
  std::vector<std::int32_t> ranks;
  for (const auto& [rank, file] : beside) {
    ranks.push_back(rank);
    paths.push_back(file);
  }
  std::vector<RankFile> read(paths.size());
  std::vector<std::string> problems(paths.size());
  parallel_for(paths.size(), options.threads, [&](std::size_t i) {
    const auto bytes = whole_file(paths[i], options.limit_bytes);
    if (!bytes)
      problems[i] = bytes.error().message;
    else if (!has_magic(*bytes))
      problems[i] = "no DUMPI file";
    else
      read[i] = read_rank(*bytes);
    if (read[i].too_old) problems[i] = "format before 0.6.9";
  });
  std::vector<RankFile> files;
  std::vector<std::int32_t> kept;
  std::vector<std::string> names;
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string name = clean_text(paths[i].filename().string());
    if (!problems[i].empty()) {
      notes.push_back(fmt::format("{} not used: {}", name, problems[i]));
      continue;
    }
    if (read[i].own_rank >= 0 && read[i].own_rank != ranks[i])
      notes.push_back(
          fmt::format("{} says that it is rank {}; its name is believed", name, read[i].own_rank));
    files.push_back(std::move(read[i]));
    kept.push_back(ranks[i]);
    names.push_back(name);
  }
  if (files.empty())
    return bad(path, fmt::format("it names {} ranks, and none of their files is beside it", meta.ranks),
               "copy the .bin files into the folder of the .meta file");
  if (const auto missing = meta.ranks - static_cast<std::int64_t>(files.size()); missing > 0)
    notes.push_back(missing == 1 ? fmt::format("the file of 1 of {} ranks is missing", meta.ranks)
                                 : fmt::format("files of {} of {} ranks are missing", missing, meta.ranks));
  Job job(path, std::move(files), std::move(kept), meta.ranks);
  for (std::string& n : notes) job.note(std::move(n));
  return std::move(job).finish(names);
}

bool recognise(const Head& head) {
  return has_magic(head.bytes) || parse_meta(head.bytes).has_value();
}

Result<Run> read(const fs::path& path, const ImportOptions& options) {
  COX_TRY(const std::string bytes, whole_file(path, options.limit_bytes));
  if (has_magic(bytes)) return read_bin(path, bytes);
  if (const std::optional<Meta> meta = parse_meta(bytes)) return read_meta(path, *meta, options);
  return bad(path, "neither the magic of a DUMPI file nor the keys of its .meta, expected one of them",
             "give a .meta or a .bin file");
}

std::vector<fs::path> companions(const fs::path& path) {
  std::vector<fs::path> out;
  if (path.extension() == ".bin") return out;
  const auto bytes = whole_file(path, 64 << 10);
  if (!bytes) return out;
  if (const std::optional<Meta> meta = parse_meta(*bytes))
    for (const auto& [rank, file] : files_beside(path, *meta)) out.push_back(file);
  return out;
}

}  // namespace

const Reader kDumpiReader{.format = "dumpi",
                          .title = "DUMPI trace",
                          .recognises = recognise,
                          .read = read_without_program<read>,
                          .companions = companions};

}  // namespace cox::trace
