// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/sweep.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>

#include "cox/base/file.hpp"
#include "cox/base/parallel.hpp"
#include "cox/model/placed_error.hpp"
#include "cox/model/toml.hpp"
#include "cox/simulate/training.hpp"

#include "simulate/answer/outcome_json.hpp"
#include "simulate/sweep/file.hpp"

namespace cox::simulate {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kJournalLimit = std::size_t{1} << 30;
constexpr const char* kJournalSchema = "cox.sweep-journal/1";

/// A process's own part of the journal. Lines are appended whole: O_APPEND and one write.
class Journal {
 public:
  static Result<Journal> open(const fs::path& path, const std::string& header) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) return cannot_write(path);
    Journal j(path, fd);
    // A torn last line of a killed process must not swallow the next one;
    // an empty line is skipped by readers.
    COX_CHECK(j.append("\n" + header));
    return j;
  }
  Journal(Journal&& o) noexcept : path_(std::move(o.path_)), fd_(std::exchange(o.fd_, -1)) {}
  Journal& operator=(Journal&&) = delete;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal() {
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] Status append(const std::string& line) const {
    const std::string whole = line + "\n";
    if (::write(fd_, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size()))
      return cannot_write(path_);
    return {};
  }

 private:
  Journal(fs::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  static tl::unexpected<Error> cannot_write(const fs::path& path) {
    return fail(Error{.code = Errc::Io,
                      .id = "base-006",
                      .message = fmt::format("cannot be written: {}", std::strerror(errno)),
                      .hint = "check the folder, its rights and the free space",
                      .where = Where{.file = path.string()}});
  }
  fs::path path_;
  int fd_ = -1;
};

std::string header_of(const Sweep& sweep) {
  return json_inside(Json{{"schema", kJournalSchema}, {"digest", fmt::format("{:016x}", sweep.digest)}});
}

/// Takes over the finished points of one journal file. Lines that are not whole are skipped:
/// that point is computed again.
Status read_journal(const fs::path& path, const Sweep& sweep, std::vector<std::optional<Json>>& done) {
  COX_TRY(const std::string text, read_file(path, kJournalLimit));
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;  // torn
    const Json line = Json::parse(text.begin() + static_cast<std::ptrdiff_t>(at),
                                  text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    at = end + 1;
    if (!line.is_object()) continue;
    if (line.contains("schema")) {
      if (line.value("digest", "") == fmt::format("{:016x}", sweep.digest)) continue;
      return fail(Error{.code = Errc::InvalidInput,
                        .id = "sweep-002",
                        .message = "holds points of another sweep, or of this one before it was changed",
                        .hint = "remove the folder, or name another output with -o",
                        .where = Where{.file = path.string()}});
    }
    const auto point = line.find("point");
    if (point == line.end() || !point->is_number_integer()) continue;
    const auto i = point->get<std::int64_t>();
    if (i >= 0 && i < sweep.points()) done[static_cast<std::size_t>(i)] = line;
  }
  return {};
}

Result<std::vector<std::optional<Json>>> finished_points(const fs::path& folder, const Sweep& sweep) {
  std::vector<std::optional<Json>> done(static_cast<std::size_t>(sweep.points()));
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".jsonl") COX_CHECK(read_journal(entry.path(), sweep, done));
  return done;
}

Json compute(const Sweep& sweep, std::int64_t i) {
  Json line{{"point", i}};
  const Result<model::Scenario> scenario = scenario_at(sweep, i);
  if (!scenario) {
    line["error"] = scenario.error().to_string();
    return line;
  }
  const Result<Outcome> outcome = simulate(*scenario, {.threads = 1});
  if (!outcome) {
    line["error"] = outcome.error().to_string();
    return line;
  }
  line["outcome"] = summary_of(*outcome);
  return line;
}

Status write_merged(const Sweep& sweep, const std::vector<std::optional<Json>>& done,
                    const fs::path& output) {
  Json axes = Json::array();
  for (const SweepAxis& axis : sweep.axes) axes.push_back(Json{{"key", axis.key}, {"values", axis.values}});
  Json points = Json::array();
  for (std::int64_t i = 0; i < sweep.points(); ++i) {
    Json at = Json::object();
    const std::vector<std::size_t> place = sweep.at(i);
    for (std::size_t a = 0; a < place.size(); ++a) at[sweep.axes[a].key] = sweep.axes[a].values[place[a]];
    Json point{{"at", std::move(at)}};
    const Json& line = *done[static_cast<std::size_t>(i)];
    for (const char* key : {"outcome", "error"})
      if (line.contains(key)) point[key] = line[key];
    points.push_back(std::move(point));
  }
  const Json whole{{"schema", "cox.sweep/1"},
                   {"name", sweep.name},
                   {"scenario", sweep.scenario.filename().string()},
                   {"axes", std::move(axes)},
                   {"points", std::move(points)}};
  return write_file_atomically(output, json_text(whole), IfExists::Replace);
}

