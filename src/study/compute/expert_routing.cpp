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
#include "study/runs/exchange_run.hpp"
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
  values.reserve(all.size());
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
  std::vector<double> dispatch{};  ///< seconds of the busiest NIC
  std::vector<double> rounds{};    ///< seconds of dispatch and combine in rounds of pairs
  std::vector<double> received{};  ///< tokens into each rank, busiest first
  Exchange first{};                ///< replica
};
Exchanged exchange_all(const Layer& l, const RoutingLaw& law, int choices, int threads) {
  const auto n = static_cast<std::size_t>(l.replicas);
  Exchanged out{.busiest = std::vector<double>(n),
                .variation = std::vector<double>(n),
                .dropped = std::vector<double>(n),
                .dispatch = std::vector<double>(n),
                .rounds = std::vector<double>(n),
                .received = std::vector<double>(static_cast<std::size_t>(l.ranks)),
                .first = {}};
  std::vector<std::vector<double>> into(n);
  const RandomStream draws(1, 4);
  parallel_for(n, threads, [&](std::size_t i) {
    Exchange e = exchange_tokens(law.shares, l.tokens, choices, l.ranks, draws, i);
    out.busiest[i] = imbalance(e.loads);
    out.variation[i] = load_variation(e.loads);
    out.dropped[i] = dropped(e.loads, l.capacity);
    out.dispatch[i] = l.over_nic(static_cast<double>(busiest_nic(e))).count();
    out.rounds[i] = (pairwise_time(e, l.token, l.nic) + pairwise_time(way_back(e), l.token, l.nic)).count();
    into[i].resize(static_cast<std::size_t>(l.ranks));
    for (std::size_t k = 0; k < e.sent.size(); ++k)
      into[i][k % static_cast<std::size_t>(l.ranks)] += static_cast<double>(e.sent[k]);
    std::sort(into[i].rbegin(), into[i].rend());
    if (i == 0) out.first = std::move(e);
  });
  for (const std::vector<double>& one : into)
    for (std::size_t r = 0; r < one.size(); ++r) out.received[r] += one[r] / static_cast<double>(n);
  return out;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string text_of(Bytes bytes) {
  return to_string(Quantity::of(bytes));
}

/// What one rank sends to another one, a row for each law and number of experts per token.
class PairTable {
 public:
  void add_row(Computation& out, const Layer& l, const std::string& law, int choices, const Exchange& e) {
    const PairBytes p = pair_bytes(e, l.token);
    const std::string suffix = fmt::format("-{}-top{}", law, choices);
    add(out, "least-per-pair" + suffix, Quantity::of(p.least), kDraws);
    add(out, "mean-per-pair" + suffix, Quantity::of(p.mean), kDraws);
    add(out, "most-per-pair" + suffix, Quantity::of(p.most), kDraws);
    table_.rows.push_back({law, fmt::format("{}", choices), text_of(p.least), text_of(p.mean),
                           text_of(p.most), fmt::format("{} by rank {}", text_of(p.most_sent), p.sender),
                           fmt::format("{} by rank {}", text_of(p.most_taken), p.taker)});
  }
  [[nodiscard]] ValueTable take() { return std::move(table_); }

 private:
  ValueTable table_{
      .title = "Who sends how much to whom",
      .says =
          "Dispatch in the first of the draws, over all pairs of different ranks. Combining sends the "
          "same back: who sent most then takes most.",
      .columns = {"routing", "experts per token", "least per pair", "mean", "most", "most sent",
                  "most taken"},
      .rows = {}};
};

/// The matrix of one dispatch: rank by rank where there are few, groups of neighbours otherwise.
ValueTable matrix_table(const Layer& l, const std::string& which, const Exchange& e) {
  constexpr int kMostRanks = 16;
  constexpr int kGroups = 8;
  const GroupMatrix m = group_matrix(e, l.token, l.ranks <= kMostRanks ? kMostRanks : kGroups);
  const int per = m.ranks_per_group;
  const auto name = [&](std::size_t g) {
    const int first = static_cast<int>(g) * per;
    const int last = std::min(first + per, l.ranks) - 1;
    return first == last ? fmt::format("rank {}", first) : fmt::format("ranks {} to {}", first, last);
  };
  ValueTable table{
      .title = "The matrix of the busiest",
      .says = fmt::format("Dispatch in the first of the draws of {}, {}; what stays on its rank is left out.",
                          which, per == 1 ? "rank by rank" : "added up over neighbouring ranks"),
      .columns = {"from \\ to"},
      .rows = {}};
  for (std::size_t g = 0; g < m.bytes.size(); ++g) {
    table.columns.push_back(name(g));
    table.rows.push_back({name(g)});
    for (const Bytes b : m.bytes[g]) table.rows.back().push_back(text_of(b));
  }
  return table;
}

/// Dispatch and combine under each law and for each number of experts per token.
Picture add_exchanges(Computation& out, const Layer& l, const std::vector<RoutingLaw>& laws,
                      const std::vector<int>& choices, int threads) {
  ValueTable table{.title = "Dispatch and combine",
                   .says = {},
                   .columns = {"routing", "experts per token", "busiest over mean", "load CV", "dropped",
                               "busiest NIC", "times balanced", "in rounds of pairs", "over the busiest NIC"},
                   .rows = {}};
  PairTable pairs;
  Exchange busiest;
  Picture picture{
      .title = fmt::format("What each of {} ranks takes, {} per token", l.ranks,
                           choices.front() == 1 ? "1 expert" : fmt::format("{} experts", choices.front())),
      .x_label = "rank, busiest first",
      .y_label = "MB",
      .y_is_log = true};
  double worst = 0;
  double most_longer = 0;
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
      const Seconds rounds{mean_of(e.rounds)};
      const double longer = rounds / (2 * dispatch);
      add_mean(out, "rounds-of-pairs" + suffix, Dimension::Time, e.rounds);
      add(out, "rounds-over-busiest-nic" + suffix, Quantity::ratio(longer), kDraws);
      pairs.add_row(out, l, law.name, k, e.first);
      most_longer = std::max(most_longer, longer);
      if (busiest.ranks == 0 || times > worst) {
        worst = times;
        busiest = e.first;
        worst_name = fmt::format("{}, {} per token", law.name, k);
      }
      table.rows.push_back({law.name, fmt::format("{}", k), fmt::format("{:.2f}x", mean_of(e.busiest)),
                            fmt::format("{:.2f}", mean_of(e.variation)), percent(mean_of(e.dropped)),
                            cell_of(2 * dispatch), fmt::format("{:.2f}x", times), cell_of(rounds),
                            fmt::format("{:.2f}x", longer)});
      if (k != choices.front()) continue;
      Series s{.name = law.name, .x = {}, .y = {}, .of = {}};
      for (std::size_t r = 0; r < e.received.size(); ++r) {
        s.x.push_back(static_cast<double>(r + 1));
        s.y.push_back(e.received[r] * static_cast<double>(l.token.count()) / 1e6);
      }
      picture.series.push_back(std::move(s));
    }
  table.says = fmt::format(
      "{} tokens of {} on {} ranks with {} experts, a NIC of {} each; dropped at {} of the mean load. No exchange is shorter "
      "than its busiest NIC takes: up to {:.3g} times a balanced one ({}). In rounds of pairs, where in round k each rank "
      "sends to the k-th behind it, it takes up to {:.3g} times that. Combining sends the same back.",
      l.tokens, to_string(Quantity::of(l.token)), l.ranks, l.experts, to_string(Quantity::of(l.nic)),
      percent(l.capacity), worst, worst_name, most_longer);
  out.tables.push_back(std::move(table));
  out.tables.push_back(pairs.take());
  out.tables.push_back(matrix_table(l, worst_name, busiest));
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
  out.checks.push_back({.name = "rounds of pairs of equal messages against the engine's all-to-all",
                        .engine = Quantity::of(pairwise_time(even, l.token, l.nic)),
                        .oracle = Quantity::of(engine)});
  out.checks.push_back({.name = "all-to-all of equal messages against its busiest NIC",
                        .engine = Quantity::of(engine),
                        .oracle = Quantity::of(l.over_nic(static_cast<double>(busiest_nic(even))))});
  return {};
}

