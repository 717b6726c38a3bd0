// SPDX-License-Identifier: Apache-2.0
#include "trace/import/input_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "cox/base/parallel.hpp"
#include "cox/trace/run_files.hpp"

#include "trace/raw/meta_entries.hpp"
#include "trace/store/compact_file.hpp"
#include "trace/store/run_folder.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 100'000;
constexpr int kDeepest = 8;
/// Parts of one job begin and end together; profilers that are started by hand do so within minutes.
constexpr Duration kOneJob = std::chrono::minutes{10};

bool is_ours(const fs::path& file) {
  return file.extension() == kCompactSuffix || file.extension() == kRawSuffix;
}

std::string name_below(const fs::path& file, const fs::path& root) {
  const fs::path below = file.lexically_relative(root);
  return clean_text(below.empty() || below == "." ? file.filename().string() : below.string());
}

void recognise(Input& input) {
  auto source = ByteSource::open(input.path, kHeadBytes * 4);
  if (!source) {
    input.looks_like = source.error().message;
    input.unreadable = true;
    return;
  }
  std::string bytes(kHeadBytes, '\0');
  const auto n = source->read(bytes);
  if (!n) {
    input.looks_like = n.error().message;
    input.unreadable = true;
    return;
  }
  bytes.resize(*n);
  input.own = bytes.starts_with("COXRAW") || bytes.starts_with("COXRUN");
  if (input.own) return;
  for (const Reader* reader : all_readers())
    if (reader->recognises({.path = input.path, .bytes = bytes})) {
      input.reader = reader;
      return;
    }
  input.looks_like = looks_like(bytes);
}

/// What lies beside traces and is none: hidden files, what `cox` is writing just now (base/file.cpp), licences, sums.
bool stands_beside(std::string_view name) {
  if (name.starts_with('.') || name == "SHA256SUMS" || name == "MD5SUMS") return true;
  for (const std::string_view beside : {"LICENSE", "LICENCE", "COPYING", "NOTICE", "README"})
    if (name == beside || name.starts_with(std::string(beside) + '.')) return true;
  const std::size_t at = name.rfind(".tmp-");
  return at != std::string_view::npos &&
         name.find_first_not_of("0123456789-", at + std::string_view(".tmp-").size()) ==
             std::string_view::npos;
}

class Walk {
 public:
  explicit Walk(const fs::path& root) : root_(root) {}

  std::vector<Input> run() && {
    std::error_code ec;
    if (fs::is_directory(root_, ec))
      folder(root_, 0);
    else
      add(root_, is_ours(root_));
    std::sort(found_.begin(), found_.end(), [](const Input& a, const Input& b) { return a.name < b.name; });
    return std::move(found_);
  }

 private:
  void folder(const fs::path& path, int depth) {
    std::error_code ec;
    std::vector<fs::path> files;
    std::vector<fs::path> folders;
    auto entries = fs::directory_iterator(path, ec);
    if (ec == std::errc::permission_denied) return add(path, true);  // whoever reads it says so
    for (; !ec && entries != fs::directory_iterator(); entries.increment(ec)) {
      if (stands_beside(entries->path().filename().string())) continue;
      std::error_code of_entry;
      if (entries->is_directory(of_entry) && !entries->is_symlink(of_entry))
        folders.push_back(entries->path());
      else if (entries->is_regular_file(of_entry))
        files.push_back(entries->path());
    }
    const auto hosts = std::remove_if(folders.begin(), folders.end(), is_host_folder);
    if (hosts != folders.end() || std::any_of(files.begin(), files.end(), is_ours)) {
      folders.erase(hosts, folders.end());
      add(path, true);
    } else {
      for (const fs::path& file : files)
        if (found_.size() < kMostFiles) add(file, false);
    }
    if (depth < kDeepest)
      for (const fs::path& each : folders) folder(each, depth + 1);
  }

  void add(const fs::path& path, bool own) {
    Input input;
    input.path = path;
    input.name = name_below(path, root_);
    input.own = own;
    found_.push_back(std::move(input));
  }

  fs::path root_;
  std::vector<Input> found_;
};

void mark_companions(std::vector<Input>& inputs) {
  std::map<fs::path, Input*> by_path;
  for (Input& input : inputs) by_path[input.path.lexically_normal()] = &input;
  for (Input& input : inputs) {
    if (input.reader == nullptr || input.reader->companions == nullptr) continue;
    for (const fs::path& file : input.reader->companions(input.path)) {
      const auto at = by_path.find(file.lexically_normal());
      if (at != by_path.end() && at->second != &input) at->second->companion_of = input.name;
    }
  }
}

