// SPDX-License-Identifier: Apache-2.0
#include "study/runs/routing.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cox/base/assert.hpp"

namespace cox::study {

std::vector<double> uniform_shares(int experts) {
  return zipf_shares(experts, 0);
}

std::vector<double> zipf_shares(int experts, int exponent) {
  COX_ASSERT(experts >= 1 && exponent >= 0, "there are experts");
  std::vector<double> shares;
  for (int i = 1; i <= experts; ++i) {
    double share = 1;
    for (int k = 0; k < exponent; ++k) share /= i;
    shares.push_back(share);
  }
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& s : shares) s /= total;
  return shares;
}

std::vector<std::int64_t> route_tokens(std::span<const double> shares, std::int64_t tokens,
                                       const RandomStream& stream, std::uint64_t step) {
  std::vector<double> up_to(shares.size());
  std::partial_sum(shares.begin(), shares.end(), up_to.begin());
  std::vector<std::int64_t> loads(shares.size());
  constexpr std::int64_t kBlock = 4096;
  std::vector<double> draws(kBlock);
  for (std::int64_t first = 0; first < tokens; first += kBlock) {
    const auto count = static_cast<std::size_t>(std::min(kBlock, tokens - first));
    const std::span<double> block = std::span(draws).first(count);
    stream.uniforms(step, static_cast<std::uint64_t>(first), block);
    for (const double u : block) {
      const auto at = std::upper_bound(up_to.begin(), up_to.end(), u) - up_to.begin();
      // The shares' sum may round to a little below one.
      ++loads[std::min(static_cast<std::size_t>(at), loads.size() - 1)];
    }
  }
  return loads;
}

Exchange exchange_tokens(std::span<const double> shares, std::int64_t tokens, int choices, int ranks,
                         const RandomStream& stream, std::uint64_t step) {
  const auto experts = static_cast<std::int64_t>(shares.size());
  COX_ASSERT(choices >= 1 && choices <= experts && ranks >= 1, "as many experts as a token is to have");
  std::vector<double> up_to(shares.size());
  std::partial_sum(shares.begin(), shares.end(), up_to.begin());
  Exchange out{
      .ranks = ranks,
      .sent = std::vector<std::int64_t>(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks)),
      .loads = std::vector<std::int64_t>(shares.size())};
  std::vector<double> draws(static_cast<std::size_t>(choices));
  std::vector<std::size_t> chosen;  // in rising order
  for (std::int64_t t = 0; t < tokens; ++t) {
    stream.uniforms(step, static_cast<std::uint64_t>(t * choices), draws);
    chosen.clear();
    double left = up_to.back();
    for (const double u : draws) {
      // A place among the shares that are left, moved behind those that are gone.
      double at = u * (choices == 1 ? 1.0 : left);
      for (const std::size_t gone : chosen)
        if (at >= up_to[gone] - shares[gone]) at += shares[gone];
      auto expert =
          static_cast<std::size_t>(std::upper_bound(up_to.begin(), up_to.end(), at) - up_to.begin());
      expert = std::min(expert, shares.size() - 1);
      // Sums round: the place may lie at the edge of one that is gone.
      while (std::binary_search(chosen.begin(), chosen.end(), expert)) expert = (expert + 1) % shares.size();
      chosen.insert(std::upper_bound(chosen.begin(), chosen.end(), expert), expert);
      left -= shares[expert];
      ++out.loads[expert];
      const std::int64_t from = t * ranks / tokens;
      const std::int64_t to = static_cast<std::int64_t>(expert) * ranks / experts;
      ++out.sent[static_cast<std::size_t>(from * ranks + to)];
    }
  }
  return out;
}

std::int64_t busiest_nic(const Exchange& exchange) {
  const auto ranks = static_cast<std::size_t>(exchange.ranks);
  std::vector<std::int64_t> out(ranks);
  std::vector<std::int64_t> in(ranks);
  for (std::size_t from = 0; from < ranks; ++from)
    for (std::size_t to = 0; to < ranks; ++to) {
      if (from == to) continue;
      out[from] += exchange.sent[from * ranks + to];
      in[to] += exchange.sent[from * ranks + to];
    }
  return std::max(*std::max_element(out.begin(), out.end()), *std::max_element(in.begin(), in.end()));
}

double load_variation(std::span<const std::int64_t> loads) {
  const auto n = static_cast<double>(loads.size());
  const double mean = static_cast<double>(std::accumulate(loads.begin(), loads.end(), std::int64_t{0})) / n;
  if (mean == 0) return 0;
  double squares = 0;
  for (const std::int64_t l : loads)
    squares += (static_cast<double>(l) - mean) * (static_cast<double>(l) - mean);
  return std::sqrt(squares / n) / mean;
}

double imbalance(std::span<const std::int64_t> loads) {
  const auto total = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
  if (total == 0) return 1;
  const auto most = *std::max_element(loads.begin(), loads.end());
  return static_cast<double>(most) * static_cast<double>(loads.size()) / static_cast<double>(total);
}

double dropped(std::span<const std::int64_t> loads, double capacity_factor) {
  const auto total = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
  if (total == 0) return 0;
  const double mean = static_cast<double>(total) / static_cast<double>(loads.size());
  const auto capacity = static_cast<std::int64_t>(std::floor(capacity_factor * mean));
  std::int64_t beyond = 0;
  for (const std::int64_t n : loads) beyond += std::max<std::int64_t>(0, n - capacity);
  return static_cast<double>(beyond) / static_cast<double>(total);
}

}  // namespace cox::study
