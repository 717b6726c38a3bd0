// SPDX-License-Identifier: Apache-2.0
/// \file
/// No word without effect: every key of docs/reference/scenario.md, changed in small scenarios of every workload, engine
/// and variant, changes what comes out, or the file is refused with its line. Which keys there are is asked of the reader.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/json.hpp"
#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/render.hpp"

#include "model/toml/scenario_keys.hpp"
#include "support/make_run.hpp"

namespace cox::simulate::words {

using Values = std::vector<std::string>;
/// Keys and values of a table, in order; of the root where the key has dots.
using Table = std::vector<std::pair<std::string, std::string>>;

/// A scenario in which keys could matter.
struct Base {
  std::string name;
  Table root;
  Table layer{};  ///< one [[job.layers]]
  Table noise{};  ///< one [[noise]]
  /// What happens in it, for keys that matter only there:
  ///   draws: something is random; meets: ranks that wait for each other come unequally; noise: it is drawn often;
  ///   inside: all messages stay in a node; outside: none does;
  ///   cards: links are played; paths: flows have a choice; shares: they meet behind it; crowds: many send to one;
  ///   beside: computation beside communication decides; contended: cores; late: a receiver; wavers: slack about a
  ///   threshold; idle: nodes beyond the ranks of a trace; bare: nothing that a preset would say is said; kinds, fabrics:
  ///   other collectives, algorithms and fabrics come to something else; places: so do other places of the ranks;
  ///   choices: NCCL could take another algorithm, or leaves a node by what it has inside;
  ///   bursts: a neighbour's are over before the job is; alike: each sends as much to all others, wherever they are.
  std::set<std::string> has{};
  Table failing{};    ///< one [[failures.class]]
  Table kind{};       ///< one [[cluster.classes]]
  Table neighbour{};  ///< one [[neighbour]]
};

// What may be said and changes nothing. Titles, and nothing else.
inline const std::set<std::string> kTitles = {"name",
                                              "cluster.device.name",
                                              "noise[].name",
                                              "cluster.classes[].name",
                                              "neighbour[].name",
                                              "failures.class[].name"};

// What other keys fix, so that another value is refused wherever it is said.
inline const std::set<std::string> kFixed = {"job.layout.data"};

// Keys of which each accepted word has an effect of its own. Of the others, two words may come to the same in a small
// scenario: a tree of one leaf is a single switch.
inline const std::set<std::string> kEachWord = {"cost.inside.form", "cost.across.form",
                                                "iteration.jitter", "iteration.imbalance",
                                                "noise[].target",   "fabric.switching"};

// Words that are another by a time that a scenario has no key for: who yields is not woken, and waking costs nothing there.
inline const std::set<std::string> kSameWords = {"iteration.wait = \"yield\""};

// Keys that have an effect only where something happens in the base.
inline const std::map<std::string, std::string> kOnlyWhere = {
    {"seed", "draws"},
    {"cluster.nics_per_node", "cards"},
    {"fabric.routing", "paths"},
    {"job.placement", "places"},
    {"neighbour[].period", "bursts"},
    {"fabric.kind", "fabrics"},
    {"fabric.oversubscription", "shares"},
    {"job.overlap_slowdown", "beside"},
    {"noise[].scope", "noise"},
    {"noise[].correlation", "noise"},
    {"job.collective.kind", "kinds"},
    {"job.collective.algorithm", "kinds"},
    {"cluster.preset", "bare"},
    {"cost.inside.form", "inside"},
    {"cost.protocol", "meets"},
    {"cost.across.eager_limit", "late"},
    {"cost.inside.eager_limit", "late"},
    {"pace.release", "wavers"},
    {"iteration.wait", "contended"},
    {"fabric.pause", "crowds"},
    {"fabric.incast_loss", "crowds"},
    {"fabric.timeout.flows", "crowds"},
    {"cost.nccl.nvls", "choices"},
    {"cost.nccl.collnet", "choices"},
    {"cost.nccl.algorithm", "choices"},
    {"cost.nccl.inside", "choices"},
};

inline std::string text_of(const Table& table) {
  std::string text;
  for (const auto& [key, value] : table)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", key, value);
  return "[{" + text + "}]";
}

inline std::string file_of(const Base& base) {
  std::string text;
  for (const auto& [key, value] : base.root) text += fmt::format("{} = {}\n", key, value);
  if (!base.layer.empty()) text += fmt::format("job.layers = {}\n", text_of(base.layer));
  if (!base.noise.empty()) text += fmt::format("noise = {}\n", text_of(base.noise));
  if (!base.failing.empty()) text += fmt::format("failures.class = {}\n", text_of(base.failing));
  if (!base.kind.empty()) text += fmt::format("cluster.classes = {}\n", text_of(base.kind));
  if (!base.neighbour.empty()) text += fmt::format("neighbour = {}\n", text_of(base.neighbour));
  return text;
}

inline void say(Table& table, const std::string& key, const std::string& value) {
  const auto at =
      std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.first == key; });
  if (at == table.end())
    table.emplace_back(key, value);
  else
    at->second = value;
}

