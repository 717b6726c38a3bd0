// SPDX-License-Identifier: Apache-2.0
#include "study/runs/exchange_run.hpp"

#include <algorithm>
#include <cstddef>

#include "cox/base/assert.hpp"

namespace cox::study {
namespace {

std::int64_t tokens_of(const Exchange& e, int from, int to) {
  const auto n = static_cast<std::size_t>(e.ranks);
  return e.sent[static_cast<std::size_t>(from) * n + static_cast<std::size_t>(to)];
}

}  // namespace

Seconds pairwise_time(const Exchange& exchange, Bytes token, Bandwidth nic) {
  const int n = exchange.ranks;
  std::vector<Seconds> now(static_cast<std::size_t>(n), Seconds{0});
  std::vector<Seconds> next(now.size());
  for (int k = 1; k < n; ++k) {
    std::fill(next.begin(), next.end(), Seconds{0});
    for (int from = 0; from < n; ++from) {
      const auto a = static_cast<std::size_t>(from);
      const auto b = static_cast<std::size_t>((from + k) % n);
      const Bytes bytes = token * tokens_of(exchange, from, static_cast<int>(b));
      const Seconds end = std::max(now[a], now[b]) + nic.time_per_byte().over(bytes);
      next[a] = std::max(next[a], end);
      next[b] = std::max(next[b], end);
    }
    now.swap(next);
  }
  return *std::max_element(now.begin(), now.end());
}

Exchange way_back(const Exchange& exchange) {
  Exchange out = exchange;
  const auto n = static_cast<std::size_t>(exchange.ranks);
  for (std::size_t from = 0; from < n; ++from)
    for (std::size_t to = 0; to < n; ++to) out.sent[to * n + from] = exchange.sent[from * n + to];
  return out;
}

PairBytes pair_bytes(const Exchange& exchange, Bytes token) {
  const int n = exchange.ranks;
  COX_ASSERT(n >= 2, "a pair needs two ranks");
  PairBytes out{.least = token * tokens_of(exchange, 0, 1)};
  Bytes all{};
  for (int a = 0; a < n; ++a) {
    Bytes sent{};
    Bytes taken{};
    for (int b = 0; b < n; ++b) {
      if (a == b) continue;
      const Bytes bytes = token * tokens_of(exchange, a, b);
      out.least = std::min(out.least, bytes);
      out.most = std::max(out.most, bytes);
      sent = sent + bytes;
      taken = taken + token * tokens_of(exchange, b, a);
    }
    all = all + sent;
    if (sent > out.most_sent) out.sender = a;
    if (taken > out.most_taken) out.taker = a;
    out.most_sent = std::max(out.most_sent, sent);
    out.most_taken = std::max(out.most_taken, taken);
  }
  out.mean = Bytes{all.count() / (std::int64_t{n} * (n - 1))};
  return out;
}

GroupMatrix group_matrix(const Exchange& exchange, Bytes token, int groups) {
  const int n = exchange.ranks;
  COX_ASSERT(n >= 1 && groups >= 1, "there are ranks and groups");
  GroupMatrix out{.ranks_per_group = (n + groups - 1) / groups, .bytes = {}};
  const auto rows = static_cast<std::size_t>((n + out.ranks_per_group - 1) / out.ranks_per_group);
  out.bytes.assign(rows, std::vector<Bytes>(rows));
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to) {
      if (from == to) continue;
      Bytes& cell = out.bytes[static_cast<std::size_t>(from / out.ranks_per_group)]
                             [static_cast<std::size_t>(to / out.ranks_per_group)];
      cell = cell + token * tokens_of(exchange, from, to);
    }
  return out;
}

}  // namespace cox::study
