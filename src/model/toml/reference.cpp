// SPDX-License-Identifier: Apache-2.0
// docs/reference/scenario.md, from the tables that the reader uses.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "cox/model/toml.hpp"

#include "model/toml/keys/presets.hpp"
#include "model/toml/scenario_keys.hpp"

namespace cox::model {
namespace {

constexpr std::string_view kIntroduction = R"(# Scenario files

<!-- Written by scenario_reference() (src/model/toml/reference.cpp) from the tables that the reader uses. After a change
     of those: COX_WRITE_REFERENCE=1 build/release/model_toml_test. -->

A scenario says what could happen: cluster, fabric, job, noise, failures, policy, pacing. It is a TOML file:

```toml
# What do 5 % of jitter cost 32 GPUs?
[cluster]
preset = "dgx-h100"
nodes = 4

[job]
steps = 100
compute = "10ms"

[job.collective]
kind = "all-reduce"
algorithm = "ring"
bytes = "256MiB"

[[noise]]
law = "gaussian"
cv = 0.05
```

`cox simulate FILE` simulates it, `cox simulate FILE --explain` prints every value, what it came to and where from: a
line of the file, a preset with the source of its figure, a default, or a formula. More in `examples/scenarios/`.

## Rules

- A quantity is a string with its unit: `"25us"`, `"50GB/s"`, `"256MiB"` ([units.md](units.md)). A bare number is an
  error. Where a bandwidth is wanted under `cost`, a time per byte (`"20ps/B"`) will do.
- Counts, ratios and switches are bare: `64`, `175e9`, `0.05`, `true`. A count may have underscores: `175_000_000_000`.
- `[cluster]` followed by `nic.latency = "1us"` is the same as `[cluster.nic]` followed by `latency = "1us"`.
- Files named in a scenario are looked for from the folder of the scenario.
- An unknown key, an unknown word, a value out of range, and parts that cannot go together are errors with file, line
  and reason, and exit code 3: [scenario-001 to scenario-005](errors.md).
- A file has at most 16 MB, 300,000 values and 16 levels of nesting; a cluster at most 2,097,152 ranks.
- A value that nothing would read is an error: the `cv` of a law that has none, the root of a ring, a message's cost
  where the links of a fabric are played, an oversubscription under `engine = "max-plus"`. Where `--set` or an option
  changes the kind, the file's own keys for another kind are ignored, and `--explain` says so. An error that an
  option brings names the option, beside the line that it clashes with.
- A file without `[job]` is an error.
- Rank r is device r % devices_per_node of node r / devices_per_node, unless `job.nodes` or `job.placement` says
  another.
)";

constexpr std::string_view kDerived = R"(
## What is derived

- Messages inside a node take the latency and bandwidth of `cluster.scale_up`; where there is none, they cross
  `cluster.pcie` twice.
- Messages between nodes take the sum of the latencies of their path and the bandwidth of its slowest link. The path is
  the longest shortest one:

  | fabric | path |
  |---|---|
  | full-bisection | nic, nic |
  | fat-tree, rail-optimised, nodes of one leaf | nic, nic |
  | fat-tree of two tiers, rail-optimised | nic, link, link, nic |
  | fat-tree of three tiers, several pods | nic, 4 x link, nic |
  | torus | link (to a neighbour) |
  | dragonfly | nic, 3 x link, nic |
  | graph | not counted: give `cost.across`, or use the flow engine (else simulate-003) |

  `cluster.pcie` is crossed at each end. Links that are shared are the business of the flow engine.
- With `[job.model]`, for N parameters, L layers, tokens T = micro_batch x sequence: forward = 2 N / L x T / context /
  (peak x utilisation x tensor), backward = forward x backward_over_forward (Kaplan et al. 2020, section 2.1; the part
  of attention that grows with the sequence is not counted); gradients = N / L x gradient; activations = T x hidden x
  element.
- A disturbance with `mean` adds that time; with `mean_ratio`, or with `cv` alone, it is a part of what it disturbs.
)";

/// Words in lines of at most 120 columns; later lines begin with two blanks, as in a list.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kWidth = 120;
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    if (column != 0 && column + 1 + word.size() > kWidth) {
      out += "\n  ";
      column = 2;
    } else if (column != 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return out + "\n";
}

/// `[cluster]` for `cluster.nic.latency`; keys of arrays carry `[]`.
std::string section_of(const std::string& key) {
  if (const auto array = key.find("[]."); array != std::string::npos)
    return "[[" + key.substr(0, array) + "]]";
  const auto dot = key.find('.');
  if (dot == std::string::npos) return "";
  // The parts of a job are sections of their own; links and the like are written with dots.
  const auto next = key.find('.', dot + 1);
  const bool own = key.starts_with("job.") || key.starts_with("cost.");
  return "[" + key.substr(0, own && next != std::string::npos ? next : dot) + "]";
}

