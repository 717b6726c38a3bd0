// SPDX-License-Identifier: Apache-2.0
// Tokens to experts: C.12.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/random.hpp"
#include "cox/study/replicas.hpp"

#include "study/compute/computations.hpp"
#include "study/runs/collective_run.hpp"
#include "study/runs/routing.hpp"

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

/// Tokens on ranks that have experts, and what a token and a NIC are.
struct Layer {
  int experts = 0;
  int ranks = 0;
  std::int64_t tokens = 0;
  Bytes token{};
  Bandwidth nic{};
  double capacity = 1;
  int replicas = 2;

  [[nodiscard]] Seconds over_nic(double tokens_sent) const {
    return Seconds{tokens_sent * static_cast<double>(token.count()) / nic.in_bytes_per_s()};
  }
};

/// How tokens choose.
struct RoutingLaw {
  std::string name;
  std::vector<double> shares;
};

/// Means over replicas.
struct Exchanged {
  std::vector<double> busiest{};    ///< expert, over the mean
  std::vector<double> variation{};  ///< of loads
  std::vector<double> dropped{};
  std::vector<double> dispatch{};  ///< seconds
  std::vector<double> received{};  ///< tokens into each rank, busiest first
};
Exchanged exchange_all(const Layer& l, const RoutingLaw& law, int choices, int threads) {
  const auto n = static_cast<std::size_t>(l.replicas);
  Exchanged out{.busiest = std::vector<double>(n),
                .variation = std::vector<double>(n),
                .dropped = std::vector<double>(n),
                .dispatch = std::vector<double>(n),
                .received = std::vector<double>(static_cast<std::size_t>(l.ranks))};
  std::vector<std::vector<double>> into(n);
  const RandomStream draws(1, 4);
  parallel_for(n, threads, [&](std::size_t i) {
    const Exchange e = exchange_tokens(law.shares, l.tokens, choices, l.ranks, draws, i);
    out.busiest[i] = imbalance(e.loads);
    out.variation[i] = load_variation(e.loads);
    out.dropped[i] = dropped(e.loads, l.capacity);
    out.dispatch[i] = l.over_nic(static_cast<double>(busiest_nic(e))).count();
    into[i].resize(static_cast<std::size_t>(l.ranks));
    for (std::size_t k = 0; k < e.sent.size(); ++k)
      into[i][k % static_cast<std::size_t>(l.ranks)] += static_cast<double>(e.sent[k]);
    std::sort(into[i].rbegin(), into[i].rend());
  });
  for (const std::vector<double>& one : into)
    for (std::size_t r = 0; r < one.size(); ++r) out.received[r] += one[r] / static_cast<double>(n);
  return out;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Dispatch and combine under each law and for each number of experts per token.
Picture add_exchanges(Computation& out, const Layer& l, const std::vector<RoutingLaw>& laws,
                      const std::vector<int>& choices, int threads) {
  ValueTable table{.title = "Dispatch and combine",
                   .says = {},
                   .columns = {"routing", "experts per token", "busiest over mean", "load CV", "dropped",
                               "dispatch and combine", "times balanced"},
                   .rows = {}};
  Picture picture{
      .title = fmt::format("What each of {} ranks takes, {} per token", l.ranks,
                           choices.front() == 1 ? "1 expert" : fmt::format("{} experts", choices.front())),
      .x_label = "rank, busiest first",
      .y_label = "MB",
      .y_is_log = true};
  double worst = 0;
  std::string worst_name;
  for (const RoutingLaw& law : laws)
    for (const int k : choices) {
      const Exchanged e = exchange_all(l, law, k, threads);
      const std::string suffix = fmt::format("-{}-top{}", law.name, k);
      add_mean(out, "busiest" + suffix, Dimension::Ratio, e.busiest);
      add_mean(out, "load-variation" + suffix, Dimension::Ratio, e.variation);
      add_mean(out, "dropped" + suffix, Dimension::Ratio, e.dropped);
      add_mean(out, "dispatch" + suffix, Dimension::Time, e.dispatch);
      // Every rank sends the same to each, and keeps what is its own.
      const double share = static_cast<double>(l.tokens) * k / l.ranks;
      const Seconds even = l.over_nic(share * (l.ranks - 1) / l.ranks);
      const Seconds dispatch{mean_of(e.dispatch)};
      const double times = l.ranks > 1 ? dispatch / even : 1;
      add(out, "exchange-over-balanced" + suffix, Quantity::ratio(times), kDraws);
      if (times > worst) {
        worst = times;
        worst_name = fmt::format("{}, {} per token", law.name, k);
      }
      table.rows.push_back({law.name, fmt::format("{}", k), fmt::format("{:.2f}x", mean_of(e.busiest)),
                            fmt::format("{:.2f}", mean_of(e.variation)), percent(mean_of(e.dropped)),
                            cell_of(2 * dispatch), fmt::format("{:.2f}x", times)});
      if (k != choices.front()) continue;
      Series s{.name = law.name, .x = {}, .y = {}, .of = {}};
      for (std::size_t r = 0; r < e.received.size(); ++r) {
        s.x.push_back(static_cast<double>(r + 1));
        s.y.push_back(e.received[r] * static_cast<double>(l.token.count()) / 1e6);
      }
      picture.series.push_back(std::move(s));
    }
  table.says = fmt::format(
      "{} tokens of {} on {} ranks with {} experts, a NIC of {} each; dropped at {} of the mean load. An exchange is as long "
      "as its busiest NIC: up to {:.3g} times a balanced one ({}). Combining sends the same back.",
      l.tokens, to_string(Quantity::of(l.token)), l.ranks, l.experts, to_string(Quantity::of(l.nic)),
      percent(l.capacity), worst, worst_name);
  out.tables.push_back(std::move(table));
  return picture;
}

/// Shares of one draw of the source's skewed loads.
std::vector<double> skewed_shares(int experts, const RandomStream& stream) {
  std::vector<double> shares(static_cast<std::size_t>(experts));
  stream.uniforms(0, 0, shares);
  for (double& x : shares) x = 1 / std::sqrt(x) - 1;
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& s : shares) s /= total;
  return shares;
}

