// SPDX-License-Identifier: Apache-2.0
#include "trace/run/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "cox/base/number_text.hpp"

namespace cox::trace {
namespace {

std::int64_t start_ns(const ProcessFile& p) {
  const Int128 start = Int128{p.reference_ns} + p.realtime_offset_ns.value_or(0);
  return static_cast<std::int64_t>(std::clamp<Int128>(start, INT64_MIN, INT64_MAX));
}

/// End of the last event, Unix time; the start where there is none.
std::int64_t last_seen_ns(const ProcessFile& p) {
  Duration last{};
  for (std::size_t i = 0; i < p.events.size(); ++i)
    last = std::max(last, p.events.end[i] == kStillRunning ? p.events.begin[i] : p.events.end[i]);
  return static_cast<std::int64_t>(
      std::clamp<Int128>(Int128{start_ns(p)} + last.count() / 1000, INT64_MIN, INT64_MAX));
}

/// Whether `a` is the one to keep of two processes that claim the same rank.
bool supersedes(const ProcessFile& a, const ProcessFile& b) {
  if (a.attempt != b.attempt) return a.attempt > b.attempt;
  if (start_ns(a) != start_ns(b)) return start_ns(a) > start_ns(b);
  return a.file > b.file;
}

/// Of a process that is left out.
std::string events_not_used(const ProcessFile& p) {
  return "its " + counted(static_cast<std::int64_t>(p.events.size()), "event is", "events are") + " not used";
}

/// Decides which processes are the Run: one launch, one process per rank. The others become Notes.
class Selection {
 public:
  Selection(std::vector<ProcessFile>& processes, std::vector<Note>& notes)
      : processes_(processes), notes_(notes) {}

  /// Indices of the kept processes, by rank.
  [[nodiscard]] std::vector<std::size_t> take() {
    leave_out_unusable();
    tell_singletons();
    leave_out_other_jobs();
    leave_out_superseded();
    leave_out_remains();
    std::sort(unused_.begin(), unused_.end());
    for (auto& [i, text] : unused_) notes_.push_back({.file = processes_[i].file, .text = std::move(text)});
    std::vector<std::size_t> kept;
    kept.reserve(best_.size());
    for (const auto& [rank, i] : best_) kept.push_back(i);
    return kept;
  }

 private:
  void leave_out(std::size_t i, std::string text) { unused_.emplace_back(i, std::move(text)); }

  void leave_out_unusable() {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const ProcessFile& p = processes_[i];
      if (p.rank < 0)
        leave_out(i, fmt::format("process {} never became a rank: {}", p.pid, events_not_used(p)));
      else if (p.rank >= kMaxRank)
        leave_out(i, fmt::format("process {} claims rank {}, expected less than {}: it is not used", p.pid,
                                 p.rank, kMaxRank));
      else
        candidates_.push_back(i);
    }
  }

  /// Several processes that ran at one time and each call themselves rank 0 of 1 were meant to be one job.
  void tell_singletons() {
    std::vector<std::pair<std::int64_t, int>> changes;  // time, one more or one less; ends sort behind starts
    for (const std::size_t i : candidates_) {
      const ProcessFile& p = processes_[i];
      if (p.rank != 0 || p.world_size != 1) continue;
      ++singletons_;
      changes.emplace_back(start_ns(p), -1);
      changes.emplace_back(last_seen_ns(p), 1);
    }
    std::sort(changes.begin(), changes.end());
    int alive = 0;
    int most = 0;
    for (const auto& [time, change] : changes) most = std::max(most, alive -= change);
    if (most < 2) singletons_ = 0;
    if (singletons_ > 0)
      notes_.push_back(
          {.file = {},
           .text = fmt::format("{} processes that ran at the same time each say that they are rank 0 of 1: "
                               "the launcher and the MPI library of the program do not match",
                               singletons_)});
  }

  /// Of several jobs the last one counts; one that began while it ran (a job that MPI_Comm_spawn made) is not
  /// the next one. A process without an id belongs to whichever job there is.
  void leave_out_other_jobs() {
    struct Job {
      std::int64_t begin = INT64_MAX;
      std::int64_t end = INT64_MIN;
      std::string id;
    };
    std::map<std::string, Job> by_id;
    for (const std::size_t i : candidates_) {
      const ProcessFile& p = processes_[i];
      if (p.job.empty()) continue;
      Job& job = by_id[p.job];
      job.begin = std::min(job.begin, start_ns(p));
      job.end = std::max(job.end, last_seen_ns(p));
      job.id = p.job;
    }
    if (by_id.size() < 2) return;
    std::vector<Job> jobs;
    jobs.reserve(by_id.size());
    for (auto& [id, job] : by_id) jobs.push_back(std::move(job));
    std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.begin < b.begin; });
    Job used = jobs.front();
    for (const Job& next : jobs)
      if (next.begin > used.end) used = next;
    notes_.push_back(
        {.file = {},
         .text = fmt::format("the folder holds {} jobs; only the last one, {}, is used: give each job a "
                             "folder of its own",
                             jobs.size(), used.id)});
    std::erase_if(candidates_, [&](std::size_t i) {
      const ProcessFile& p = processes_[i];
      if (p.job.empty() || p.job == used.id) return false;
      leave_out(
          i, fmt::format("rank {} (process {}) is of job {}: {}", p.rank, p.pid, p.job, events_not_used(p)));
      return true;
    });
  }

  void leave_out_superseded() {
    for (const std::size_t i : candidates_) {
      const auto [at, fresh] = best_.emplace(processes_[i].rank, i);
      if (fresh) continue;
      std::size_t loser = i;
      if (supersedes(processes_[i], processes_[at->second])) loser = std::exchange(at->second, i);
      restarted_.push_back(processes_[at->second].rank);
      leave_out_earlier(loser);
    }
  }

  /// A rank that only an earlier attempt had (the job came back smaller):
  /// it was over before the restart began.
  void leave_out_remains() {
    if (restarted_.empty()) return;
    std::int64_t restart = INT64_MAX;
    for (const int rank : restarted_) restart = std::min(restart, start_ns(processes_[best_.at(rank)]));
    std::erase_if(best_, [&](const auto& entry) {
      const ProcessFile& p = processes_[entry.second];
      if (start_ns(p) >= restart || last_seen_ns(p) >= restart) return false;
      leave_out_earlier(entry.second);
      return true;
    });
  }

  void leave_out_earlier(std::size_t i) {
    const ProcessFile& p = processes_[i];
    const bool at_once = singletons_ > 0 && p.world_size == 1;
    const std::string what =
        at_once ? "one more rank 0 of 1" : fmt::format("an earlier attempt of rank {}", p.rank);
    leave_out(i, fmt::format("{} (process {}): {}", what, p.pid, events_not_used(p)));
  }

  std::vector<ProcessFile>& processes_;
  std::vector<Note>& notes_;
  std::vector<std::size_t> candidates_;
  std::map<int, std::size_t> best_;
  std::vector<int> restarted_;
  int singletons_ = 0;  ///< processes that call themselves rank 0 of 1, where some ran at one time
  std::vector<std::pair<std::size_t, std::string>> unused_;
};

}  // namespace

std::vector<ProcessFile> one_per_rank(std::vector<ProcessFile> processes, std::vector<Note>& notes) {
  std::vector<ProcessFile> kept;
  for (const std::size_t i : Selection(processes, notes).take()) kept.push_back(std::move(processes[i]));
  return kept;
}

}  // namespace cox::trace
