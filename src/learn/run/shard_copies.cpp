// SPDX-License-Identifier: Apache-2.0
#include "learn/run/shard_copies.hpp"

#include <algorithm>

#include "cox/base/assert.hpp"

namespace cox::learn {

ShardCopies::ShardCopies(const Problem& problem, const OptimizerSpec& optimizer, int shards, int workers)
    : problem_(problem), count_(index(shards)), newest_(static_cast<std::size_t>(problem.parameters())) {
  COX_ASSERT(shards > 0 && newest_.size() >= count_, "a shard has a parameter at least");
  problem.initial(newest_);
  held_.assign(index(workers), newest_);
  gradients_.assign(index(workers), std::vector<float>(newest_.size()));
  pieces_.assign(index(workers), 0);
  reads_.assign(index(workers), 0);
  delivered_.assign(count_, 0);
  versions_.assign(count_, 0);
  for (int s = 0; s < shards; ++s) {
    const Tensor piece{.name = "shard",
                       .first = 0,
                       .rows = 1,
                       .columns = static_cast<std::int64_t>(first(s + 1) - first(s))};
    optimizers_.emplace_back(optimizer, std::span(&piece, 1));
  }
}

void ShardCopies::read(int worker, int shard) {
  ++reads_[index(worker)];
  std::copy(newest_.begin() + static_cast<std::ptrdiff_t>(first(shard)),
            newest_.begin() + static_cast<std::ptrdiff_t>(first(shard + 1)),
            held_[index(worker)].begin() + static_cast<std::ptrdiff_t>(first(shard)));
}

bool ShardCopies::deliver(int worker, int shard) {
  delivered_[index(shard)] = worker;
  int& there = pieces_[index(worker)];
  int& reads = reads_[index(worker)];
  // A first step holds all shards without having read any.
  if (++there < (reads > 0 ? reads : shards())) return false;
  there = reads = 0;
  return true;
}

void ShardCopies::advance(int shard, double factor) {
  const std::size_t from = first(shard);
  const std::size_t size = first(shard + 1) - from;
  const std::vector<float>& g = gradients_[index(delivered_[index(shard)])];
  optimizers_[index(shard)].step(std::span(newest_).subspan(from, size), std::span(g).subspan(from, size),
                                 factor);
  ++versions_[index(shard)];
}

void ShardCopies::copy(int shard) {
  copies_.resize(count_);
  std::array<Copy, 2>& mine = copies_[index(shard)];
  std::swap(mine.front(), mine.back());
  Copy& now = mine.back();
  now.version = versions_[index(shard)];
  now.values.assign(newest_.begin() + static_cast<std::ptrdiff_t>(first(shard)),
                    newest_.begin() + static_cast<std::ptrdiff_t>(first(shard + 1)));
  const std::span<const float> state = optimizers_[index(shard)].state();
  now.state.assign(state.begin(), state.end());
  now.steps = optimizers_[index(shard)].steps();
}

void ShardCopies::restore(int shard, std::int64_t version) {
  if (version == versions_[index(shard)]) return;
  const auto at = newest_.begin() + static_cast<std::ptrdiff_t>(first(shard));
  if (!copies_.empty())
    for (const Copy& c : copies_[index(shard)])
      if (c.version == version) {
        std::ranges::copy(c.values, at);
        optimizers_[index(shard)].go_on(c.steps, c.state);
        return;
      }
  COX_ASSERT(version == 0, "a version that the standby took");
  std::vector<float> all(newest_.size());
  problem_.initial(all);
  std::copy(all.begin() + static_cast<std::ptrdiff_t>(first(shard)),
            all.begin() + static_cast<std::ptrdiff_t>(first(shard + 1)), at);
  optimizers_[index(shard)].reset();
}

}  // namespace cox::learn
