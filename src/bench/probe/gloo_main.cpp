// SPDX-License-Identifier: Apache-2.0
// cox-bench-net-gloo: the probe over Gloo's TCP transport. One process per rank:
//   cox-bench-net-gloo RANK RANKS STORE INTERFACE [--repetitions N] pairs [BYTES...] | allreduce BYTES...
// STORE is an empty folder that all ranks see.
#include <gloo/allreduce.h>
#include <gloo/math.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include "bench/probe/gloo_connect.hpp"
#include "bench/probe/wire.hpp"

namespace {

constexpr auto kTimeout = std::chrono::seconds(120);
constexpr std::uint64_t kSlot = 1;

class GlooWire final : public cox::bench::probe::Wire {
 public:
  GlooWire(int rank, int ranks, const std::string& store_folder, const std::string& interface)
      : context_(cox::bench::probe::gloo_context(rank, ranks, store_folder, interface, kTimeout)) {}
  [[nodiscard]] std::string library() const override { return "Gloo"; }
  [[nodiscard]] int rank() const override { return context_->rank; }
  [[nodiscard]] int ranks() const override { return context_->size; }
  void begin_send(int to, std::span<std::byte> data) override {
    sending_ = context_->createUnboundBuffer(data.data(), data.size());
    sending_->send(to, kSlot);
  }
  void finish_send() override { sending_->waitSend(kTimeout); }
  void receive(int from, std::span<std::byte> data) override {
    const auto buffer = context_->createUnboundBuffer(data.data(), data.size());
    buffer->recv(from, kSlot);
    buffer->waitRecv(kTimeout);
  }
  void all_reduce(std::span<float> values) override { reduce(values, &gloo::sum<float>); }
  double largest(double value) override {
    reduce(std::span(&value, 1), &gloo::max<double>);
    return value;
  }

 private:
  template <class T>
  void reduce(std::span<T> values, void (*function)(void*, const void*, const void*, std::size_t)) {
    gloo::AllreduceOptions options(context_);
    options.setOutput(values.data(), values.size());
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setReduceFunction(function);
    options.setTag(++tag_);
    gloo::allreduce(options);
  }

  std::shared_ptr<gloo::Context> context_;
  std::unique_ptr<gloo::transport::UnboundBuffer> sending_;
  std::uint32_t tag_ = 0;
};

}  // namespace

int main(int argc, char** argv) try {
  cox::bench::probe::Request request;
  if (argc < 6 || !cox::bench::probe::read_request({argv + 5, static_cast<std::size_t>(argc - 5)}, request)) {
    std::fprintf(stderr,
                 "usage: %s RANK RANKS STORE INTERFACE [--repetitions N] [--pause SECONDS] pairs "
                 "[BYTES...] | allreduce BYTES...\n",
                 argv[0]);
    return 2;
  }
  GlooWire wire(std::atoi(argv[1]), std::atoi(argv[2]), argv[3], argv[4]);
  return cox::bench::probe::run(wire, request);
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
  return 1;
}