/// The base with another value of a key, as scenario_keys() spells it.
inline Base with(Base base, const std::string& key, const std::string& value) {
  if (key.starts_with("noise[]."))
    say(base.noise, key.substr(8), value);
  else if (key.starts_with("job.layers[]."))
    say(base.layer, key.substr(13), value);
  else if (key.starts_with("failures.class[]."))
    say(base.failing, key.substr(17), value);
  else if (key.starts_with("cluster.classes[]."))
    say(base.kind, key.substr(18), value);
  else if (key.starts_with("neighbour[]."))
    say(base.neighbour, key.substr(12), value);
  else
    say(base.root, key, value);
  return base;
}

/// Keys that have changed an outcome (or made one impossible, or another file) in this process so far.
inline std::set<std::string>& effective() {
  static std::set<std::string> keys;
  return keys;
}

/// Named choices (`key = "word"`) that a base has accepted in this process so far, and those of them that changed an outcome.
struct NamedChoices {
  std::set<std::string> accepted;
  std::set<std::string> effective;
};
inline NamedChoices& named_choices() {
  static NamedChoices all;
  return all;
}

/// What a scenario comes to: the outcome without titles, or why there is none.
struct Answer {
  std::map<std::string, std::string> values;  ///< what every key came to
  std::vector<std::string> notes;
  std::string outcome;
  std::string engine;
  std::optional<Error> refused;  ///< by the reader
  std::optional<Error> failed;   ///< by the simulation
};

class Words : public testing::Test {
 protected:
  Words() {
    for (const auto& [file, rate] : {std::pair{"fast.txt", "10GB/s"}, {"slow.txt", "3GB/s"}}) {
      std::string text;
      for (int n = 0; n < 8; ++n)
        text += fmt::format("n{0} s{1} 1us {2}\nn{0} s{3} 1us {2}\n", n, n % 2, rate, 2 + n % 2);
      put(file, text + fmt::format("s0 s1 1us {0}\ns2 s3 1us {0}\n", rate));
    }
  }

  Answer answer(const Base& base) {
    Answer answer;
    const auto read = model::parse_scenario(file_of(base), "f.toml", dir_.path());
    if (!read) {
      answer.refused = read.error();
      return answer;
    }
    for (const model::Explained& e : read->explained) answer.values[e.key] = e.value;
    const auto made = simulate(read->scenario, {.threads = 1});
    if (!made) {
      answer.failed = made.error();
      return answer;
    }
    Json json = Json::parse(to_json("", read->scenario, *made)).at("result");
    for (const char* title : {"name", "protocol", "engine"}) json.erase(title);
    answer.notes = made->notes;
    answer.outcome = json.dump();
    answer.engine = std::string(model::name_of(made->engine));
    return answer;
  }

  static std::string value_in(const Answer& answer, std::string key) {
    if (const auto array = key.find("[]"); array != std::string::npos) key.insert(array + 1, "0");
    const auto at = answer.values.find(key);
    if (at == answer.values.end()) return key == "pace.mode" ? "off" : "";  // told only where it is said
    return at->second;
  }

  /// A word of the description of a model that others could need: the outcome says that here nobody does.
  static bool is_noted(const Answer& answer, std::string key) {
    if (const auto array = key.find("[]"); array != std::string::npos) key.erase(array, 2);
    return std::ranges::any_of(answer.notes, [&](const std::string& note) {
      return note.find(key) != std::string::npos && note.find("changes nothing") != std::string::npos;
    });
  }