/// What two files of one content have in common.
using Fingerprint = std::tuple<std::size_t, std::vector<Rank>, std::size_t, std::size_t, std::int64_t,
                               std::int64_t, std::int64_t, int>;

Fingerprint fingerprint(const ImportedJob& job) {
  const Run& part = job.run;
  const model::Program& program = job.program;
  std::vector<Rank> ranks;
  std::size_t events = 0;
  std::size_t activities = 0;
  std::uint64_t sum = 0;
  for (const RankTrack& t : part.ranks) {
    ranks.push_back(t.rank);
    events += t.events.size();
    activities += t.activities.size();
    for (std::size_t i = 0; i < t.events.size(); ++i)
      sum += static_cast<std::uint64_t>(t.events.begin[i].count()) * 3 +
             static_cast<std::uint64_t>(t.events.end[i].count());
    for (std::size_t i = 0; i < t.activities.size(); ++i)
      sum += static_cast<std::uint64_t>(t.activities.begin[i].count());
  }
  double durations = 0;
  for (const Duration d : program.duration)
    if (d != model::kNoDuration) durations += in_seconds(d);
  // Tables print times with few digits, and text rounds them: a millionth is the same.
  return {program.size(),
          std::move(ranks),
          events,
          activities,
          program.size() > 0 ? 0 : static_cast<std::int64_t>(sum),
          std::llround(durations * 1e3),
          program.size() > 0 ? 0 : part.origin_realtime_ns,
          part.world_size};
}

bool is_empty(const ImportedJob& job) {
  const Run& part = job.run;
  const model::Program& program = job.program;
  return program.size() == 0 && part.event_count() == 0 &&
         std::all_of(part.ranks.begin(), part.ranks.end(),
                     [](const RankTrack& t) { return t.activities.size() == 0 && t.useful.size() == 0; });
}

/// A table of operations or an archive of all ranks is a run by itself.
bool is_whole(const ImportedJob& job) {
  const Run& part = job.run;
  const model::Program& program = job.program;
  return program.is_table() || part.times == TimesKind::Steps || part.ranks.size() != 1 ||
         part.ranks.front().rank.value() < 0;
}

struct Range {
  Duration begin = Duration::max();
  Duration end = Duration::min();
  bool known = false;
};

/// From the Unix time `base_ns` on.
Range range_of(const Run& part, std::int64_t base_ns) {
  Range out;
  if (part.origin_realtime_ns <= 0) return out;
  const auto far = std::int64_t{86400} * 50'000'000'000;
  const Duration at = std::chrono::nanoseconds{std::clamp(part.origin_realtime_ns - base_ns, -far, far)};
  for (const RankTrack& t : part.ranks) {
    for (const auto* column : {&t.events.begin, &t.activities.begin})
      if (!column->empty()) {
        out.begin = std::min(out.begin, at + column->front());
        out.end = std::max(out.end, at + column->back());
        out.known = true;
      }
  }
  return out;
}

std::string folder_of(const Input& input) {
  return fs::path(input.name).parent_path().string();
}

class Grouper {
 public:
  Grouper(const std::vector<Input>& inputs, std::vector<std::optional<ImportedJob>>& parts)
      : inputs_(inputs), parts_(parts) {
    out_.why.resize(parts.size());
  }

