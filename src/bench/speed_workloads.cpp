// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>

#include "cox/base/file.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/random.hpp"
#include "cox/base/stats.hpp"
#include "cox/bench/speed.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/flow.hpp"
#include "cox/simulate/goal.hpp"
#include "cox/simulate/max_plus.hpp"
#include "cox/simulate/network.hpp"
#include "cox/simulate/noise.hpp"

namespace cox::bench {
namespace {

using namespace cox::literals;
namespace fs = std::filesystem;
using model::Algorithm;
using model::Protocol;

constexpr std::uint64_t kSeed = 1;
constexpr int kGoalRanks = 725;

/// 1 us and 50 GB/s, as in docs/accuracy.md.
model::MessageCost base_cost() {
  return {.latency = Seconds{1e-6}, .per_byte = TimePerByte::seconds_per_byte(20e-12)};
}

/// Links whose latency and time per byte differ by up to 10 %.
simulate::LinkCosts varied_costs(int ranks) {
  simulate::LinkCosts costs;
  const RandomStream draws(kSeed, 0);
  for (int r = 0; r < ranks; ++r) {
    const double factor = 1 + 0.1 * draws.uniform(0, static_cast<std::uint64_t>(r));
    model::MessageCost cost = base_cost();
    cost.latency *= factor;
    cost.per_byte = TimePerByte::seconds_per_byte(cost.per_byte.in_seconds_per_byte() * factor);
    costs.into.push_back(cost);
  }
  return costs;
}

std::vector<Seconds> skewed(int ranks) {
  std::vector<Seconds> times;
  const RandomStream draws(kSeed, 1);
  times.reserve(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) times.emplace_back(1e-3 * draws.uniform(0, static_cast<std::uint64_t>(r)));
  return times;
}

Result<simulate::Noise> noise_of(model::NoiseSource source, int ranks) {
  return simulate::Noise::make({std::move(source)}, {.ranks = ranks}, kSeed);
}

Seconds last_of(std::span<const Seconds> times) {
  return *std::max_element(times.begin(), times.end());
}

struct Collective {
  Algorithm algorithm = Algorithm::Ring;
  int ranks = 0;
  Bytes bytes{};
  bool varied = true;
  bool noise = false;
  std::int64_t first_rounds = -1;
  bool closure = false;
};

Result<WorkDone> run_one(const Collective& c) {
  COX_TRY(const model::Schedule schedule,
          model::Schedule::make({.algorithm = c.algorithm, .ranks = c.ranks, .bytes = c.bytes}));
  simulate::LinkCosts costs;
  costs.across = base_cost();
  if (c.varied) costs = varied_costs(c.ranks);
  simulate::Noise noise;
  if (c.noise) {
    COX_TRY(noise, noise_of({.name = {},
                             .target = model::NoiseTarget::Message,
                             .law = model::NoiseLaw::Uniform,
                             .mean_ratio = 0.025},
                            c.ranks));
  }
  std::vector<Seconds> times =
      c.closure ? std::vector<Seconds>(static_cast<std::size_t>(c.ranks)) : skewed(c.ranks);
  const auto outcome = simulate::run_collective(
      schedule, costs,
      {.closure = c.closure, .first_rounds = c.first_rounds, .noise = c.noise ? &noise : nullptr}, times);
  return WorkDone{.units = static_cast<double>(outcome.messages), .total = last_of(times)};
}

/// Steps of 10 ms +- 5 % on every rank, then an all-reduce of 8 KiB. Every draw is made.
class Bsp {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Bsp>> make(int ranks, int steps, Protocol protocol,
                                                         Algorithm algorithm) {
    COX_TRY(const model::Schedule schedule,
            model::Schedule::make({.algorithm = algorithm, .ranks = ranks, .bytes = 8_KiB}));
    COX_TRY(simulate::Noise noise,
            noise_of({.name = {}, .law = model::NoiseLaw::Gaussian, .cv = 0.05}, ranks));
    auto bsp = std::unique_ptr<Bsp>(new Bsp(schedule, std::move(noise), steps));
    bsp->costs_.across = base_cost();
    bsp->options_.protocol = protocol;
    return bsp;
  }
  /// Total of one seed. Threads: const.
  [[nodiscard]] WorkDone run(std::uint64_t seed) const {
    const auto ranks = static_cast<std::size_t>(schedule_.ranks());
    const simulate::Noise noise = noise_.with_seed(seed);
    simulate::MaxPlus engine(schedule_, costs_, options_);
    std::vector<Seconds> times(ranks);
    std::vector<Seconds> work(ranks);
    WorkDone done;
    for (int step = 0; step < steps_; ++step) {
      std::fill(work.begin(), work.end(), Seconds{0.01});
      noise.compute(step, 0, work, work);
      for (std::size_t r = 0; r < ranks; ++r) times[r] += work[r];
      done.units += static_cast<double>(engine.run(times, nullptr, step, 0).messages);
    }
    done.total = last_of(times);
    return done;
  }