/// What a balanced exchange takes, against the engine's all-to-all of equal messages.
Status check_balanced(Computation& out, Layer l) {
  const std::int64_t each = std::max<std::int64_t>(1, l.tokens / (std::int64_t{l.ranks} * l.ranks));
  const Bytes buffer = l.token * (each * l.ranks);
  COX_TRY(const Seconds engine, idle_time({.kind = model::Collective::AllToAll,
                                           .algorithm = model::Algorithm::Direct,
                                           .ranks = l.ranks,
                                           .bytes = buffer},
                                          uniform_links(Seconds{0}, l.nic)));
  Exchange even{.ranks = l.ranks,
                .sent = std::vector<std::int64_t>(
                    static_cast<std::size_t>(l.ranks) * static_cast<std::size_t>(l.ranks), each),
                .loads = {}};
  out.checks.push_back({.name = "all-to-all of equal messages against its busiest NIC",
                        .engine = Quantity::of(engine),
                        .oracle = Quantity::of(l.over_nic(static_cast<double>(busiest_nic(even))))});
  return {};
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
  COX_TRY(const double bias, in.ratio("bias of an expert", RatioBetween{}));
  COX_TRY(const int hidden, in.count("hidden"));
  COX_TRY(const Bytes element, in.size("bytes per element"));
  COX_TRY(const int ranks, in.count("ranks", {.least = 2, .most = 1024}));
  COX_TRY(const int step_tokens, in.count("tokens of a step", {.least = 1, .most = 1'000'000}));
  COX_TRY(const auto choices, in.counts("experts per token", {.least = 1, .most = few}));
  COX_TRY(const Bandwidth nic, in.rate("bandwidth of a rank"));
  COX_CHECK(
      in.check_draws(static_cast<double>(experts) * (static_cast<double>(per_expert) * replicas + draws),
                     "experts, tokens, replicas and draws"));
  COX_CHECK(
      in.check_draws(3.0 * step_tokens * replicas * std::accumulate(choices.begin(), choices.end(), 0.0),
                     "tokens of a step, experts per token and replicas"));
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
  const Layer layer{.experts = few,
                    .ranks = ranks,
                    .tokens = step_tokens,
                    .token = element * hidden,
                    .nic = nic,
                    .capacity = plain.back(),
                    .replicas = replicas};
  const std::vector<RoutingLaw> laws = {{.name = "uniform", .shares = uniform_shares(few)},
                                        {.name = "Zipf", .shares = zipf_shares(few, 1)},
                                        {.name = "Pareto", .shares = skewed_shares(few, RandomStream(1, 5))}};
  COX_CHECK(check_balanced(out, layer));
  Picture received = add_exchanges(out, layer, laws, choices, options.threads);
  // An expert with so much more than its equal share, over the mean.
  add(out, "favoured-over-mean", Quantity::ratio(1 + bias * experts), kClosedForm);
  add(out, "experts-for-twice", Quantity::count(1 / bias), kClosedForm);
  add(out, "experts-for-three-times", Quantity::count(2 / bias), kClosedForm);
  out.notes = {
      "Routing of the drop table is top-1. Loads of the skewed case are drawn as the source's code does; the largest of 1000 such "
      "draws has no variance, so its median is given.",
      "The source compares about 50 000 skewed tokens with 256 000 balanced ones; at equal totals the "
      "slowdown is the busiest over the mean.",
      "Dispatch and combine: no exchange is shorter than its busiest NIC takes; none of the tokens is dropped before it is "
      "sent. Pareto: one draw of the source's skewed loads gives the shares."};
  out.picture = {.kind = Picture::Kind::Bars,
                 .title = fmt::format("Tokens dropped by {} experts", few),
                 .x_label = "",
                 .y_label = "%",
                 .series = {std::move(uniform)},
                 .categories = std::move(names),
                 .below = {std::move(received)}};
  return out;
}

}  // namespace cox::study