std::string_view about(const std::string& section) {
  if (section.empty()) return "Before the first section.";
  if (section == "[cluster]") return "Machines.";
  if (section == "[fabric]") return "Switches and cables between the nodes.";
  if (section == "[job]") return "What runs.";
  if (section == "[job.collective]")
    return "Workload `collective`: one after another, `job.compute` before each.";
  if (section == "[job.layout]")
    return "Workload `training`: data x tensor x pipeline x context is the number of ranks. A tensor group "
           "stays inside a node, whose devices share the scale-up links (except on a torus).";
  if (section == "[job.model]")
    return "Workload `training`: a transformer by its size, from which the layers are derived. Needs "
           "`parameters`, `layers`, `sequence`, a `cluster.device.peak` and, where activations are passed on, `hidden`.";
  if (section == "[[job.layers]]")
    return "Workload `training`: layers in their order, each table `count` of them; one table may be written "
           "as `[job.layers]`. At most 65,536.";
  if (section == "[iteration]")
    return "Workload `iteration`: what every rank does in each of `job.steps` steps, in the order of the "
           "keys, and what it shares with whom. One rank per device of the cluster, one host per node. What "
           "is modelled: docs/concepts/pacing-simulated.md.";
  if (section == "[pace]")
    return "Workload `iteration`: the pacing controller of every rank, the one of `cox observe --pace`.";
  if (section == "[job.input]")
    return "Workload `training`: what a rank needs before its step. Which of it is waited for: "
           "docs/concepts/mechanisms.md.";
  if (section == "[failures]")
    return "Workload `training`: what stops the job, and what going on costs. How it is played: "
           "docs/concepts/failures.md.";
  if (section == "[[failures.class]]")
    return "Components that fail alone, each exponentially, beside `failures.node_mtbf` and `failures.job_mtbf`. At "
           "most 64.";
  if (section == "[start]")
    return "Workload `training`: what each start of the job takes before its first step.";
  if (section == "[power]") return "Workload `training`: what a node draws. Presets say `busy`.";
  if (section == "[price]") return "Workload `training`: what a node costs. Nothing is assumed.";
  if (section == "[policy]") return "How workers are kept together.";
  if (section == "[cost]") return "What a message costs.";
  if (section == "[cost.inside]") return "Between two devices of a node.";
  if (section == "[cost.across]") return "Between two nodes.";
  if (section == "[[noise]]")
    return "Disturbances; several add up. What a law takes: docs/concepts/noise.md. At most 256.";
  if (section == "[[cluster.classes]]")
    return "Nodes that are unlike the others, `count` of them from `first` on; at most 256 classes, without nodes in "
           "common. What it changes: docs/concepts/places.md.";
  if (section == "[[neighbour]]")
    return "Other jobs on the same fabric, for as long as ours runs; at most 64. What is modelled: "
           "docs/concepts/places.md.";
  return "";
}

std::string line_of(const ScenarioKey& key, std::string_view name) {
  std::string words;
  for (const std::string_view word : key.words)
    words += fmt::format("{}`{}`", words.empty() ? "" : ", ", word);
  // A default in words is not code; it is the one that no parser would read.
  const bool in_words = key.default_value.find_first_of(" `") != std::string::npos;
  const std::string otherwise = key.default_value.empty() ? "none"
                                : in_words                ? key.default_value
                                                          : fmt::format("`{}`", key.default_value);
  return wrapped(fmt::format("- `{}` ({}; default {}): {}{}{}", name, key.kind, otherwise, key.help,
                             words.empty() ? "" : "; one of ", words));
}

std::string preset_text(const Preset& preset) {
  std::string out = fmt::format("\n### {}\n\n{}.\n\n", preset.name, preset.what);
  for (const Figure& figure : preset.figures)
    out += wrapped(fmt::format("- `{}` = `{}`: {}", figure.key, figure.value, figure.source));
  return out;
}

}  // namespace

std::string scenario_reference() {
  std::string out(kIntroduction);
  std::string section = "-";
  for (const ScenarioKey& key : scenario_keys()) {
    const std::string in = section_of(key.key);
    if (in != section) {
      section = in;
      out += fmt::format("\n## {}\n\n", section.empty() ? std::string("Top level") : "`" + section + "`");
      out += wrapped(about(section)) + "\n";
    }
    // `[fabric]` stands for `fabric.`, `[[noise]]` for `noise[].`: as many characters, less one.
    const std::size_t bare = section.empty() ? 0 : section.size() - 1;
    out += line_of(key, std::string_view(key.key).substr(bare));
  }
  out += kDerived;
  out +=
      "\n## Presets\n\n"
      "`cluster.preset` stands for the values below; any of them may be given beside it. A bandwidth is that of one\n"
      "direction; a peak is without sparsity. What no one published says `assumed`.\n";
  for (const Preset& preset : presets()) out += preset_text(preset);
  out += "\nHeld by `src/model/toml/*_test.cpp`, and by the fuzzer `scenario`.\n";
  return out;
}

}  // namespace cox::model
