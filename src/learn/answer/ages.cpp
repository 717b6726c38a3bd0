// SPDX-License-Identifier: Apache-2.0
#include "learn/answer/ages.hpp"

namespace cox::learn {
namespace {

template <class Value>
Json by_worker(std::span<const sync::AgeCounts> workers, Value value) {
  Json all = Json::array();
  for (const sync::AgeCounts& ages : workers) all.push_back(value(ages));
  return all;
}

}  // namespace

Json age_ranges(const sync::AgeCounts& ages) {
  Json ranges = Json::array();
  for (const auto& r : ages.by_doubling())
    ranges.push_back({{"from", r.from}, {"to", r.to}, {"updates", r.count}});
  return ranges;
}

Json worker_ages(std::span<const sync::AgeCounts> workers) {
  return {{"updates", by_worker(workers, [](const auto& w) { return w.count(); })},
          {"mean", by_worker(workers, [](const auto& w) { return w.mean(); })},
          {"p50", by_worker(workers, [](const auto& w) { return w.quantile(0.5); })},
          {"p99", by_worker(workers, [](const auto& w) { return w.quantile(0.99); })},
          {"largest", by_worker(workers, [](const auto& w) { return w.largest(); })}};
}

MedianAges median_ages(std::span<const sync::AgeCounts> workers) {
  MedianAges out;
  bool any = false;
  for (std::size_t w = 0; w < workers.size(); ++w) {
    if (workers[w].count() == 0) continue;
    const std::int64_t median = workers[w].quantile(0.5);
    if (!any || median < out.least) {
      out.least = median;
      out.freshest = static_cast<int>(w);
    }
    if (!any || median > out.most) {
      out.most = median;
      out.stalest = static_cast<int>(w);
    }
    any = true;
  }
  return out;
}

}  // namespace cox::learn
