// SPDX-License-Identifier: Apache-2.0
// Speed of the max-plus engine, one case per process, so that start-up and memory count:
//   simulate_bench CASE [THREADS]      user time, memory and rate of one case
//   simulate_bench                     the list of cases
// Read the user time: a busy machine stretches the other.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/base/units_text.hpp"
#include "cox/simulate/max_plus.hpp"

#include "simulate/max_plus/replicas.hpp"

using namespace cox;
using namespace cox::literals;
namespace sim = cox::simulate;

namespace {

struct Answer {
  Seconds last{};
  std::int64_t messages = 0;
  std::string more{};
};

model::Schedule schedule_of(model::Collective kind, model::Algorithm algorithm, int ranks, Bytes bytes) {
  const auto s =
      model::Schedule::make({.kind = kind, .algorithm = algorithm, .ranks = ranks, .bytes = bytes});
  if (!s) std::abort();
  return *s;
}

model::MessageCost link(double slower) {
  return {.latency = Seconds{1e-6}, .per_byte = TimePerByte::seconds_per_byte(20e-12 * slower)};
}

enum class Links : bool { Same, Own };
enum class Draw : std::uint8_t { None, Uniform, Gaussian };

sim::Noise noise_of(const std::vector<model::NoiseSource>& sources, int ranks) {
  const auto noise = sim::Noise::make(sources, {.ranks = ranks}, 1);
  if (!noise) std::abort();
  return *noise;
}

std::vector<Seconds> skewed(int ranks) {
  std::vector<double> u(static_cast<std::size_t>(ranks));
  RandomStream(7, 7).uniforms(0, 0, u);
  std::vector<Seconds> t(u.size());
  std::ranges::transform(u, t.begin(), [](double x) { return Seconds{x * 1e-3}; });
  return t;
}

Answer one(model::Algorithm algorithm, int ranks, Bytes bytes, Links links, Draw draw, bool closure,
           std::int64_t first_rounds = -1) {
  const auto schedule = schedule_of(model::Collective::AllReduce, algorithm, ranks, bytes);
  sim::LinkCosts costs{.inside = link(1), .across = link(1)};
  if (links == Links::Own)
    for (int r = 0; r < ranks; ++r) costs.into.push_back(link(1 + 0.1 * (r % 7)));
  model::NoiseSource delay{.name = "delay", .target = model::NoiseTarget::Message};
  delay.law = draw == Draw::Gaussian ? model::NoiseLaw::Gaussian : model::NoiseLaw::Uniform;
  (draw == Draw::Gaussian ? delay.cv : delay.mean_ratio) = 0.025;
  const sim::Noise noise = noise_of({delay}, ranks);
  auto times = skewed(ranks);
  const auto out = sim::run_collective(
      schedule, costs,
      {.closure = closure, .first_rounds = first_rounds, .noise = draw == Draw::None ? nullptr : &noise},
      times);
  return {*std::ranges::max_element(times), out.messages, out.closure ? "closure" : "steps"};
}

Answer bsp(int ranks, std::int64_t steps, int seeds, model::Protocol protocol, int threads) {
  const sim::BspJob job{.schedule = schedule_of(model::Collective::AllReduce,
                                                model::Algorithm::RecursiveDoubling, ranks, 8_KiB),
                        .costs = {.inside = link(1), .across = link(1)},
                        .collective = {.protocol = protocol, .closure = false},
                        .compute = Seconds{0.01},
                        .steps = steps};
  const auto noise = noise_of({{.name = "jitter", .cv = 0.05}}, ranks);
  const auto out = sim::run_replicas(job, noise, 1, seeds, threads);
  std::int64_t rounds = 0;
  for (int n = 1; n < ranks; n *= 2) ++rounds;
  return {out.totals.front(), rounds * steps * seeds * ranks,
          fmt::format("mean {} +- {} p50 {} p99 {}", out.total.mean.count(), out.total.half_width_95.count(),
                      out.total.p50.count(), out.total.p99.count())};
}

/// Ranks that differ for good, and whose slowness lasts.
Answer remembering(int ranks, std::int64_t steps, int threads) {
  const sim::BspJob job{.schedule = schedule_of(model::Collective::AllReduce,
                                                model::Algorithm::RecursiveDoubling, ranks, 8_KiB),
                        .costs = {.inside = link(1), .across = link(1)},
                        .collective = {},
                        .compute = Seconds{0.01},
                        .steps = steps};
  const auto noise = noise_of({{.name = "persistent", .pattern = model::NoisePattern::Persistent, .cv = 0.02},
                               {.name = "ar", .cv = 0.03, .correlation = 0.9}},
                              ranks);
  const auto out = sim::run_replicas(job, noise, 1, 1, threads);
  return {out.totals.front(), steps * ranks, "draws, not messages"};
}

struct Case {
  std::string_view name;
  std::string_view bar;
  Answer (*run)(int threads);
};

using enum model::Algorithm;
constexpr Case kCases[] = {
    {"nothing", "start-up", [](int) { return Answer{}; }},
    {"ring-4096", "0.05 s, 32 MiB",
     [](int) { return one(Ring, 4096, 256_MiB, Links::Own, Draw::None, false); }},
    {"ring-4096-draw", "0.1 s",
     [](int) { return one(Ring, 4096, 256_MiB, Links::Own, Draw::Uniform, false); }},
    {"ring-4096-gaussian", "0.06 s",
     [](int) { return one(Ring, 4096, 256_MiB, Links::Own, Draw::Gaussian, false); }},
    {"ring-4096-uneven", "",
     [](int) { return one(Ring, 4096, 256_MiB + 77_B, Links::Own, Draw::None, false); }},
    {"ring-16384", "3e9 messages/s",
     [](int) { return one(Ring, 16384, 256_MiB, Links::Own, Draw::None, false); }},
    {"ring-16384-draw", "5e8 messages/s",
     [](int) { return one(Ring, 16384, 256_MiB, Links::Own, Draw::Uniform, false); }},
    {"doubling-65536", "0.02 s",
     [](int) { return one(RecursiveDoubling, 65536, 8_KiB, Links::Same, Draw::None, false); }},
    {"doubling-1048576", "0.2 s, 256 MiB",
     [](int) { return one(RecursiveDoubling, 1 << 20, 8_KiB, Links::Same, Draw::None, false); }},
    {"ring-65536-first-1000", "0.1 s",
     [](int) { return one(Ring, 65536, 256_MiB, Links::Own, Draw::None, false, 1000); }},
    {"ring-1000000-closure", "0.1 s",
     [](int) { return one(Ring, 1000000, 256_MiB, Links::Same, Draw::None, true); }},
    {"bsp-1-rendezvous", "0.03 s", [](int t) { return bsp(1024, 100, 1, model::Protocol::Rendezvous, t); }},
    {"bsp-1-eager", "0.03 s", [](int t) { return bsp(1024, 100, 1, model::Protocol::Eager, t); }},
    {"bsp-1000-rendezvous", "1.5 s on 2 cores",
     [](int t) { return bsp(1024, 100, 1000, model::Protocol::Rendezvous, t); }},
    {"bsp-1000-eager", "1.5 s on 2 cores",
     [](int t) { return bsp(1024, 100, 1000, model::Protocol::Eager, t); }},
    {"bsp-100000-ranks", "10 s, 64 bytes per rank",
     [](int t) { return bsp(100000, 1000, 1, model::Protocol::Rendezvous, t); }},
    {"bsp-1048576-remembers", "1.5 s, 256 MiB", [](int t) { return remembering(1 << 20, 100, t); }},
};

double in_seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1;
  for (const Case& c : kCases) {
    if (c.name != name) {
      if (name.empty()) fmt::print("{:24} {}\n", c.name, c.bar);
      continue;
    }
    const Answer a = c.run(threads);
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const double user = in_seconds(used.ru_utime);
    fmt::print(
        "{:24} user {:.4f} s, system {:.4f} s, {:.1f} MiB, {:.3g} messages/s; last rank at {:.9g} s; {} (bar {})\n",
        c.name, user, in_seconds(used.ru_stime), static_cast<double>(used.ru_maxrss) / 1024,
        static_cast<double>(a.messages) / user, a.last.count(), a.more, c.bar);
  }
  return 0;
}
