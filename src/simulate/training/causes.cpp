// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/causes.hpp"

#include <algorithm>
#include <limits>

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
      nodes_(s.cluster.nodes),
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

Causes::Components Causes::components(const model::Scenario& s, model::FailureUnit per) {
  const std::int64_t nodes = s.cluster.nodes;
  switch (per) {
    case model::FailureUnit::Node:
      return {.count = nodes, .nodes_of_each = 1, .nodes_of_last = 1, .row = nodes};
    case model::FailureUnit::Device:
      return {
          .count = nodes * s.cluster.devices_per_node, .nodes_of_each = 1, .nodes_of_last = 1, .row = nodes};
    case model::FailureUnit::Link:
      return {.count = nodes * s.cluster.nics_per_node, .nodes_of_each = 1, .nodes_of_last = 1, .row = nodes};
    case model::FailureUnit::Switch: {
      const std::int64_t below = s.fabric.hosts_per_leaf;
      const std::int64_t leaves = (nodes + below - 1) / below;
      const bool rails = s.fabric.kind == model::FabricKind::RailOptimised;
      return {.count = leaves * (rails ? s.cluster.nics_per_node : 1),
              .nodes_of_each = static_cast<int>(std::min(below, nodes)),
              .nodes_of_last = static_cast<int>(nodes - (leaves - 1) * below),
              .row = leaves};
    }
    case model::FailureUnit::Job:
      break;
  }
  return {.count = 1, .nodes_of_each = 0, .nodes_of_last = 0, .row = 1};
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
  const auto component = static_cast<std::int64_t>(which_.bits(life, static_cast<std::uint64_t>(c)) %
                                                   static_cast<std::uint64_t>(all.count));
  const bool last = component % all.row == all.row - 1;
  return {.at = at,
          .of_class = c,
          .nodes = last ? all.nodes_of_last : all.nodes_of_each,
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
    : start_(s.start), nodes_(s.cluster.nodes), random_(seed, kStartStream) {
  const auto ranks = static_cast<double>(s.cluster.ranks());
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
