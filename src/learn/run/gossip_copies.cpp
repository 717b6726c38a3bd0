// SPDX-License-Identifier: Apache-2.0
#include "learn/run/gossip_copies.hpp"

#include <cmath>

namespace cox::learn {

GossipCopies::GossipCopies(const Problem& problem, const OptimizerSpec& optimizer,
                           const sync::GossipSpec& graph, int workers)
    : neighbours_(graph, workers) {
  std::vector<float> begin(static_cast<std::size_t>(problem.parameters()));
  problem.initial(begin);
  copies_.assign(static_cast<std::size_t>(workers), begin);
  next_ = copies_;
  for (int w = 0; w < workers; ++w) optimizers_.emplace_back(optimizer, problem.tensors());
}

void GossipCopies::step(int worker, std::span<const float> gradient, double factor) {
  const auto w = static_cast<std::size_t>(worker);
  optimizers_[w].step(copies_[w], gradient, factor);
}

void GossipCopies::average(int a, int b) {
  std::vector<float>& one = copies_[static_cast<std::size_t>(a)];
  std::vector<float>& other = copies_[static_cast<std::size_t>(b)];
  for (std::size_t i = 0; i < one.size(); ++i) one[i] = other[i] = 0.5F * (one[i] + other[i]);
}

void GossipCopies::combine(std::int64_t round) {
  const int workers = static_cast<int>(copies_.size());
  for (int w = 0; w < workers; ++w) {
    const std::span<const int> peers = neighbours_.of(w, round);
    std::vector<float>& out = next_[static_cast<std::size_t>(w)];
    const std::vector<float>& own = copies_[static_cast<std::size_t>(w)];
    if (!neighbours_.even()) {
      combine_unevenly(w, peers, out);
      continue;
    }
    const float part = 1.0F / static_cast<float>(peers.size() + 1);
    for (std::size_t i = 0; i < out.size(); ++i) {
      float sum = own[i];
      for (const int p : peers) sum += copies_[static_cast<std::size_t>(p)][i];
      out[i] = part * sum;
    }
  }
  copies_.swap(next_);
}

void GossipCopies::combine_unevenly(int worker, std::span<const int> peers, std::span<float> out) const {
  double rest = 1;
  for (const int p : peers) rest -= neighbours_.weight(worker, p);
  const std::vector<float>& own = copies_[static_cast<std::size_t>(worker)];
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = rest * static_cast<double>(own[i]);
    for (const int p : peers)
      sum += neighbours_.weight(worker, p) * static_cast<double>(copies_[static_cast<std::size_t>(p)][i]);
    out[i] = static_cast<float>(sum);
  }
}

void GossipCopies::mean(std::span<float> out) const {
  const auto workers = static_cast<double>(copies_.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    double sum = 0;
    for (const auto& copy : copies_) sum += static_cast<double>(copy[i]);
    out[i] = static_cast<float>(sum / workers);
  }
}

double GossipCopies::apart() const {
  std::vector<float> middle(copies_.front().size());
  mean(middle);
  double squares = 0;
  for (const auto& copy : copies_)
    for (std::size_t i = 0; i < middle.size(); ++i) {
      const double d = static_cast<double>(copy[i]) - static_cast<double>(middle[i]);
      squares += d * d;
    }
  return std::sqrt(squares / static_cast<double>(copies_.size() * middle.size()));
}

}  // namespace cox::learn
