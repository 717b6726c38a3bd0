// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters of workers that are drawn to a centre, and draw it.
#pragma once

#include <span>
#include <vector>

namespace cox::learn {

/// Elastic averaging (EASGD; Zhang et al. 2015): x_i <- x_i - steps of i - r (x_i - c), both of x_i as the round began.
/// Memory: a copy a worker. Threads: one owner. Held by: src/learn/stability/elastic_test.cpp
class ElasticCopies {
 public:
  /// All begin at the centre.
  ElasticCopies(std::span<const float> centre, int workers, double pull)
      : pull_(static_cast<float>(pull)),
        copies_(static_cast<std::size_t>(workers), std::vector<float>(centre.begin(), centre.end())) {}
  [[nodiscard]] std::span<const float> of(int worker) const {
    return copies_[static_cast<std::size_t>(worker)];
  }
  void add_worker(std::span<const float> centre) { copies_.emplace_back(centre.begin(), centre.end()); }
  /// The worker's steps come to x - `moved`, and it meets the centre as it is now. `moved` becomes what the centre is away from where the worker's
  /// round began.
  void exchange(int worker, std::span<const float> centre, std::span<float> moved) {
    std::vector<float>& x = copies_[static_cast<std::size_t>(worker)];
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float away = centre[i] - x[i];
      x[i] = x[i] - moved[i] + pull_ * away;
      moved[i] = away;
    }
  }

 private:
  float pull_;
  std::vector<std::vector<float>> copies_;
};

}  // namespace cox::learn
