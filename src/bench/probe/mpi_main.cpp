// SPDX-License-Identifier: Apache-2.0
// cox-bench-net-openmpi and cox-bench-net-mpich: the probe over MPI.
//   mpirun -n 2 cox-bench-net-openmpi [--repetitions N] pairs [BYTES...] | allreduce BYTES...
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "bench/probe/wire.hpp"

namespace {

class MpiWire final : public cox::bench::probe::Wire {
 public:
  MpiWire() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }
  [[nodiscard]] std::string library() const override {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(version, &length);
    std::string text(version, static_cast<std::size_t>(length));
    text.resize(std::min(text.size(), text.find_first_of(",\n")));
    std::replace(text.begin(), text.end(), '\t', ' ');  // MPICH aligns its version
    return text;
  }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  void begin_send(int to, std::span<std::byte> data) override {
    MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, to, 0, MPI_COMM_WORLD, &sending_);
  }
  // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): it began in `begin_send`
  void finish_send() override { MPI_Wait(&sending_, MPI_STATUS_IGNORE); }
  void receive(int from, std::span<std::byte> data) override {
    MPI_Recv(data.data(), static_cast<int>(data.size()), MPI_BYTE, from, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  }
  void all_reduce(std::span<float> values) override {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  }
  double largest(double value) override {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return value;
  }

 private:
  int rank_ = 0;
  int ranks_ = 0;
  MPI_Request sending_ = MPI_REQUEST_NULL;
};

}  // namespace

int main(int argc, char** argv) {
  cox::bench::probe::Request request;
  if (!cox::bench::probe::read_request({argv + 1, static_cast<std::size_t>(argc - 1)}, request)) {
    std::fprintf(stderr,
                 "usage: %s [--repetitions N] [--pause SECONDS] pairs [BYTES...] | allreduce BYTES...\n",
                 argv[0]);
    return 2;
  }
  MPI_Init(&argc, &argv);
  int status = 1;
  {
    MpiWire wire;
    status = cox::bench::probe::run(wire, request);
  }
  MPI_Finalize();
  return status;
}