  /// Changes every key of a base that begins so, and says which change did nothing.
  void walk(const Base& base, std::string_view only = "") {
    const Answer before = answer(base);
    ASSERT_FALSE(before.refused) << base.name << ": " << before.refused->to_string() << "\n" << file_of(base);
    ASSERT_FALSE(before.failed) << base.name << ": " << before.failed->to_string() << "\n" << file_of(base);
    for (const model::ScenarioKey& key : model::scenario_keys()) {
      const bool inside = key.key.starts_with("cluster.scale_up.") || key.key.starts_with("cost.inside.");
      if (inside && base.has.contains("outside")) continue;
      if (key.key == "cluster.nodes" && base.has.contains("idle")) continue;
      if (key.key == "job.nodes" && base.has.contains("alike")) continue;
      if (kTitles.contains(key.key) || !key.key.starts_with(only)) continue;
      if (key.key.starts_with("noise[].") && base.noise.empty()) continue;
      if (key.key.starts_with("job.layers[].") && base.layer.empty()) continue;
      if (key.key.starts_with("failures.class[].") && base.failing.empty()) continue;
      if (key.key.starts_with("cluster.classes[].") && base.kind.empty()) continue;
      if (key.key.starts_with("neighbour[].") && base.neighbour.empty()) continue;
      if (const auto where = kOnlyWhere.find(key.key);
          where != kOnlyWhere.end() && !base.has.contains(where->second))
        continue;
      change(base, before, key);
    }
  }

  void change(const Base& base, const Answer& before, const model::ScenarioKey& key) {
    int effects = 0;
    Values without;
    for (const std::string& value : values_of(key)) {
      const Base other = with(base, key.key, value);
      const Answer after = answer(other);
      ++walked_;
      // A job that never ends, or another file, which says where it is wrong.
      const bool fails_by_it = after.failed && (after.failed->code == Errc::Infeasible ||
                                                after.failed->where || key.key == "job.workload");
      if (fails_by_it) {
        ++effects;
      } else if (after.failed) {
        problems_.push_back(fmt::format("{}: {} = {} is refused without its line: {}", base.name, key.key,
                                        value, after.failed->to_string()));
      } else if (after.refused) {
        const bool line = after.refused->where && after.refused->where->line > 0;
        if (!after.refused->id.starts_with("scenario-00") || !line)
          problems_.push_back(fmt::format("{}: {} = {} is refused without its line: {}", base.name, key.key,
                                          value, after.refused->to_string()));
      } else if (key.key == "engine") {
        effective().insert(key.key);
        if (value != fmt::format("\"{}\"", after.engine) && value != "\"auto\"")
          problems_.push_back(
              fmt::format("{}: engine = {} is simulated by {}", base.name, value, after.engine));
      } else if (value_in(after, key.key) == value_in(before, key.key)) {
        continue;  // no change
      } else {
        const std::string choice = key.words.empty() ? std::string() : fmt::format("{} = {}", key.key, value);
        if (!choice.empty() && !kSameWords.contains(choice)) named_choices().accepted.insert(choice);
        if (after.outcome != before.outcome) {
          ++effects;
          if (!choice.empty()) named_choices().effective.insert(choice);
        } else if (!is_noted(after, key.key)) {
          without.push_back(value);
        }
      }
    }
    if (effects > 0) effective().insert(key.key);
    // Of a number, one that was tried may lie behind some other limit.
    if (!without.empty() && (effects == 0 || kEachWord.contains(key.key)))
      problems_.push_back(fmt::format("{}: {} = {} is accepted and changes nothing", base.name, key.key,
                                      fmt::join(without, ", ")));
  }