/// Computes the points that are in this process's share and not done.
Status compute_share(const Sweep& sweep, const SweepOptions& options, const Journal& journal,
                     const std::vector<std::optional<Json>>& done, SweepProgress& progress) {
  std::vector<std::int64_t> mine;
  for (std::int64_t i = options.share.rank; i < sweep.points(); i += options.share.of)
    if (!done[static_cast<std::size_t>(i)]) mine.push_back(i);
  std::mutex mutex;
  Status written{};
  parallel_for(mine.size(), options.threads, [&](std::size_t k) {
    const std::string line = json_inside(compute(sweep, mine[k]));
    const std::lock_guard lock(mutex);
    if (!written) return;
    written = journal.append(line);
    ++progress.computed;
    if (options.progress) options.progress(progress.computed, static_cast<std::int64_t>(mine.size()));
  });
  return written;
}

/// What the size is to blame for.
Error at_size(Error error, int nodes) {
  const std::string set = fmt::format("--set cluster.nodes={}: ", nodes);
  if (error.message.starts_with(set))
    error.message = fmt::format("--scaling {}: {}", nodes, error.message.substr(set.size()));
  return error;
}

/// What came up when the size was simulated, with the line of the file that its hint names.
Error in_simulation(Error error, const model::ReadScenario& read, const fs::path& file, int nodes) {
  error = model::placed(std::move(error), read, file.string());
  error.message = fmt::format("--scaling {}: {}", nodes, error.message);
  return error;
}

}  // namespace

std::int64_t Sweep::points() const {
  std::int64_t n = 1;
  for (const SweepAxis& axis : axes) n *= static_cast<std::int64_t>(axis.values.size());
  return n;
}

std::vector<std::size_t> Sweep::at(std::int64_t i) const {
  std::vector<std::size_t> place(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    const auto n = static_cast<std::int64_t>(axes[a].values.size());
    place[a] = static_cast<std::size_t>(i % n);
    i /= n;
  }
  return place;
}

Result<std::vector<SizeOutcome>> simulate_sizes(const fs::path& scenario, const std::vector<int>& nodes,
                                                const model::ScenarioOptions& changes,
                                                const SimulateOptions& options, bool attributed) {
  std::vector<SizeOutcome> points;
  // A size takes about as long as it has nodes.
  const double all = std::accumulate(nodes.begin(), nodes.end(), 0.0);
  double before = 0;
  std::vector<model::Scenario> sizes;
  std::vector<model::ReadScenario> files;
  for (const int n : nodes) {
    model::ScenarioOptions at = changes;
    at.set.push_back(fmt::format("cluster.nodes={}", n));
    COX_TRY(model::ReadScenario read, model::read_scenario(scenario, at).map_error([&](Error error) {
      return at_size(std::move(error), n);
    }));
    sizes.push_back(read.scenario);
    files.push_back(std::move(read));
  }
  take_one_engine(sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const model::Scenario& one = sizes[i];
    const int n = nodes[i];
    const auto tell = [&](double part) {
      if (options.progress) options.progress(before + part * n, all);
    };
    const double first = attributed ? 1 / static_cast<double>(simulations_to_attribute(one)) : 1;
    SimulateOptions own = options;
    own.keep_steps = attributed;
    own.progress = [&](double done, double total) { tell(total > 0 ? first * done / total : 0); };
    const auto told = [&](Error error) { return in_simulation(std::move(error), files[i], scenario, n); };
    COX_TRY(const Outcome outcome, simulate(one, own).map_error(told));
    const double steps = std::max(1, one.job.steps);
    ReplicaSpread step = outcome.over_replicas;
    for (Seconds* part : {&step.mean, &step.half_width_95, &step.p50, &step.p99}) *part /= steps;
    const auto* job = std::get_if<model::TrainingJob>(&one.job.work);
    const bool fixed = job != nullptr && job->global_batch > 0;
    points.push_back({.nodes = n,
                      .ranks = outcome.ranks,
                      .step = step,
                      .fixed_batch = fixed,
                      .attribution = {},
                      .not_modelled = outcome.not_modelled,
                      .exposed_ratio = outcome.exposed_ratio()});
    if (attributed) {
      own.progress = [&](double done, double total) { tell(done / total); };
      COX_TRY(points.back().attribution, attribute(one, own, outcome).map_error(told));
    }
    tell(1);
    before += n;
  }
  return points;
}

Result<SweepProgress> run_sweep(const Sweep& sweep, const SweepOptions& options) {
  const fs::path folder = options.output.string() + ".points";
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return fail(Error{.code = Errc::Io,
                      .id = "base-006",
                      .message = fmt::format("cannot be made: {}", error.message()),
                      .hint = "check the folder above it and its rights",
                      .where = Where{.file = folder.string()}});
  SweepProgress progress{.points = sweep.points()};
  COX_TRY(std::vector<std::optional<Json>> done, finished_points(folder, sweep));
  for (const auto& each : done) progress.found += each ? 1 : 0;
  COX_TRY(const Journal journal,
          Journal::open(folder / fmt::format("rank-{}.jsonl", options.share.rank), header_of(sweep)));
  COX_CHECK(compute_share(sweep, options, journal, done, progress));
  COX_TRY(done, finished_points(folder, sweep));
  for (const auto& each : done) progress.failed += each && each->contains("error") ? 1 : 0;
  for (const auto& each : done)
    if (!each) return progress;  // others are still at it; the last one merges
  COX_CHECK(write_merged(sweep, done, options.output));
  progress.merged = true;
  return progress;
}

}  // namespace cox::simulate
