// SPDX-License-Identifier: Apache-2.0
// All-reduces between processes over Gloo's TCP transport on loopback: Gloo's own ring; `cox train`'s ring, run from its description; its
// sum in fixed order. One leaf a rank. Rounds alternate; a time is from a common beginning to the last rank's end.
//   sum_bench RANKS MB... [--rounds N]
#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "train/executor/executor.hpp"
#include "train/executor/unit_sum.hpp"
#include "train/program/gloo_transport.hpp"
#include "train/transport/exchange.hpp"

namespace {

using namespace cox;  // NOLINT(google-build-using-namespace)
using cox::train::GlooTransport;

/// Of the slowest rank.
double seconds(GlooTransport& link, const std::function<Status()>& sum) {
  if (!train::exchange(link, 0)) std::exit(1);
  const auto began = std::chrono::steady_clock::now();
  if (!sum()) std::exit(1);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto all = train::exchange(link, took.count());
  if (!all) std::exit(1);
  return std::ranges::max(*all);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

int run_rank(int rank, int ranks, const std::string& store, const std::vector<int>& megabytes, int rounds) {
  GlooTransport link(rank, ranks, store, Seconds{120});
  for (const int mb : megabytes) {
    const auto count = static_cast<std::size_t>(mb) * 250'000;
    std::vector<float> values(count, 1.0F / static_cast<float>(rank + 1));
    auto ring = train::Executor::make({.kind = model::Collective::AllReduce,
                                       .algorithm = model::Algorithm::Ring,
                                       .ranks = ranks,
                                       .bytes = Bytes{static_cast<std::int64_t>(count * sizeof(float))}},
                                      rank);
    if (!ring) return 1;
    const train::Parting parting({{.first = 0, .count = static_cast<std::int64_t>(count)}}, ranks);
    train::MemoryCount memory;
    const auto by_gloo = [&]() -> Status {
      gloo::AllreduceOptions options(link.context());
      options.setOutput(values.data(), count);
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      options.setReduceFunction([](void* to, const void* a, const void* b, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i)
          static_cast<float*>(to)[i] = static_cast<const float*>(a)[i] + static_cast<const float*>(b)[i];
      });
      gloo::allreduce(options);
      return {};
    };
    const auto by_ring = [&] { return ring->run(link, values); };
    const auto in_order = [&]() -> Status {
      train::UnitSum sum(ranks, parting, rank, memory);
      sum.add(0, values);
      sum.begin(link, 0);
      COX_CHECK(link.wait());
      const std::span<float> own = sum.finish(0);
      const std::span<float> place =
          std::span(values).subspan(static_cast<std::size_t>(parting.part(0, rank).first), own.size());
      if (own.data() != place.data()) std::ranges::copy(own, place.begin());
      sum.end(0);
      train::begin_gather(link, parting, 0, place, values);
      return link.wait();
    };
    std::vector<double> gloo_s, ring_s, order_s;
    for (int i = 0; i <= rounds; ++i) {
      const double a = seconds(link, by_gloo), b = seconds(link, by_ring), c = seconds(link, in_order);
      if (i == 0) continue;  // connections and pages
      gloo_s.push_back(a);
      ring_s.push_back(b / a);
      order_s.push_back(c / a);
    }
    if (rank == 0)
      fmt::print(
          "{:>4} MB on {} ranks: Gloo's ring {:.1f} ms; ring {:.2f} of it ({:.2f} to {:.2f}), fixed order {:.2f} ({:.2f} to {:.2f})\n",
          mb, ranks, 1e3 * median(gloo_s), median(ring_s), std::ranges::min(ring_s), std::ranges::max(ring_s),
          median(order_s), std::ranges::min(order_s), std::ranges::max(order_s));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int ranks = 0, rounds = 7;
  std::vector<int> megabytes;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool is_rounds = word == "--rounds" && i + 1 < argc;
    const std::string_view number = is_rounds ? argv[++i] : word;
    int value = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc{} || value < 1) {
      std::fprintf(stderr, "usage: sum_bench RANKS MB... [--rounds N]\n");
      return 2;
    }
    if (is_rounds)
      rounds = value;
    else if (ranks == 0)
      ranks = value;
    else
      megabytes.push_back(value);
  }
  if (ranks < 2) return 2;
  if (megabytes.empty()) megabytes = {4, 16, 64, 256};
  std::string store = (std::filesystem::temp_directory_path() / "sum_bench.XXXXXX").string();
  if (mkdtemp(store.data()) == nullptr) return 1;
  for (int r = 0; r < ranks; ++r)
    if (fork() == 0) _exit(run_rank(r, ranks, store, megabytes, rounds));
  int status = 0, failed = 0;
  while (wait(&status) > 0) failed |= status != 0 ? 1 : 0;
  std::filesystem::remove_all(store);
  return failed;
}
