// SPDX-License-Identifier: Apache-2.0
/// \file
/// Every key of a scenario file, once: its name, what it holds, where that goes, and what it is for.
///
/// Reading, the suggestion for an unknown key, `--explain`, writing, the JSON schema, completion and
/// docs/reference/scenario.md all walk over these tables. A new key is one line here.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cox/model/scenario.hpp"
#include "cox/pace/settings.hpp"

#include "model/toml/keys/words.hpp"

namespace cox::model {

/// A transformer by its size, from which layers are derived ([job.model]); not part of a Scenario.
struct ModelSize {
  std::int64_t parameters = 0;
  int layers = 0;
  std::int64_t hidden = 0;
  std::int64_t sequence = 0;     ///< tokens of one sequence
  std::int64_t micro_batch = 1;  ///< sequences of one micro-batch
  Bytes element{2};              ///< of an activation
  Bytes gradient{2};             ///< of one parameter's gradient
  double utilisation = 0.4;      ///< MFU: part of the device's peak that is reached
  double backward_over_forward = 2;
};

/// Some layers that are alike.
struct LayerGroup {
  int count = 1;
  Layer layer;
};

/// All that a file may say of a job, whatever its workload:
/// which keys have a meaning is checked when all is read.
struct JobKeys {
  Workload workload = Workload::Collective;
  int steps = 1;
  CollectiveSpec collective{};  ///< ranks = 0 here: as many as the cluster has
  Compression compression{};    ///< of a collective, and of gradients
  RankOrder order = RankOrder::Linear;
  Places places{};
  Seconds compute{};
  TrainingJob training{};
  std::string file{};
  IterationJob iteration{};
};
/// The job that the keys say.
[[nodiscard]] Job job_of(const JobKeys& keys);
/// Keys that say this job on this cluster.
[[nodiscard]] JobKeys keys_of(const Job& job, const Cluster& cluster);

/// What is being read: a scenario, whose job is made last, and what only its file says.
struct Draft {
  Scenario scenario;
  JobKeys job;
  ModelSize size;
  std::vector<LayerGroup> layers;
};

/// Whether anything passes activations from device to device: a stage, a tensor or context group, an exchange of experts.
[[nodiscard]] inline bool passes_activations(const TrainingJob& job) {
  const Layout& l = job.layout;
  return l.pipeline > 1 || l.tensor > 1 || l.context > 1 || (l.expert > 1 && job.moe_layers > 0);
}
/// Whether gradients are summed with anybody: another replica, or another part of the sequence.
[[nodiscard]] inline bool sums_with_others(const TrainingJob& job) {
  return job.layout.data > 1 || job.layout.context > 1;
}

/// Which of some words a field is. `get` and `set` go through the place in the list.
template <class T>
struct WordField {
  std::span<const std::string_view> (*words)();
  std::size_t (*get)(const T&);
  void (*set)(T&, std::size_t);
};
/// A rate that is kept as time per byte.
template <class T>
struct RateField {
  TimePerByte& (*at)(T&);
};
/// A file, relative to that of the scenario.
template <class T>
struct PathField {
  std::string& (*at)(T&);
};

/// A parameter of the pacing controller, whose table is pace::parameters(); kept as text by its key.
template <class T>
struct SettingField {
  std::map<std::string, std::string>& (*at)(T&);
  const pace::Parameter* about;
};
/// What is written in a file for a parameter: a word, a time, a count, or a ratio.
[[nodiscard]] std::string_view kind_name(const pace::Parameter& parameter);

/// Where a value goes. The alternative is the kind of the quantity: no key can say one and store another.
template <class T>
using Field = std::variant<Seconds& (*)(T&), Bytes& (*)(T&), Bandwidth& (*)(T&), TimePerByte& (*)(T&),
                           FlopRate& (*)(T&), Power& (*)(T&), int& (*)(T&), std::int64_t& (*)(T&),
                           std::uint64_t& (*)(T&), double& (*)(T&), bool& (*)(T&), std::string& (*)(T&),
                           std::vector<int>& (*)(T&), std::vector<double>& (*)(T&), WordField<T>,
                           RateField<T>, PathField<T>, SettingField<T>>;

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

template <class T>
struct Key {
  std::string_view name;  ///< dotted, below the root or below its array
  Field<T> field;
  std::string_view help;
  double least = 0;  ///< of a number, or of a quantity in its base unit
  double most = kNoLimit;
  std::string_view otherwise = {};  ///< what it is where the file says nothing, if that depends on other keys
};

/// Keys below the root; the part before the first dot names the section.
[[nodiscard]] std::span<const Key<Draft>> root_keys();
/// Keys of one `[[noise]]`.
[[nodiscard]] std::span<const Key<NoiseSource>> noise_keys();
/// Keys of one `[[job.layers]]`.
[[nodiscard]] std::span<const Key<LayerGroup>> layer_keys();
/// Keys of one `[[cluster.classes]]` and of one `[[neighbour]]`.
[[nodiscard]] std::span<const Key<NodeClass>> node_class_keys();
[[nodiscard]] std::span<const Key<Neighbour>> neighbour_keys();

/// Keys of one `[[failures.class]]`.
[[nodiscard]] std::span<const Key<FailureClass>> failure_class_keys();

/// Names of the arrays of tables.
inline constexpr std::string_view kNodeClassArray = "cluster.classes";
inline constexpr std::string_view kNeighbourArray = "neighbour";
inline constexpr std::string_view kNoiseArray = "noise";
inline constexpr std::string_view kLayerArray = "job.layers";
inline constexpr std::string_view kClassArray = "failures.class";

/// What is written in a file for such a field: `time`, `size`, `count`, ...
template <class T>
[[nodiscard]] std::string_view kind_name(const Field<T>& field) {
  constexpr std::string_view kNames[] = {"time",
                                         "size",
                                         "rate",
                                         "time per byte",
                                         "operations per second",
                                         "power",
                                         "count",
                                         "count",
                                         "count",
                                         "ratio",
                                         "true or false",
                                         "text",
                                         "counts",
                                         "ratios",
                                         "word",
                                         "rate or time per byte",
                                         "file",
                                         "setting"};
  static_assert(std::size(kNames) == std::variant_size_v<Field<T>>);
  if (const auto* setting = std::get_if<SettingField<T>>(&field)) return kind_name(*setting->about);
  return kNames[field.index()];
}

/// The words of a word field, else none.
template <class T>
[[nodiscard]] std::span<const std::string_view> words_of(const Field<T>& field) {
  if (const auto* setting = std::get_if<SettingField<T>>(&field)) return setting_words(*setting->about);
  const auto* word = std::get_if<WordField<T>>(&field);
  return word ? word->words() : std::span<const std::string_view>{};
}

/// Largest counts that are accepted. Their products stay inside 64 bits: see check.cpp.
inline constexpr std::int64_t kMostRanks = std::int64_t{1} << 21;
inline constexpr int kMostSteps = 100'000'000;  ///< a simulation keeps the end of each: 8 bytes
inline constexpr int kMostReplicas = 1'000'000;
inline constexpr int kMostLayers = 65'536;
inline constexpr std::size_t kMostNoise = 256;
inline constexpr std::size_t kMostClasses = 64;
inline constexpr std::size_t kMostNodeClasses = 256;
inline constexpr std::size_t kMostNeighbours = 64;
inline constexpr std::size_t kMostRanksNamed = 65'536;
inline constexpr std::size_t kMostQuantiles = 65'536;  ///< in a scenario itself

}  // namespace cox::model
