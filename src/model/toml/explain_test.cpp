// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "cox/model/placed_error.hpp"
#include "cox/model/toml.hpp"

#include "model/toml/scenario_keys.hpp"

namespace cox::model {
namespace {

const char* const kText = R"(seed = 7
[cluster]
preset = "dgx-h100"
nodes = 4
nic.latency = "2us"
[[noise]]
law = "gaussian"
cv = 0.05
[job]
steps = 2
[[cluster.classes]]
count = 1
[[neighbour]]
nodes = [0, 1]
bytes = "1MB"
)";

TEST(ScenarioExplain, EveryValueHasAnOrigin) {
  const auto read = parse_scenario(kText, "f.toml", "");
  ASSERT_TRUE(read);
  const auto find = [&](const std::string& key) {
    const auto at = std::find_if(read->explained.begin(), read->explained.end(),
                                 [&](const Explained& e) { return e.key == key; });
    return at == read->explained.end() ? Explained{"missing", "", Origin::Default, ""} : *at;
  };
  EXPECT_EQ(find("seed").origin, Origin::File);
  EXPECT_EQ(find("seed").why, "line 1");
  EXPECT_EQ(find("cluster.nic.latency").value, "2us");
  EXPECT_EQ(find("cluster.nic.latency").why, "line 5") << "the file wins over the preset";
  EXPECT_EQ(find("cluster.nic.bandwidth").origin, Origin::Preset);
  EXPECT_EQ(find("cluster.nic.bandwidth").value, "50GB/s");
  EXPECT_EQ(find("cluster.nic.bandwidth").why,
            "DGX H100 user guide, component descriptions: InfiniBand up to 400 Gbps");
  EXPECT_EQ(find("replicas").origin, Origin::Default);
  EXPECT_EQ(find("replicas").value, "1");
  EXPECT_EQ(find("cost.across.latency").origin, Origin::Derived);
  EXPECT_EQ(find("cost.across.latency").value, "4us");
  EXPECT_EQ(find("cost.across.latency").why,
            "2 x cluster.nic + 0 x fabric.link + 2 x cluster.pcie latency (one rail switch)");
  EXPECT_EQ(find("noise[0].cv").value, "0.05");
  EXPECT_EQ(find("noise[0].pattern").value, "every-step");
  EXPECT_EQ(find("job.model.layers").key, "missing") << "there is no model";
}

TEST(ScenarioExplain, ListsEveryKeyOnce) {
  const auto read = parse_scenario(kText, "f.toml", "");
  ASSERT_TRUE(read);
  // Keys of paced iterations are listed only for those.
  const auto paced = parse_scenario("job.workload = \"iteration\"\n", "f.toml", "");
  ASSERT_TRUE(paced);
  std::set<std::string> seen;
  for (const Explained& e : read->explained) EXPECT_TRUE(seen.insert(e.key).second) << e.key;
  EXPECT_FALSE(seen.contains("pace.mode"));
  for (const Explained& e : paced->explained)
    if (e.key.starts_with("iteration.") || e.key.starts_with("pace.")) {
      EXPECT_TRUE(seen.insert(e.key).second) << e.key;
    }
  EXPECT_FALSE(seen.contains("cost.nccl.channels")) << "rounds are played";
  const auto nccl =
      parse_scenario("cluster.preset = \"dgx-h100\"\ncost.form = \"nccl\"\njob.steps = 1\n", "f.toml", "");
  ASSERT_TRUE(nccl);
  for (const Explained& e : nccl->explained)
    if (e.key.starts_with("cost.nccl.")) {
      EXPECT_TRUE(seen.insert(e.key).second) << e.key;
    }
  // Sections of which nobody speaks are left out, and classes of failures are where there are some.
  const auto runs = parse_scenario(
      "job.workload = \"training\"\njob.layers = [{ forward = \"1ms\" }]\njob.input.prepare = \"1ms\"\n"
      "start.fixed = \"1s\"\npower.busy = \"1kW\"\nprice.node_hour = 2\nfailures.class = [{ mtbf = \"1d\" }]\n",
      "f.toml", "");
  ASSERT_TRUE(runs) << runs.error().to_string();
  for (const Explained& e : runs->explained)
    if (e.key.starts_with("job.input.") || e.key.starts_with("start.") || e.key.starts_with("power.") ||
        e.key.starts_with("price.") || e.key.starts_with("failures.class[")) {
      if (e.key == "power.busy") continue;  // the preset has said it
      EXPECT_TRUE(seen.insert(e.key).second) << e.key;
    }
  for (const ScenarioKey& key : scenario_keys()) {
    std::string name = key.key;
    if (name.starts_with("job.model.") || name.starts_with("job.layers[]")) continue;
    if (const auto at = name.find("[]"); at != std::string::npos) name.insert(at + 1, "0");
    EXPECT_TRUE(seen.contains(name)) << name;
  }
}

TEST(ScenarioExplain, GivesAnErrorTheLineOfTheKeyThatItsHintNames) {
  const auto read = parse_scenario(
      "cluster.nodes = 2\ncluster.nic.bandwidth = \"1GB/s\"\njob.workload = \"training\"\n"
      "job.layers = [{ forward = \"1s\" }]\nfailures.job_mtbf = \"1s\"\nfailures.checkpoint_interval = \"9s\"\n",
      "f.toml", "");
  ASSERT_TRUE(read) << read.error().to_string();
  const Error stuck{.code = Errc::Infeasible,
                    .id = "simulate-003",
                    .message = "no progress",
                    .hint = "say a longer failures.job_mtbf",
                    .where = std::nullopt};
  EXPECT_EQ(placed(stuck, *read, "f.toml").to_string().rfind("f.toml:5: no progress", 0), 0U)
      << placed(stuck, *read, "f.toml").to_string();
  Error other = stuck;
  other.hint = "say a longer failures.node_mtbf";  // which the file does not say
  EXPECT_FALSE(placed(other, *read, "f.toml").where);
  other.hint = stuck.hint;
  other.where = Where{.file = "g", .line = 1, .column = 1};
  EXPECT_EQ(placed(other, *read, "f.toml").where->file, "g");
}

// `replicas`, `seed`, `name` and `engine` are words of prose, too; of keys that begin alike it is the one that is there.
TEST(ScenarioExplain, AKeyIsNamedByAllOfIt) {
  const auto read = parse_scenario(
      "replicas = 3\nname = \"a\"\nengine = \"max-plus\"\n[cluster]\nnodes = 2\nnic.bandwidth = \"1GB/s\"\n[job]\n"
      "workload = \"training\"\nlayers = [{ forward = \"1s\" }]\n[job.layout]\ndata = 2\n",
      "f.toml", "");
  ASSERT_TRUE(read) << read.error().to_string();
  const auto line = [&](const std::string& hint) {
    const Error error{.code = Errc::InvalidInput,
                      .id = "simulate-001",
                      .message = "no",
                      .hint = hint,
                      .where = std::nullopt};
    const auto where = placed(error, *read, "f.toml").where;
    return where ? where->line : 0;
  };
  EXPECT_EQ(line("replicas that hold a set are a worker, whatever the engine and its name"), 0);
  EXPECT_EQ(line("leave `engine` out"), 3);
  EXPECT_EQ(line("use job.layout.data. Or not"), 11);
  EXPECT_EQ(line("job.layout.data.x, job.layout.database, my_job.layout.data, a.job.layout.data"), 0);
  EXPECT_EQ(line("(cluster.nodes)"), 5);
  EXPECT_EQ(line("cluster.nodes_kept, then cluster.nodes - 1"), 5);
}

TEST(ScenarioExplain, IsAlignedText) {
  const std::string text = explain_text({{"a.key", "25us", Origin::File, "line 3"},
                                         {"b", "", Origin::Default, ""},
                                         {"c", "4", Origin::Derived, "2 + 2"}});
  EXPECT_EQ(text,
            "a.key  25us  file     line 3\n"
            "b      -     default\n"
            "c      4     derived  2 + 2\n");
}

TEST(ScenarioToml, SaysWhatAPresetDoesNot) {
  const auto read =
      parse_scenario("[cluster]\npreset = \"tpu-v4\"\nnodes = 8\n[job]\nsteps = 1\n", "f.toml", "");
  ASSERT_TRUE(read);
  EXPECT_EQ(scenario_toml(read->scenario), R"(name = "f"

[cluster]
preset = "tpu-v4"
nodes = 8

[fabric]
link.latency = "1us"
link.bandwidth = "50GB/s"
torus = [2, 2, 2]

[job]
collective.ranks = 8
)");
}

}  // namespace
}  // namespace cox::model