  Grouping run() {
    leave_out_derived();
    leave_out_equal();
    std::map<std::pair<std::string, int>, std::vector<std::size_t>> jobs;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i]) continue;
      if (!inputs_[i].own && is_empty(*parts_[i]))
        leave_out(i, "there is nothing in it that could be diagnosed");
      else if (inputs_[i].own || (is_whole(*parts_[i]) && inputs_[i].reader != &kNcclInspectorReader))
        add({i});
      else
        jobs[{folder_of(inputs_[i]), parts_[i]->run.world_size}].push_back(i);
    }
    for (auto& [key, members] : jobs) split(members);
    sort_groups();
    return std::move(out_);
  }

 private:
  void leave_out(std::size_t i, std::string why) {
    out_.why[i] = std::move(why);
    parts_[i].reset();
  }

  void leave_out_derived() {
    std::map<std::string, std::string> tables;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      if (parts_[i] && parts_[i]->program.is_table()) tables.emplace(folder_of(inputs_[i]), inputs_[i].name);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i] || inputs_[i].reader != &kKinetoReader) continue;
      const auto table = tables.find(folder_of(inputs_[i]));
      const auto& ranks = parts_[i]->run.ranks;
      if (table == tables.end() || (ranks.size() == 1 && ranks.front().rank.value() >= 0)) continue;
      leave_out(i, fmt::format("a timeline without ranks beside the table {}: taken as made from it",
                               table->second));
    }
  }

  void leave_out_equal() {
    std::map<Fingerprint, std::size_t> seen;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i] || inputs_[i].own || is_empty(*parts_[i])) continue;
      const auto [at, fresh] = seen.emplace(fingerprint(*parts_[i]), i);
      if (!fresh) leave_out(i, fmt::format("holds the same as {}", inputs_[at->second].name));
    }
  }

  void add(std::vector<std::size_t> members) { out_.groups.push_back(std::move(members)); }

  /// Parts of one folder and world: the next run begins where a rank comes again, or after a long pause.
  void split(const std::vector<std::size_t>& members) {
    std::int64_t base = 0;
    for (const std::size_t i : members)
      if (parts_[i]->run.origin_realtime_ns > 0 && (base == 0 || parts_[i]->run.origin_realtime_ns < base))
        base = parts_[i]->run.origin_realtime_ns;
    std::vector<std::pair<Range, std::size_t>> order;
    order.reserve(members.size());
    for (const std::size_t i : members) order.emplace_back(range_of(parts_[i]->run, base), i);
    const auto begin = [](const Range& r) { return r.known ? r.begin : Duration::min(); };
    std::stable_sort(order.begin(), order.end(),
                     [&](const auto& a, const auto& b) { return begin(a.first) < begin(b.first); });
    std::vector<std::size_t> current;
    std::set<Rank> ranks;
    Duration end = Duration::min();
    for (const auto& [range, i] : order) {
      const bool again = std::any_of(parts_[i]->run.ranks.begin(), parts_[i]->run.ranks.end(),
                                     [&](const RankTrack& t) { return ranks.contains(t.rank); });
      const bool later =
          range.known && end != Duration::min() && range.begin > end && range.begin - end > kOneJob;
      if (!current.empty() && (again || later)) {
        add(std::exchange(current, {}));
        ranks.clear();
        end = Duration::min();
      }
      current.push_back(i);
      for (const RankTrack& t : parts_[i]->run.ranks) ranks.insert(t.rank);
      if (range.known) end = std::max(end, range.end);
    }
    if (!current.empty()) add(std::move(current));
  }

  void sort_groups() {
    for (auto& members : out_.groups) std::sort(members.begin(), members.end());
    std::sort(out_.groups.begin(), out_.groups.end());
    std::map<std::string, int> used;
    for (const auto& members : out_.groups) {
      const std::string folder = folder_of(inputs_[members.front()]);
      std::string name = members.size() == 1 ? inputs_[members.front()].name
                         : folder.empty()    ? "run"
                                             : folder;
      if (const int n = ++used[name]; n > 1) name += fmt::format("#{}", n);
      out_.names.push_back(std::move(name));
    }
  }

  const std::vector<Input>& inputs_;
  std::vector<std::optional<ImportedJob>>& parts_;
  Grouping out_;
};

}  // namespace

Result<std::vector<Input>> list_inputs(const fs::path& path, int threads) {
  std::error_code ec;
  const fs::file_status status = fs::status(path, ec);
  // A folder that cannot be listed would look like one without a file that is known.
  if (ec != std::errc::permission_denied && fs::is_directory(status)) (void)fs::directory_iterator(path, ec);
  if (ec == std::errc::permission_denied)
    return fail(Error{.code = Errc::Io,
                      .id = "base-002",
                      .message = "Permission denied: this account may not read it",
                      .hint = "check the rights of the folder and of those above it",
                      .where = Where{.file = path.string()}});
  if (!fs::exists(status))
    return fail(
        Error{.code = Errc::NotFound,
              .id = "trace-001",
              .message = "no such file or folder, expected a Run or a trace",
              .hint = "record a Run with `cox observe -o DIR -- COMMAND`; inputs: docs/reference/inputs.md",
              .where = Where{.file = path.string()}});
  std::vector<Input> inputs = Walk(path).run();
  parallel_for(inputs.size(), threads, [&](std::size_t i) {
    if (!inputs[i].own) recognise(inputs[i]);
  });
  mark_companions(inputs);
  return inputs;
}

Grouping group_parts(const std::vector<Input>& inputs, std::vector<std::optional<ImportedJob>>& parts) {
  return Grouper(inputs, parts).run();
}

}  // namespace cox::trace