 private:
  Bsp(model::Schedule schedule, simulate::Noise noise, int steps)
      : schedule_(std::move(schedule)), noise_(std::move(noise)), steps_(steps) {}
  model::Schedule schedule_;
  simulate::Noise noise_;
  simulate::LinkCosts costs_;
  simulate::CollectiveOptions options_;
  int steps_;
};

Result<WorkDone> run_bsp(int ranks, int steps, Protocol protocol,
                         Algorithm algorithm = Algorithm::RecursiveDoubling) {
  COX_TRY(const std::unique_ptr<Bsp> bsp, Bsp::make(ranks, steps, protocol, algorithm));
  return bsp->run(kSeed);
}

Result<WorkDone> run_seeds() {
  constexpr std::size_t kSeeds = 1000;
  COX_TRY(const std::unique_ptr<Bsp> bsp,
          Bsp::make(1024, 100, Protocol::Rendezvous, Algorithm::RecursiveDoubling));
  std::vector<WorkDone> each(kSeeds);
  parallel_for(kSeeds, 2, [&](std::size_t i) { each[i] = bsp->run(i + 1); });
  Welford spread;
  std::vector<double> totals;
  WorkDone done;
  for (const WorkDone& one : each) {
    spread.add(one.total.count());
    totals.push_back(one.total.count());
    done.units += one.units;
  }
  std::printf("mean %.9f s +- %.3g s, p50 %.9f s, p99 %.9f s\n", spread.mean(),
              1.962 * spread.stddev() / std::sqrt(static_cast<double>(kSeeds)), quantile(totals, 0.5),
              quantile(totals, 0.99));
  done.total = Seconds{spread.mean()};
  return done;
}

/// A random order of the hosts, the same for everybody (Fisher, Yates).
std::vector<int> random_order(int hosts) {
  std::vector<int> order(static_cast<std::size_t>(hosts));
  std::iota(order.begin(), order.end(), 0);
  const RandomStream draws(kSeed, 2);
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[draws.bits(0, i) % (i + 1)]);
  return order;
}

Result<WorkDone> run_fat_tree(int hosts, bool with_noise) {
  const model::Link link{.latency = Seconds{250e-9}, .bandwidth = Bandwidth::gbit_per_s(400)};
  const model::Cluster cluster{
      .preset = {}, .nodes = hosts, .devices_per_node = 1, .device_name = {}, .nic = link};
  const model::Fabric fabric{
      .kind = model::FabricKind::FatTree, .link = link, .hosts_per_leaf = 8, .oversubscription = 4};
  COX_TRY(const simulate::Network network, simulate::Network::make(cluster, fabric));
  COX_TRY(const model::Schedule schedule, model::Schedule::make({.ranks = hosts, .bytes = 256_MiB}));
  simulate::FlowOptions options;
  simulate::Noise noise;
  if (with_noise) {
    COX_TRY(noise, noise_of({.name = {}, .target = model::NoiseTarget::Message, .cv = 0.05}, hosts));
    options.noise = &noise;
  }
  std::vector<Seconds> times(static_cast<std::size_t>(hosts));
  const auto outcome = simulate::run_flows(schedule, network, fabric, random_order(hosts), options, times);
  return WorkDone{.units = static_cast<double>(outcome.messages), .total = last_of(times)};
}

/// A ring of `kGoalRanks` in which a step waits for both halves of the one before.
std::string goal_ring() {
  std::string text = fmt::format("num_ranks {}\n", kGoalRanks);
  const std::int64_t bytes = (256_MiB).count() / kGoalRanks;
  for (int rank = 0; rank < kGoalRanks; ++rank) {
    text += fmt::format("rank {} {{\n", rank);
    for (int step = 0; step < 2 * (kGoalRanks - 1); ++step) {
      const int label = 2 * step + 1;
      text += fmt::format("l{}: send {}b to {} tag 0\n", label, bytes, (rank + 1) % kGoalRanks);
      if (step > 0) text += fmt::format("l{} requires l{}\n", label, label - 1);
      text += fmt::format("l{}: recv {}b from {} tag 0\n", label + 1, bytes,
                          (rank + kGoalRanks - 1) % kGoalRanks);
      if (step > 0) text += fmt::format("l{} requires l{}\n", label + 1, label - 1);
    }
    text += "}\n";
  }
  return text;
}

Result<WorkDone> convert(const fs::path& folder) {
  const fs::path text = folder / "ring.goal";
  COX_CHECK(simulate::convert_goal(text, folder / "ring.bin", IfExists::Replace));
  std::error_code ignored;
  return WorkDone{.units = static_cast<double>(fs::file_size(text, ignored))};
}

Result<WorkDone> run_binary(const fs::path& folder) {
  COX_TRY(const simulate::LogGops cost, simulate::parse_loggops("L=1us,o=0ns,g=0ns,G=20ps/B,O=0ps/B,S=1GiB"));
  COX_TRY(const simulate::EventOutcome outcome, simulate::simulate_goal(folder / "ring.bin", cost));
  return WorkDone{.units = static_cast<double>(outcome.messages), .total = last_of(outcome.finish)};
}

constexpr std::string_view kPrepare = "goal-files";  ///< no workload: writes what the others read

struct Runner {
  std::string_view name;
  Result<WorkDone> (*run)(const fs::path& folder);
};

constexpr Runner kRunners[] = {
    {"ring-4096", [](const fs::path&) { return run_one({.ranks = 4096, .bytes = 256_MiB}); }},
    {"ring-4096-noise",
     [](const fs::path&) { return run_one({.ranks = 4096, .bytes = 256_MiB, .noise = true}); }},
    {"ring-16384",
     [](const fs::path&) { return run_one({.ranks = 16384, .bytes = 256_MiB, .varied = false}); }},
    {"ring-16384-noise",
     [](const fs::path&) {
       return run_one({.ranks = 16384, .bytes = 256_MiB, .varied = false, .noise = true});
     }},
    {"recursive-doubling-65536",
     [](const fs::path&) {
       return run_one(
           {.algorithm = Algorithm::RecursiveDoubling, .ranks = 65536, .bytes = 8_KiB, .varied = false});
     }},
    {"recursive-doubling-1048576",
     [](const fs::path&) {
       return run_one(
           {.algorithm = Algorithm::RecursiveDoubling, .ranks = 1 << 20, .bytes = 8_KiB, .varied = false});
     }},
    {"ring-65536-rounds",
     [](const fs::path&) { return run_one({.ranks = 65536, .bytes = 256_MiB, .first_rounds = 1000}); }},
    {"ring-1000000-closure",
     [](const fs::path&) {
       return run_one({.ranks = 1'000'000, .bytes = 256_MiB, .varied = false, .closure = true});
     }},
    {"bsp-rendezvous", [](const fs::path&) { return run_bsp(1024, 100, Protocol::Rendezvous); }},
    {"bsp-eager", [](const fs::path&) { return run_bsp(1024, 100, Protocol::Eager); }},
    {"bsp-1000-seeds", [](const fs::path&) { return run_seeds(); }},
    {"bsp-1", [](const fs::path&) { return run_bsp(1, 1000, Protocol::Rendezvous, Algorithm::Ring); }},
    {"bsp-100000",
     [](const fs::path&) { return run_bsp(100'000, 1000, Protocol::Rendezvous, Algorithm::Ring); }},
    {"fat-tree-64", [](const fs::path&) { return run_fat_tree(64, false); }},
    {"fat-tree-1024", [](const fs::path&) { return run_fat_tree(1024, false); }},
    {"fat-tree-1024-noise", [](const fs::path&) { return run_fat_tree(1024, true); }},
    {kPrepare,
     [](const fs::path& folder) -> Result<WorkDone> {
       COX_CHECK(prepare_workloads(folder));
       return WorkDone{};
     }},
    {"goal-text", convert},
    {"goal-binary", run_binary},
};

}  // namespace

Result<WorkDone> run_workload(std::string_view name, const fs::path& folder) {
  for (const Runner& runner : kRunners)
    if (runner.name == name) return runner.run(folder);
  return fail(Error{.code = Errc::Usage,
                    .id = "bench-008",
                    .message = fmt::format("no workload is called '{}'", name),
                    .hint = "`cox bench simulate` runs and lists them all",
                    .where = {}});
}

Status prepare_workloads(const fs::path& folder) {
  return write_file_atomically(folder / "ring.goal", goal_ring(), IfExists::Replace);
}

}  // namespace cox::bench
