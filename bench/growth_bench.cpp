// SPDX-License-Identifier: Apache-2.0
// What simulations cost as they grow: processor time at several sizes, and its growth per doubling.
//   growth_bench [NAME]      all, or those whose name contains NAME
// Reading the scenario is left out; of training, taking the step apart too. One thread.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

using namespace cox;

namespace {

constexpr std::string_view kRing = R"([cluster]
preset = "dgx-h100"
[job.collective]
algorithm = "ring"
bytes = "256MiB"
)";
// A 7B model in layers, as in examples/scenarios/fsdp.toml.
constexpr std::string_view kTraining = R"([cluster]
preset = "dgx-h100"
[job]
workload = "training"
bucket = "100MB"
[job.layers]
count = 32
forward = "4ms"
backward = "8ms"
gradients = "430MB"
activations = "32MiB"
)";

struct Case {
  std::string_view name;
  std::string_view text;  ///< or a file below examples/scenarios
  std::vector<std::string> set;
  int first;  ///< nodes
  int last;
  std::string_view bar;  ///< at the last size
};

const std::vector<Case> kCases = {
    {"ring on DGX, 256 MiB", kRing, {}, 64, 512, "0.02 s"},
    {"the same, flow engine", kRing, {"engine=flow"}, 64, 512, ""},
    {"DDP step on DGX", kTraining, {}, 256, 2048, "0.2 s"},
    {"FSDP step on DGX", kTraining, {"job.zero_stage=3"}, 128, 1024, "0.2 s"},
    {"DDP step on DGX, flow engine", kTraining, {"engine=flow"}, 8, 32, ""},
    {"DDP step on DGX, 4:1", kTraining, {"fabric.oversubscription=4", "fabric.hosts_per_leaf=8"}, 8, 32, ""},
    {"failures.toml", "failures.toml", {}, 128, 1024, "0.5 s"},
    {"pace-shared-link.toml", "pace-shared-link.toml", {}, 256, 2048, "1 s"},
    {"async-server.toml", "async-server.toml", {}, 128, 1024, ""},
    {"fsdp-rails.toml", "fsdp-rails.toml", {}, 128, 1024, ""},
    {"incast.toml", "incast.toml", {}, 1024, 8192, "0.2 s"},
};

double used() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}

void run(const Case& c) {
  double before = 0;
  for (int nodes = c.first; nodes <= c.last; nodes *= 2) {
    model::ScenarioOptions options;
    options.set = c.set;
    options.set.push_back(fmt::format("cluster.nodes={}", nodes));
    const bool file = c.text.ends_with(".toml");
    const auto made = file ? model::read_scenario(std::filesystem::path(COX_EXAMPLES) / c.text, options)
                           : model::parse_scenario(c.text, "bench", {}, options);
    if (!made) {
      fmt::print("{:32} {}\n", c.name, made.error().to_string());
      return;
    }
    const double begin = used();
    const auto out = simulate::simulate(made->scenario, {.threads = 1});
    const double cpu = used() - begin;
    if (!out) {
      fmt::print("{:32} {}\n", c.name, out.error().to_string());
      return;
    }
    fmt::print("{:32} {:6} nodes {:>16} messages {:10.4f} s{}{}  {}\n", c.name, nodes, out->messages, cpu,
               before > 0 ? fmt::format("  x{:.2f}", cpu / before) : "",
               nodes == c.last && !c.bar.empty() ? fmt::format("  (bar {})", c.bar) : "",
               model::name_of(out->engine));
    before = cpu;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view wanted = argc > 1 ? argv[1] : "";
  for (const Case& c : kCases)
    if (c.name.find(wanted) != std::string_view::npos) run(c);
  return 0;
}
