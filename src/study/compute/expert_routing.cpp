// SPDX-License-Identifier: Apache-2.0
// Tokens to experts: C.12.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "cox/base/parallel.hpp"
#include "cox/base/random.hpp"

#include "study/compute/collective_run.hpp"
#include "study/compute/computations.hpp"
#include "study/compute/replicas.hpp"
#include "study/compute/routing.hpp"

namespace cox::study {
namespace {

/// Loads per expert as the source draws them: scale (u^(-1/2) - 1), a Lomax law of shape 2.
struct Skewed {
  double most = 0;
  double mean = 0;
};
Skewed draw_skewed(int experts, double scale, const RandomStream& stream, std::uint64_t step) {
  std::vector<double> u(static_cast<std::size_t>(experts));
  stream.uniforms(step, 0, u);
  Skewed out;
  for (const double x : u) {
    const double load = scale * (1 / std::sqrt(x) - 1);
    out.most = std::max(out.most, load);
    out.mean += load / experts;
  }
  return out;
}

struct Routed {
  double imbalance = 0;
  std::vector<double> dropped;
};

/// Replicas of one routing law.
std::vector<Routed> route_all(const std::vector<double>& shares, std::int64_t tokens,
                              const std::vector<double>& factors, int replicas, std::uint32_t stream,
                              int threads) {
  const RandomStream draws(1, stream);
  std::vector<Routed> out(static_cast<std::size_t>(replicas));
  parallel_for(out.size(), threads, [&](std::size_t i) {
    const std::vector<std::int64_t> loads = route_tokens(shares, tokens, draws, i);
    out[i].imbalance = imbalance(loads);
    for (const double f : factors) out[i].dropped.push_back(dropped(loads, f));
  });
  return out;
}

void add_routing(Computation& out, const std::string& name, const std::vector<Routed>& all,
                 const std::vector<WrittenQuantity>& factors) {
  std::vector<double> values;
  for (const Routed& r : all) values.push_back(r.imbalance);
  add_mean(out, fmt::format("busiest-over-mean-{}", name), Dimension::Ratio, values);
  for (std::size_t f = 0; f < factors.size(); ++f) {
    values.clear();
    for (const Routed& r : all) values.push_back(r.dropped[f]);
    add_mean(out, fmt::format("dropped-{}-capacity-{}", name, factors[f].text), Dimension::Ratio, values);
  }
}

}  // namespace

Result<Computation> compute_expert_routing(const Inputs& in, const ComputeOptions& options) {
  COX_TRY(const int experts, in.count("experts", {.least = 1, .most = 10'000}));
  COX_TRY(const int per_expert, in.count("tokens per expert", {.least = 1, .most = 10'000}));
  COX_TRY(const Bytes token, in.size("bytes per token"));
  COX_TRY(const Bandwidth bandwidth, in.rate("bandwidth"));
  COX_TRY(const int scale, in.count("scale of the skewed loads"));
  COX_TRY(const int draws, in.count("draws", {.least = 2, .most = 100'000}));
  COX_TRY(const int few, in.count("experts of the drop table", {.least = 1, .most = 10'000}));
  COX_TRY(const auto batches, in.counts("tokens of the drop table", {.least = 1, .most = 1'000'000}));
  COX_TRY(const auto factors, in.list("capacity factors", Dimension::Ratio));
  COX_TRY(const int replicas, in.count("replicas", {.least = 2, .most = 1000}));
  COX_CHECK(
      in.check_draws(static_cast<double>(experts) * (static_cast<double>(per_expert) * replicas + draws),
                     "experts, tokens, replicas and draws"));
  Computation out;
  const double per_token = static_cast<double>(token.count()) / bandwidth.in_bytes_per_s();
  const double balanced = static_cast<double>(experts) * per_expert * per_token;
  add(out, "balanced", Quantity(Dimension::Time, balanced), kClosedForm);
  const RandomStream stream(1, 0);
  std::vector<double> skewed_time;
  std::vector<double> slowdown;
  std::vector<double> fair;
  for (int i = 0; i < draws; ++i) {
    const Skewed s = draw_skewed(experts, scale, stream, static_cast<std::uint64_t>(i));
    skewed_time.push_back(s.most * experts * per_token);
    slowdown.push_back(skewed_time.back() / balanced);
    fair.push_back(s.most / s.mean);
  }
  add_median(out, "skewed-median", Dimension::Time, skewed_time);
  add_median(out, "slowdown-median", Dimension::Ratio, slowdown);
  add_median(out, "slowdown-at-equal-totals-median", Dimension::Ratio, fair);
  std::vector<double> plain;
  for (const WrittenQuantity& f : factors) plain.push_back(f.value.in_base_unit());
  const std::int64_t tokens = std::int64_t{experts} * per_expert;
  add_routing(out, "uniform", route_all(uniform_shares(experts), tokens, plain, replicas, 1, options.threads),
              factors);
  Series uniform{.name = "uniform", .x = {}, .y = {}};
  std::vector<std::string> names;
  for (const int n : batches) {
    const std::string name = fmt::format("e{}-t{}", few, n);
    add_routing(out, name, route_all(uniform_shares(few), n, plain, replicas, 2, options.threads), factors);
    uniform.y.push_back(100 * out.values[out.values.size() - factors.size()].value.in_base_unit());
    names.push_back(fmt::format("{} tokens", n));
  }
  add_routing(out, fmt::format("e{}-zipf", few),
              route_all(zipf_shares(few, 1), batches.back(), plain, replicas, 3, options.threads), factors);
  uniform.y.push_back(100 * out.values[out.values.size() - factors.size()].value.in_base_unit());
  names.emplace_back("Zipf");
  uniform.name = fmt::format("capacity factor {}", factors.front().text);
  out.notes = {
      "Top-1 routing. Loads of the skewed case are drawn as the source's code does; the largest of 1000 such "
      "draws has no variance, so its median is given.",
      "The source compares about 50 000 skewed tokens with 256 000 balanced ones; at equal totals the "
      "slowdown is the busiest over the mean."};
  out.picture = {.kind = Picture::Kind::Bars,
                 .title = fmt::format("Tokens dropped by {} experts", few),
                 .x_label = "",
                 .y_label = "%",
                 .series = {std::move(uniform)},
                 .categories = std::move(names)};
  return out;
}

}  // namespace cox::study
