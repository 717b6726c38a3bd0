// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/failures/causes.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "cox/base/elementary.hpp"

namespace cox::simulate::training {
namespace {

/// Their own streams of draws, so that failures do not move with noise.
constexpr std::uint32_t kFailureStream = 0x6661696c;
constexpr std::uint32_t kWhichStream = 0x77686963;
constexpr std::uint32_t kStartStream = 0x73746172;

}  // namespace

Causes::Causes(const model::Scenario& s, std::uint64_t seed)
    : f_(s.failures),
      random_(seed, kFailureStream),
      which_(seed, kWhichStream),
      nodes_(nodes_of(s)),
      counts_(static_cast<std::size_t>(nodes_) + 1 + f_.classes.size()) {
  // The mean of a Weibull law is scale x Gamma(1 + 1 / shape).
  const double shape = f_.weibull_shape;
  scale_ = f_.node_mtbf / (shape == 1 ? 1.0 : gamma_function(1 + 1 / shape));
  for (const model::FailureClass& one : f_.classes) components_.push_back(components(s, one.per));
  if (f_.node_mtbf > Seconds{})
    for (int n = 0; n < nodes_; ++n) next_.emplace(draw(n), n);
  if (f_.job_mtbf > Seconds{}) next_.emplace(draw(nodes_), nodes_);
  for (std::size_t c = 0; c < f_.classes.size(); ++c) {
    const int who = nodes_ + 1 + static_cast<int>(c);
    if (f_.classes[c].mtbf > Seconds{} && components_[c].count > 0) next_.emplace(draw(who), who);
  }
}

namespace {

int node_at(const model::Scenario& s, int i) {
  return s.job.places.nodes.empty() ? i : s.job.places.nodes[static_cast<std::size_t>(i)];
}

/// Of the job's nodes; a class may have others.
std::int64_t cards_of(const model::Scenario& s) {
  std::int64_t cards = 0;
  for (int i = 0; i < nodes_of(s); ++i) {
    const model::NodeClass* of = class_of(s.cluster, node_at(s, i));
    cards += of != nullptr && of->nics > 0 ? of->nics : s.cluster.nics_per_node;
  }
  return cards;
}

}  // namespace

Causes::Components Causes::components(const model::Scenario& s, model::FailureUnit per) {
  const std::int64_t nodes = nodes_of(s);
  switch (per) {
    case model::FailureUnit::Node:
      return {.count = nodes, .nodes = {1}};
    case model::FailureUnit::Device:
      return {.count = nodes * s.cluster.devices_per_node, .nodes = {1}};
    case model::FailureUnit::Link:
      return {.count = cards_of(s), .nodes = {1}};
    case model::FailureUnit::Switch: {
      std::map<int, int> below;  // of each leaf, nodes of the job
      for (int i = 0; i < nodes; ++i) ++below[node_at(s, i) / s.fabric.hosts_per_leaf];
      const bool rails = s.fabric.kind == model::FabricKind::RailOptimised;
      Components out{.count = static_cast<std::int64_t>(below.size()) * (rails ? s.cluster.nics_per_node : 1),
                     .nodes = {}};
      for (const auto& [leaf, of_job] : below) out.nodes.push_back(of_job);
      return out;
    }
    case model::FailureUnit::Job:
      break;
  }
  return {.count = 1, .nodes = {0}};
}

Seconds Causes::next() const {
  return next_.empty() ? Seconds{std::numeric_limits<double>::infinity()} : next_.top().first;
}

Failure Causes::take() {
  const auto [at, who] = next_.top();
  next_.pop();
  next_.emplace(at + draw(who), who);
  if (who <= nodes_)
    return {.at = at, .nodes = who < nodes_ ? 1 : 0, .restart = f_.restart, .repair = f_.repair};
  const int c = who - nodes_ - 1;
  const Components& all = components_[static_cast<std::size_t>(c)];
  const model::FailureClass& of = f_.classes[static_cast<std::size_t>(c)];
  const std::uint64_t life = counts_[static_cast<std::size_t>(who)] - 1;
  const std::uint64_t component =
      which_.bits(life, static_cast<std::uint64_t>(c)) % static_cast<std::uint64_t>(all.count);
  return {.at = at,
          .of_class = c,
          .nodes = all.nodes[component % all.nodes.size()],
          .restart = of.restart,
          .repair = of.repair};
}

Seconds Causes::draw(int who) {
  const std::uint64_t life = counts_[static_cast<std::size_t>(who)]++;
  const double exponential = -logarithm(random_.uniform(life, static_cast<std::uint64_t>(who)));
  if (who == nodes_) return f_.job_mtbf * exponential;
  if (who > nodes_) {
    const auto c = static_cast<std::size_t>(who - nodes_ - 1);
    return f_.classes[c].mtbf / static_cast<double>(components_[c].count) * exponential;
  }
  return scale_ * (f_.weibull_shape == 1 ? exponential : power(exponential, 1 / f_.weibull_shape));
}

Seconds slowest_of(int n, double u, Seconds scale, double shape) {
  constexpr double kExponential = 1e-9;  // below that the powers cancel
  const double beyond = 1 - power(u, 1.0 / n);
  if (shape < kExponential) return scale * -logarithm(beyond);
  return scale * ((power(beyond, -shape) - 1) / shape);
}

Starts::Starts(const model::Scenario& s, std::uint64_t seed)
    : start_(s.start), nodes_(nodes_of(s)), random_(seed, kStartStream) {
  const auto ranks = static_cast<double>(ranks_of(s.cluster, s.job.places));
  control_ =
      start_.fixed + (start_.per_rank * ranks + start_.per_pair * (ranks * ranks)) * start_.communicators;
  if (start_.storage > Bandwidth{})
    read_ = Seconds{static_cast<double>(start_.read.count()) * nodes_ / start_.storage.in_bytes_per_s()};
}

Seconds Starts::next() {
  if (start_.spread <= Seconds{}) return control_ + read_;
  const Seconds slowest = slowest_of(nodes_, random_.uniform(count_++, 0), start_.spread, start_.tail);
  return control_ + std::max(read_, slowest);
}

Seconds Spares::enough_from(Seconds at) {
  while (!down_.empty() && down_.top().first <= at) {
    lost_ -= down_.top().second;
    down_.pop();
  }
  if (lost_ <= standing_by_) return at;
  auto later = down_;
  for (std::int64_t lost = lost_; lost > standing_by_; later.pop()) {
    at = later.top().first;
    lost -= later.top().second;
  }
  return at;
}

}  // namespace cox::simulate::training
