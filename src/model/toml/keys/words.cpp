// SPDX-License-Identifier: Apache-2.0
#include "model/toml/keys/words.hpp"

#include <array>

#include "cox/base/assert.hpp"
#include "cox/model/origin.hpp"

namespace cox::model {
namespace {

constexpr std::array<std::string_view, 6> kFabrics = {"full-bisection", "fat-tree",  "rail-optimised",
                                                      "torus",          "dragonfly", "graph"};
constexpr std::array<std::string_view, 2> kSwitchings = {"cut-through", "store-and-forward"};
constexpr std::array<std::string_view, 5> kWorkloads = {"collective", "training", "goal", "chakra",
                                                        "iteration"};
constexpr std::array<std::string_view, 4> kPipelines = {"gpipe", "1f1b", "interleaved", "zero-bubble"};
constexpr std::array<std::string_view, 2> kOrders = {"linear", "random"};
constexpr std::array<std::string_view, 5> kPlaceRules = {"packed", "scattered", "by-rail", "random", "file"};
constexpr std::array<std::string_view, 3> kNeighbours = {"flows", "collective", "training"};
constexpr std::array<std::string_view, 6> kScopes = {"rank", "node", "switch", "global", "rail", "stage"};
constexpr std::array<std::string_view, 7> kPatterns = {"every-step", "persistent", "rotating", "periodic",
                                                       "drift",      "recurring",  "once"};
constexpr std::array<std::string_view, 3> kJitters = {"none", "lognormal", "exponential"};
constexpr std::array<std::string_view, 3> kImbalances = {"none", "persistent", "rotating"};
constexpr std::array<std::string_view, 3> kWaits = {"spin", "yield", "block"};
constexpr std::array<std::string_view, 3> kPrices = {"rounds", "nccl", "table"};
constexpr std::array<std::string_view, 3> kCompressors = {"none", "quantised", "sparse"};
constexpr std::array<std::string_view, 4> kNcclProtocols = {"any", "ll", "ll128", "simple"};
constexpr std::array<std::string_view, 7> kNcclAlgorithms = {
    "any", "ring", "tree", "collnet-direct", "collnet-chain", "nvls", "nvls-tree"};

struct CollectiveWord {
  std::string_view word;
  Collective kind;
};
constexpr std::array<CollectiveWord, 8> kCollectives = {{{"all-reduce", Collective::AllReduce},
                                                         {"reduce-scatter", Collective::ReduceScatter},
                                                         {"all-gather", Collective::AllGather},
                                                         {"broadcast", Collective::Broadcast},
                                                         {"reduce", Collective::Reduce},
                                                         {"all-to-all", Collective::AllToAll},
                                                         {"barrier", Collective::Barrier},
                                                         {"send-recv", Collective::SendRecv}}};

/// The words of an enumeration that has `name_of`, from 0 to `last`.
template <class E, E last>
Words named() {
  static const auto words = [] {
    std::array<std::string_view, static_cast<std::size_t>(last) + 1> out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = name_of(static_cast<E>(i));
    return out;
  }();
  return words;
}

}  // namespace

std::string_view name_of(Origin o) {
  switch (o) {
    case Origin::File:
      return "file";
    case Origin::Preset:
      return "preset";
    case Origin::Default:
      return "default";
    case Origin::Derived:
      return "derived";
  }
  return "?";
}

Words fabric_words() {
  return kFabrics;
}
Words routing_words() {
  return named<Routing, Routing::Spray>();
}
Words switching_words() {
  return kSwitchings;
}
Words workload_words() {
  return kWorkloads;
}
Words pipeline_words() {
  return kPipelines;
}
Words order_words() {
  return kOrders;
}
Words place_words() {
  return kPlaceRules;
}
Words neighbour_words() {
  return kNeighbours;
}
Words law_words() {
  return named<NoiseLaw, NoiseLaw::Quantiles>();
}
Words scope_words() {
  return kScopes;
}
Words target_words() {
  return named<NoiseTarget, NoiseTarget::Bandwidth>();
}
Words pattern_words() {
  return kPatterns;
}
Words policy_words() {
  return named<PolicyKind, PolicyKind::Backup>();
}
Words failure_unit_words() {
  return named<FailureUnit, FailureUnit::Job>();
}
Words jitter_words() {
  return kJitters;
}
Words imbalance_words() {
  return kImbalances;
}
Words wait_words() {
  return kWaits;
}
Words setting_words(const pace::Parameter& parameter) {
  const std::string_view key = parameter.key;
  if (key == "mode") return named<pace::Mode, pace::Mode::Random>();
  if (key == "objective") return named<pace::Objective, pace::Objective::Energy>();
  if (key == "placement") return named<pace::Placement, pace::Placement::Collective>();
  return {};
}
Words algorithm_words() {
  return named<Algorithm, kLastAlgorithm>();
}
Words form_words() {
  return named<CostForm, CostForm::Nccl>();
}
Words compressor_words() {
  return kCompressors;
}
Words price_words() {
  return kPrices;
}
Words nccl_protocol_words() {
  return kNcclProtocols;
}
Words nccl_algorithm_words() {
  return kNcclAlgorithms;
}
Words protocol_words() {
  return named<Protocol, Protocol::LogGops>();
}
Words engine_words() {
  return named<EngineKind, EngineKind::Event>();
}

Words collective_words() {
  static const auto words = [] {
    std::array<std::string_view, kCollectives.size()> out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = kCollectives[i].word;
    return out;
  }();
  return words;
}

Collective collective_at(std::size_t word) {
  return kCollectives[word].kind;
}

std::size_t word_of(Collective c) {
  for (std::size_t i = 0; i < kCollectives.size(); ++i)
    if (kCollectives[i].kind == c) return i;
  COX_ASSERT(false, "a scenario holds only collectives that a file can name");
  return 0;
}

}  // namespace cox::model
