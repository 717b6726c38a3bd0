// SPDX-License-Identifier: Apache-2.0
// cox-train-gloo: all ranks of `cox train` over Gloo's TCP transport, on this machine.
//   cox-train-gloo problem=quadratic optimizer=sgd,rate=0.1 workers=8 procs=4 ...
// starts a process for each rank, itself again with two words in front: its number and a folder where the ranks meet.
// Where one fails the others are killed.
#include <spawn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "cox/base/child.hpp"
#include "cox/base/processes.h"

#include "train/program/gloo_transport.hpp"
#include "train/program/observed_marks.hpp"
#include "train/run/replica.hpp"

namespace {

namespace fs = std::filesystem;
using cox::Seconds;
using cox::train::GlooTransport;

/// Says what a rank that failed has to say; its exit status.
int end_with(const std::string& row) {
  std::fwrite(row.data(), 1, row.size(), stdout);
  std::fflush(stdout);
  return 1;
}

/// One rank; its exit status.
int run_rank(int rank, const std::string& store, const cox::train::TrainJob& job) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody is left where the one that started us is killed
  // Gloo writes to a rank that is gone: that is an error to be said, not an end.
  std::signal(SIGPIPE, SIG_IGN);
  cox_rank(rank, job.procs);
  std::unique_ptr<GlooTransport> transport;
  try {
    transport = std::make_unique<GlooTransport>(rank, job.procs, store, job.patience);
  } catch (const std::exception& e) {
    return end_with(cox::train::row_of(cox::Error{
        .code = cox::Errc::Io,
        .id = "train-005",
        .message = "rank " + std::to_string(rank) + " cannot meet the others: " + e.what(),
        .hint =
            "GLOO_SOCKET_IFNAME names the interface (lo where it is not set); is a port free in net.ipv4.ip_local_port_range?",
        .where = {}}));
  }
  cox::train::ObservedMarks marks(rank, job.procs, job.told);
  auto made = cox::train::run_replica(job, *transport, marks);
  if (made) made->library = "Gloo";
  const std::string text = made ? cox::train::rows_of(*made) : cox::train::row_of(made.error());
  if (rank == 0 || !made) std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  return made ? 0 : 1;
}

/// Ranks that run. Where one has failed, the others have `kGrace` to say that they have lost it; then they are killed, and it is named here.
class Ranks {
 public:
  void add(pid_t pid, int rank) { running_.push_back({.pid = pid, .rank = rank}); }
  void fail(int status, int rank) {
    if (status_ == 0) first_ = rank;
    if (status_ == 0) end_at_ = std::chrono::steady_clock::now() + kGrace;
    if (status_ == 0) status_ = status;
  }
  /// Until all have ended; the first exit status that is not 0.
  int wait() {
    while (!running_.empty()) {
      const bool some = std::erase_if(running_, [&](const Rank& r) { return has_ended(r); }) > 0;
      if (status_ != 0 && !running_.empty() && std::chrono::steady_clock::now() >= end_at_) {
        if (status_ > kSignal && !std::exchange(named_, true))
          name_first();  // others have said why themselves
        for (const Rank& r : running_) cox_signal_process(r.pid, SIGKILL);
      }
      if (!some) usleep(kPause);
    }
    return status_;
  }

 private:
  static constexpr std::chrono::seconds kGrace{2};
  static constexpr useconds_t kPause = 10'000;
  static constexpr int kSignal = 128;  ///< and its number: the status of who was ended by one

  struct Rank {
    pid_t pid = 0;
    int rank = 0;
  };

  bool has_ended(const Rank& r) {
    int how = 0;
    if (cox_wait_process(r.pid, &how, WNOHANG) == 0) return false;
    if (const int status = cox::exit_status_of(how); status != 0) fail(status, r.rank);
    return true;
  }
  void name_first() const {
    end_with(
        cox::train::row_of(cox::Error{.code = cox::Errc::Io,
                                      .id = "train-003",
                                      .message = "rank " + std::to_string(first_) + " ended with status " +
                                                 std::to_string(status_) + ", and the others wait for it",
                                      .hint = "128 and more is a signal: 137 is SIGKILL",
                                      .where = {}}));
  }

  std::vector<Rank> running_;
  int first_ = -1;  ///< that failed
  bool named_ = false;
  int status_ = 0;
  std::chrono::steady_clock::time_point end_at_{};
};

int run_all(const std::vector<std::string>& words, int ranks, const std::string& store) {
  Ranks running;
  for (int r = 0; r < ranks; ++r) {
    std::vector<std::string> told{"cox-train-gloo", std::to_string(r), store};
    told.insert(told.end(), words.begin(), words.end());
    pid_t pid = 0;
    if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, cox::argument_list(told).data(), environ) == 0)
      running.add(pid, r);
    else
      running.fail(1, r);
  }
  return running.wait();
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool is_rank = words.size() > 2 && words[1].find('/') == 0;
  const std::string store = is_rank ? words[1] : "";
  const int rank = is_rank ? std::atoi(words[0].c_str()) : 0;
  if (is_rank) words.erase(words.begin(), words.begin() + 2);
  const auto job = cox::train::read_words(words);
  if (!job) {
    std::fputs(cox::train::row_of(job.error()).c_str(), stdout);
    return 1;
  }
  if (is_rank) return run_rank(rank, store, *job);
  std::string folder = (fs::temp_directory_path() / "cox-train-gloo.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const int status = run_all(words, job->procs, folder);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return status;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
  return 1;
}
