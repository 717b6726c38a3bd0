// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cox/model/message_cost.hpp"
#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"

namespace cox::model {
namespace {

template <class E, std::size_t N>
std::string_view name_in(const std::array<std::string_view, N>& names, E value) {
  const auto i = static_cast<std::size_t>(value);
  return i < N ? names[i] : std::string_view{"?"};
}

constexpr std::array<std::string_view, 4> kRoutings = {"static", "ecmp", "adaptive", "spray"};
constexpr std::array<std::string_view, 3> kTargets = {"compute", "message", "bandwidth"};
constexpr std::array<std::string_view, 10> kLaws = {"constant", "gaussian", "lognormal", "exponential",
                                                    "pareto",   "weibull",  "bimodal",   "uniform",
                                                    "trace",    "quantiles"};
constexpr std::array<std::string_view, 6> kPolicies = {"synchronous",  "bounded-wait", "bounded-discard",
                                                       "asynchronous", "local-sgd",    "backup"};
constexpr std::array<std::string_view, 5> kFailureUnits = {"node", "device", "link", "switch", "job"};
constexpr std::array<std::string_view, 15> kAlgorithms = {"ring",
                                                          "bidirectional-ring",
                                                          "binomial-tree",
                                                          "binary-tree",
                                                          "double-binary-tree",
                                                          "recursive-doubling",
                                                          "halving-doubling",
                                                          "hierarchical",
                                                          "hierarchical-3",
                                                          "in-network",
                                                          "direct",
                                                          "two-level",
                                                          "dissemination",
                                                          "parameter-server",
                                                          "chain"};
static_assert(kAlgorithms.size() == static_cast<std::size_t>(kLastAlgorithm) + 1);
constexpr std::array<std::string_view, 3> kForms = {"alpha-beta", "loggops", "nccl"};
constexpr std::array<std::string_view, 4> kProtocols = {"rendezvous", "eager", "eager-gap", "loggops"};
constexpr std::array<std::string_view, 5> kEngines = {"auto", "closed-form", "max-plus", "flow", "event"};

}  // namespace

std::string_view name_of(Algorithm a) {
  return name_in(kAlgorithms, a);
}
std::string_view name_of(CostForm f) {
  return name_in(kForms, f);
}
std::string_view name_of(Protocol p) {
  return name_in(kProtocols, p);
}
std::string_view name_of(EngineKind e) {
  return name_in(kEngines, e);
}

std::string_view name_of(Routing value) {
  return name_in(kRoutings, value);
}

std::string_view name_of(NoiseTarget value) {
  return name_in(kTargets, value);
}

std::string_view name_of(NoiseLaw value) {
  return name_in(kLaws, value);
}

std::string_view name_of(PolicyKind value) {
  return name_in(kPolicies, value);
}
std::string_view name_of(FailureUnit value) {
  return name_in(kFailureUnits, value);
}

}  // namespace cox::model
