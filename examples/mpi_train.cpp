// SPDX-License-Identifier: Apache-2.0
// Data-parallel training over MPI: gradients all-reduced over the world, statistics gathered in two halves of
// it. Counts its own collectives and their bytes, so that an observer's counts can be checked against them.
#include <mpi.h>

#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "training.hpp"

namespace {

constexpr int kStatisticsEvery = 10;  // steps

struct Tally {
  long long collectives = 0;
  long long bytes = 0;  ///< nccl-tests convention: buffer bytes; for AllGather the total array
};

/// A communicator that keeps count of what goes through it.
class Counted {
 public:
  Counted(MPI_Comm comm, std::string name) : comm_(comm), name_(std::move(name)) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }
  void all_reduce(std::span<float> values) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM, comm_);
    count(values.size_bytes());
  }
  std::vector<float> all_gather(float value) {
    std::vector<float> all(static_cast<std::size_t>(size_));
    MPI_Allgather(&value, 1, MPI_FLOAT, all.data(), 1, MPI_FLOAT, comm_);
    count(all.size() * sizeof(float));
    return all;
  }
  void broadcast(std::span<float> values, int root) {
    MPI_Bcast(values.data(), static_cast<int>(values.size()), MPI_FLOAT, root, comm_);
    count(values.size_bytes());
  }
  void barrier() {
    MPI_Barrier(comm_);
    count(0);
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Tally& tally() const { return tally_; }

 private:
  void count(std::size_t bytes) {
    ++tally_.collectives;
    tally_.bytes += static_cast<long long>(bytes);
  }
  MPI_Comm comm_;
  std::string name_;
  int rank_ = 0;
  int size_ = 1;
  Tally tally_;
};

void print_tally(const std::string& name, const std::string& members, int size, const Tally& t) {
  std::printf("communicator %s (ranks %s): %d ranks, %lld collectives, %lld bytes\n", name.c_str(),
              members.c_str(), size, t.collectives, t.bytes);
}

std::string every_second(int first, int ranks) {
  std::string text;
  for (int r = first; r < ranks; r += 2) text += (text.empty() ? "" : ",") + std::to_string(r);
  return text;
}

/// Rank 0 prints what everybody counted. Point to point on purpose:
/// reporting must not add to what it reports.
void report(const Counted& world, const Counted& half) {
  constexpr int kTag = 7;
  const int ranks = world.size();
  if (world.rank() == 1) {
    const std::array<long long, 2> mine{half.tally().collectives, half.tally().bytes};
    MPI_Send(mine.data(), 2, MPI_LONG_LONG, 0, kTag, MPI_COMM_WORLD);
  }
  if (world.rank() != 0) return;
  std::string everybody = "0";
  for (int r = 1; r < ranks; ++r) everybody += "," + std::to_string(r);
  print_tally("world", everybody, ranks, world.tally());
  print_tally("half-0", every_second(0, ranks), half.size(), half.tally());
  if (ranks > 1) {
    std::array<long long, 2> other{};
    MPI_Recv(other.data(), 2, MPI_LONG_LONG, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    print_tally("half-1", every_second(1, ranks), ranks / 2, {other[0], other[1]});
  }
}

int run(int argc, char** argv) {
  const example::Options options = example::parse_options(argc, argv, "mpi_train", false);
  Counted world(MPI_COMM_WORLD, "world");
  const bool has_victim = options.fault != example::Fault::None && options.fault != example::Fault::Rotating;
  if (has_victim && options.slow_rank >= world.size()) {
    if (world.rank() == 0) {
      std::fprintf(stderr, "mpi_train: --slow-rank: got %d, expected a rank from 0 to %d\n",
                   options.slow_rank, world.size() - 1);
    }
    return 2;
  }
  MPI_Comm half_comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world.rank() % 2, world.rank(), &half_comm);
  Counted half(half_comm, "half-" + std::to_string(world.rank() % 2));
  MPI_Comm_set_name(half_comm, half.name().c_str());

  const example::Crew crew{
      .rank = world.rank(),
      .ranks = world.size(),
      .all_reduce = [&](std::span<float> values) { world.all_reduce(values); },
      .after_step =
          [&](int step, float loss) {
            if (step % kStatisticsEvery != kStatisticsEvery - 1) return;
            std::vector<float> losses = half.all_gather(loss);
            half.broadcast(losses, 0);
          },
  };
  const example::Outcome outcome = example::train(options, crew);
  world.barrier();
  if (world.rank() == 0) {
    std::printf("rank 0: %d steps\n", outcome.steps);
    std::printf("loss: %.4f -> %.4f\n", static_cast<double>(outcome.first_loss),
                static_cast<double>(outcome.last_loss));
  }
  report(world, half);
  if (options.timing) {
    std::printf("rank %d: own work %.2f ms, all-reduce %.2f ms (medians over %d steps)\n", world.rank(),
                outcome.own_ms, outcome.reduce_ms, outcome.steps);
  }
  MPI_Comm_free(&half_comm);
  if (!outcome.learnt() && world.rank() == 0) std::fprintf(stderr, "mpi_train: the loss did not fall\n");
  return outcome.learnt() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 1;
  try {
    code = run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mpi_train: %s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return code;
}
