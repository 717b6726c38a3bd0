// SPDX-License-Identifier: Apache-2.0
// Data-parallel training over Gloo (TCP on loopback). The ranks are forked here,
// before anything of Gloo exists.
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cox/base/processes.h"

#include "training.hpp"

namespace {

/// Gloo takes the store by reference, later versions as a shared one.
template <class Context>
void connect(Context& context, const std::shared_ptr<gloo::rendezvous::FileStore>& store,
             std::shared_ptr<gloo::transport::Device>& device) {
  if constexpr (requires { context.connectFullMesh(*store, device); })
    context.connectFullMesh(*store, device);
  else
    context.connectFullMesh(store, device);
}

constexpr auto kTimeout = std::chrono::seconds(120);

std::shared_ptr<gloo::Context> connect(int rank, int ranks, const std::string& meeting_place) {
  auto store = std::make_shared<gloo::rendezvous::FileStore>(meeting_place);
  gloo::transport::tcp::attr attributes;
  attributes.iface = "lo";
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->setTimeout(kTimeout);
  connect(*context, store, device);
  return context;
}

int run_rank(int rank, const example::Options& options, const std::string& meeting_place) {
  const auto context = connect(rank, options.ranks, meeting_place);
  long reductions = 0;
  const example::Crew crew{.rank = rank, .ranks = options.ranks, .all_reduce = [&](std::span<float> values) {
                             gloo::AllreduceOptions o(context);
                             o.setOutput(values.data(), values.size());
                             // a small gradient: few rounds matter more than few bytes
                             o.setAlgorithm(gloo::AllreduceOptions::Algorithm::BCUBE);
                             o.setReduceFunction([](void* c, const void* a, const void* b, std::size_t n) {
                               gloo::sum<float>(c, a, b, n);
                             });
                             gloo::allreduce(o);
                             ++reductions;
                           }};
  const example::Outcome outcome = example::train(options, crew);
  if (options.timing) {
    std::printf("rank %d: own work %.2f ms, all-reduce %.2f ms (medians over %d steps)\n", rank,
                outcome.own_ms, outcome.reduce_ms, outcome.steps);
  }
  if (rank == 0) {
    std::printf("rank 0: %d steps, %ld all-reduces\n", outcome.steps, reductions);
    std::printf("loss: %.4f -> %.4f\n", static_cast<double>(outcome.first_loss),
                static_cast<double>(outcome.last_loss));
  }
  std::fflush(stdout);
  if (!outcome.learnt()) {
    std::fprintf(stderr, "gloo_train: rank %d: the loss did not fall\n", rank);
    return 1;
  }
  return 0;
}

volatile sig_atomic_t stop_signal = 0;
void on_signal(int number) {
  stop_signal = number;
}

/// Waits for all ranks; the first that fails takes the others with it.
int wait_for_all(std::vector<pid_t> running) {
  int worst = 0;
  auto end_all = [&](int number) {
    for (const pid_t p : running) {
      if (p > 0) cox_signal_process(p, number);
    }
  };
  for (std::size_t left = running.size(); left > 0;) {
    int status = 0;
    const pid_t pid = wait(&status);
    if (pid < 0) {
      if (stop_signal != 0) {
        end_all(stop_signal);
        worst = 128 + stop_signal;
        stop_signal = 0;
      }
      continue;
    }
    for (pid_t& p : running) {
      if (p == pid) p = 0;
    }
    --left;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (code != 0 && worst == 0) {
      worst = code;
      end_all(SIGTERM);
    }
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  const example::Options options = example::parse_options(argc, argv, "gloo_train", true);
  const bool has_victim = options.fault != example::Fault::None && options.fault != example::Fault::Rotating;
  if (has_victim && options.slow_rank >= options.ranks) {
    std::fprintf(stderr, "gloo_train: --slow-rank: got %d, expected a rank from 0 to %d\n", options.slow_rank,
                 options.ranks - 1);
    return 2;
  }
  std::string place = (std::filesystem::temp_directory_path() / "gloo_train.XXXXXX").string();
  if (mkdtemp(place.data()) == nullptr) {
    std::perror("gloo_train: cannot make a folder for the ranks to meet in");
    return 1;
  }
  struct sigaction action = {};
  action.sa_handler = on_signal;
  for (const int number : std::array{SIGTERM, SIGINT, SIGHUP}) sigaction(number, &action, nullptr);

  std::vector<pid_t> ranks;
  const pid_t parent = getpid();
  for (int rank = 0; rank < options.ranks; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      for (const int number : std::array{SIGTERM, SIGINT, SIGHUP}) ::signal(number, SIG_DFL);
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody trains on without the one who counts the results
      if (getppid() != parent) _exit(1);
      int code = 1;
      try {
        code = run_rank(rank, options, place);
      } catch (const std::exception& e) {
        std::fprintf(stderr, "gloo_train: rank %d: %s\n", rank, e.what());
      }
      std::exit(code);
    }
    if (pid < 0) {
      std::perror("gloo_train: fork");
      for (const pid_t p : ranks) cox_signal_process(p, SIGKILL);
      break;
    }
    ranks.push_back(pid);
  }
  int code = wait_for_all(ranks);
  if (static_cast<int>(ranks.size()) < options.ranks) code = 1;
  std::error_code ignored;
  std::filesystem::remove_all(place, ignored);
  return code;
}