/// What is asked: a skewed layer beside a balanced one, a table of drops, and a step of a layer on ranks.
struct Asked {
  int experts = 0;
  int per_expert = 0;
  Bytes token{};
  Bandwidth bandwidth{};
  int scale = 0;
  int draws = 0;
  std::vector<int> batches{};              ///< of the drop table
  std::vector<WrittenQuantity> factors{};  ///< of capacity
  double bias = 0;
  Layer layer{};
  std::vector<int> choices{};

  [[nodiscard]] std::vector<double> plain_factors() const {
    std::vector<double> plain;
    plain.reserve(factors.size());
    for (const WrittenQuantity& f : factors) plain.push_back(f.value.in_base_unit());
    return plain;
  }
};
Result<Asked> asked_in(const Inputs& in) {
  Asked a;
  COX_TRY(a.experts, in.count("experts", {.least = 1, .most = 10'000}));
  COX_TRY(a.per_expert, in.count("tokens per expert", {.least = 1, .most = 10'000}));
  COX_TRY(a.token, in.size("bytes per token"));
  COX_TRY(a.bandwidth, in.rate("bandwidth"));
  COX_TRY(a.scale, in.count("scale of the skewed loads"));
  COX_TRY(a.draws, in.count("draws", {.least = 2, .most = 100'000}));
  COX_TRY(a.layer.experts, in.count("experts of the drop table", {.least = 1, .most = 10'000}));
  COX_TRY(a.batches, in.counts("tokens of the drop table", {.least = 1, .most = 1'000'000}));
  COX_TRY(a.factors, in.list("capacity factors", Dimension::Ratio));
  COX_TRY(a.layer.replicas, in.count("replicas", {.least = 2, .most = 1000}));
  COX_TRY(a.bias, in.ratio("bias of an expert", RatioBetween{}));
  COX_TRY(const int hidden, in.count("hidden"));
  COX_TRY(const Bytes element, in.size("bytes per element"));
  a.layer.token = element * hidden;
  COX_TRY(a.layer.ranks, in.count("ranks", {.least = 2, .most = 1024}));
  COX_TRY(a.layer.tokens, in.count("tokens of a step", {.least = 1, .most = 1'000'000}));
  COX_TRY(a.choices, in.counts("experts per token", {.least = 1, .most = a.layer.experts}));
  COX_TRY(a.layer.nic, in.rate("bandwidth of a rank"));
  const int replicas = a.layer.replicas;
  COX_CHECK(in.check_draws(
      static_cast<double>(a.experts) * (static_cast<double>(a.per_expert) * replicas + a.draws),
      "experts, tokens, replicas and draws"));
  COX_CHECK(in.check_draws(3.0 * static_cast<double>(a.layer.tokens) * replicas *
                               std::accumulate(a.choices.begin(), a.choices.end(), 0.0),
                           "tokens of a step, experts per token and replicas"));
  a.layer.capacity = a.factors.back().value.in_base_unit();
  return a;
}

/// Loads as the source draws them, against equal ones.
void add_skewed(Computation& out, const Asked& a) {
  const double per_token = static_cast<double>(a.token.count()) / a.bandwidth.in_bytes_per_s();
  const double balanced = static_cast<double>(a.experts) * a.per_expert * per_token;
  add(out, "balanced", Quantity(Dimension::Time, balanced), kClosedForm);
  const RandomStream stream(1, 0);
  std::vector<double> skewed_time;
  std::vector<double> slowdown;
  std::vector<double> fair;
  for (int i = 0; i < a.draws; ++i) {
    const Skewed s = draw_skewed(a.experts, a.scale, stream, static_cast<std::uint64_t>(i));
    skewed_time.push_back(s.most * a.experts * per_token);
    slowdown.push_back(skewed_time.back() / balanced);
    fair.push_back(s.most / s.mean);
  }
  add_median(out, "skewed-median", Dimension::Time, skewed_time);
  add_median(out, "slowdown-median", Dimension::Ratio, slowdown);
  add_median(out, "slowdown-at-equal-totals-median", Dimension::Ratio, fair);
}

/// The source's all-to-all, balanced and skewed.
Picture source_picture(const Computation& out) {
  Series times{.name = "computed", .x = {}, .y = {}, .of = {"balanced", "skewed-median"}};
  for (const std::string& name : times.of)
    for (const Computed& c : out.values)
      if (c.name == name) times.y.push_back(c.value.in_base_unit() * 1e3);
  return {.kind = Picture::Kind::Bars,
          .title = "The source's all-to-all; skewed: median of the draws",
          .x_label = "",
          .y_label = "ms",
          .y_is_log = true,
          .series = {std::move(times)},
          .categories = {"balanced", "skewed"}};
}

/// Tokens beyond the capacity of their expert, by batch; bars are of the first factor.
Picture add_drops(Computation& out, const Asked& a, int threads) {
  const std::vector<double> plain = a.plain_factors();
  const std::int64_t tokens = std::int64_t{a.experts} * a.per_expert;
  const int few = a.layer.experts;
  const int replicas = a.layer.replicas;
  Series uniform{.name = fmt::format("capacity factor {}", a.factors.front().text), .x = {}, .y = {}};
  std::vector<std::string> names;
  const auto add_bar = [&](std::string name) {
    uniform.y.push_back(100 * out.values[out.values.size() - a.factors.size()].value.in_base_unit());
    names.push_back(std::move(name));
  };
  add_routing(out, "uniform", route_all(uniform_shares(a.experts), tokens, plain, replicas, 1, threads),
              a.factors);
  for (const int n : a.batches) {
    add_routing(out, fmt::format("e{}-t{}", few, n),
                route_all(uniform_shares(few), n, plain, replicas, 2, threads), a.factors);
    add_bar(fmt::format("{} tokens", n));
  }
  add_routing(out, fmt::format("e{}-zipf", few),
              route_all(zipf_shares(few, 1), a.batches.back(), plain, replicas, 3, threads), a.factors);
  add_bar("Zipf");
  return {.kind = Picture::Kind::Bars,
          .title = fmt::format("Tokens dropped by {} experts", few),
          .x_label = "",
          .y_label = "%",
          .series = {std::move(uniform)},
          .categories = std::move(names)};
}

}  // namespace

Result<Computation> compute_expert_routing(const Inputs& in, const ComputeOptions& options) {
  COX_TRY(const Asked a, asked_in(in));
  Computation out;
  add_skewed(out, a);
  out.picture = add_drops(out, a, options.threads);
  const int few = a.layer.experts;
  const std::vector<RoutingLaw> laws = {{.name = "uniform", .shares = uniform_shares(few)},
                                        {.name = "Zipf", .shares = zipf_shares(few, 1)},
                                        {.name = "Pareto", .shares = skewed_shares(few, RandomStream(1, 5))}};
  COX_CHECK(check_balanced(out, a.layer));
  out.picture.below.push_back(add_exchanges(out, a.layer, laws, a.choices, options.threads));
  out.picture.below.push_back(source_picture(out));
  // An expert with so much more than its equal share, over the mean.
  add(out, "favoured-over-mean", Quantity::ratio(1 + a.bias * a.experts), kClosedForm);
  add(out, "experts-for-twice", Quantity::count(1 / a.bias), kClosedForm);
  add(out, "experts-for-three-times", Quantity::count(2 / a.bias), kClosedForm);
  out.notes = {
      "Routing of the drop table is top-1. Loads of the skewed case are drawn as the source's code does; the largest of 1000 such "
      "draws has no variance, so its median is given.",
      "The source compares about 50 000 skewed tokens with 256 000 balanced ones; at equal totals the "
      "slowdown is the busiest over the mean.",
      "Dispatch and combine: none of the tokens is dropped before it is sent. Rounds of pairs: a message begins when both its "
      "ends have done their last round, both ways at the full bandwidth, without latency; no rank waits for all others. Pareto: one draw of the source's skewed loads gives the shares."};
  return out;
}

}  // namespace cox::study