  /// Values to try: all words of a word, special ones where the kind alone does not say any.
  [[nodiscard]] Values values_of(const model::ScenarioKey& key) const {
    static const std::map<std::string, Values> special = {
        {"cluster.nodes", {"16", "4", "2"}},
        {"cluster.devices_per_node", {"4", "1", "8"}},
        {"fabric.hosts_per_leaf", {"4", "64"}},
        {"cluster.nics_per_node", {"1", "2"}},
        {"seed", {"7", "8", "9"}},
        {"cluster.device.memory", {"\"1MB\""}},
        {"cluster.device.peak", {"\"50TFLOP/s\""}},
        {"fabric.torus", {"[2, 4]", "[8]", "[4, 2]"}},
        {"fabric.graph_file", {"\"slow.txt\""}},
        {"fabric.oversubscription", {"1", "2"}},
        {"fabric.pod_oversubscription", {"2"}},
        {"fabric.timeout.wait", {"\"3ms\"", "\"37us\""}},
        {"fabric.timeout.loss", {"0.3", "0.2"}},
        {"fabric.timeout.flows", {"1", "2", "3"}},
        {"fabric.background_load", {"0.5"}},
        {"failures.node_mtbf", {"\"300ms\""}},
        {"failures.restart", {"\"8ms\""}},
        {"failures.job_mtbf", {"\"300ms\""}},
        {"failures.storage", {"\"20GB/s\""}},
        {"failures.checkpoint_size", {"\"2GB\""}},
        {"failures.checkpoint_interval", {"\"100ms\""}},
        {"failures.class[].mtbf", {"\"300ms\""}},
        {"failures.unreadable", {"0.5"}},
        {"failures.near_interval", {"\"70ms\""}},
        {"failures.near_survives", {"0.95"}},
        {"failures.full_every", {"3"}},
        {"failures.checkpoint_delta", {"\"300MB\""}},
        {"price.currency", {"\"EUR\""}},
        {"start.read", {"\"3GB\""}},
        {"start.tail", {"0.5"}},
        {"job.file", {"\"other\""}},
        {"job.steps", {"5"}},
        {"job.micro_batches", {"4", "8"}},
        {"job.global_batch", {"16", "32"}},
        {"policy.local_steps", {"2", "4"}},
        {"job.zero_stage", {"0", "1", "2", "3"}},
        {"job.layout.shard", {"0", "2", "4"}},
        {"job.bucket", {"\"150MB\"", "\"30MB\"", "\"1MB\""}},
        {"job.collective.ranks", {"4"}},
        {"job.collective.root", {"3"}},
        {"job.model.parameters", {"3e8"}},
        {"job.model.sequence", {"4096"}},
        {"job.model.hidden", {"8192"}},
        {"job.model.element", {"\"4B\""}},
        {"job.model.gradient", {"\"4B\""}},
        {"iteration.slow_factor", {"3"}},
        {"iteration.reduce", {"\"50MB\""}},
        {"noise[].ranks", {"[1]", "[6]"}},
        {"noise[].shape", {"2.5"}},
        {"noise[].cv", {"0.2"}},
        {"noise[].probability", {"0.01"}},
        {"noise[].quantiles", {"[0, 1]", "[0.3, 0.4]"}},
        {"noise[].tail_probability", {"0.3"}},
        {"noise[].tail_shape", {"0.5", "-0.5"}},
        {"noise[].step", {"2"}},
        {"noise[].burst_steps", {"4", "50"}},
        {"noise[].calm_steps", {"4", "50"}},
        {"pace.max_ratio", {"0.01"}},
        {"pace.release", {"0.2", "0.24"}},
        {"pace.min_pairs", {"12"}},
        {"pace.idle_power", {"0.9"}},
        {"fabric.dragonfly.groups", {"4"}},
        {"fabric.tiers", {"2", "3"}},
        {"cost.across.eager_limit", {"\"3MB\"", "\"70kB\"", "\"1GB\""}},
        {"cost.inside.eager_limit", {"\"3MB\"", "\"70kB\"", "\"1GB\""}},
        {"cost.across.overhead_per_byte", {"\"20ns/B\""}},
        {"cost.inside.overhead_per_byte", {"\"20ns/B\""}},
        {"noise[].file", {"\"other.csv\""}},
        {"failures.cold_factor", {"3"}},
        {"cluster.sockets", {"2"}},
        {"cost.nccl.channels", {"2", "32"}},
        {"job.nodes", {"[3, 1, 0, 2]", "[0, 2]"}},
        {"job.placement_file", {"\"reversed.txt\""}},
        {"cluster.nic_of", {"[0, 0]", "[1, 0]"}},
        {"cluster.classes[].nic_of", {"[0, 0]", "[1, 0]"}},
        {"cluster.classes[].nics", {"1"}},
        {"cluster.classes[].memory", {"\"1MB\""}},
        {"neighbour[].nodes", {"[1, 3]", "[0, 3]"}},
        {"job.compression.bits", {"4", "2"}},
        {"job.compression.density", {"0.02", "0.3"}},
        {"job.compression.element", {"\"8B\"", "\"2B\""}},
        {"job.compression.index", {"\"8B\"", "\"2B\""}},
        {"cost.table", {"\"other.table\""}},
    };
    if (const auto at = special.find(key.key); at != special.end()) return at->second;
    if (!key.words.empty()) {
      Values all;
      for (const std::string_view word : key.words) all.push_back(fmt::format("\"{}\"", word));
      return all;
    }
    static const std::map<std::string_view, Values> by_kind = {
        {"time", {"\"37us\"", "\"3ms\"", "\"1s\""}},
        {"size", {"\"3MB\"", "\"70kB\""}},
        {"rate", {"\"3GB/s\"", "\"50MB/s\""}},
        {"rate or time per byte", {"\"3GB/s\""}},
        {"time per byte", {"\"20ps/B\""}},
        {"operations per second", {"\"50TFLOP/s\""}},
        {"power", {"\"900W\""}},
        {"count", {"2", "3", "4"}},
        {"ratio", {"0.3", "2"}},
        {"true or false", {"true", "false"}},
        {"counts", {"[1]"}},
    };
    const auto at = by_kind.find(key.kind);
    return at == by_kind.end() ? Values{} : at->second;
  }

  void put(const std::string& file, const std::string& text) { test::put_file(dir_.path() / file, text); }

  void TearDown() override {
    EXPECT_GT(walked_, 0);
    EXPECT_TRUE(problems_.empty()) << problems_.size() << " words without effect:\n"
                                   << fmt::format("{}", fmt::join(problems_, "\n"));
  }

  test::ScratchDir dir_;
  std::vector<std::string> problems_;
  int walked_ = 0;
};

inline Table operator+(Table a, const Table& b) {
  for (const auto& [key, value] : b) say(a, key, value);
  return a;
}

/// Eight nodes of one device, or four of two.
inline const Table kEight = {
    {"cluster.nodes", "8"}, {"cluster.nic.latency", "\"2us\""}, {"cluster.nic.bandwidth", "\"10GB/s\""}};
inline const Table kPairs = {{"cluster.nodes", "4"},
                             {"cluster.devices_per_node", "2"},
                             {"cluster.scale_up.latency", "\"1us\""},
                             {"cluster.scale_up.bandwidth", "\"100GB/s\""},
                             {"cluster.nic.latency", "\"2us\""},
                             {"cluster.nic.bandwidth", "\"10GB/s\""}};
inline const Table kTree = {
    {"fabric.kind", "\"fat-tree\""}, {"fabric.hosts_per_leaf", "2"}, {"fabric.oversubscription", "2"}};
inline const Table kExchange = {{"job.collective.kind", "\"all-to-all\""},
                                {"job.collective.algorithm", "\"direct\""},
                                {"job.collective.bytes", "\"8MB\""}};
inline const Table kRing = {{"job.collective.kind", "\"all-reduce\""},
                            {"job.collective.algorithm", "\"ring\""},
                            {"job.collective.bytes", "\"8MB\""}};

inline const Table kNode = {{"cluster.devices_per_node", "8"},
                            {"cluster.scale_up.latency", "\"1us\""},
                            {"cluster.scale_up.bandwidth", "\"100GB/s\""}};
inline const Table kCosts = {{"cost.across.latency", "\"3us\""},
                             {"cost.across.bandwidth", "\"5GB/s\""},
                             {"cost.inside.latency", "\"2us\""},
                             {"cost.inside.bandwidth", "\"50GB/s\""}};

inline Table engine(const std::string& name) {
  return {{"engine", fmt::format("\"{}\"", name)}};
}

}  // namespace cox::simulate::words
