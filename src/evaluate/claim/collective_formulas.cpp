// SPDX-License-Identifier: Apache-2.0
// Messages, collectives, parameter servers, compression: times by model::closed_form.
#include <algorithm>
#include <cmath>

#include "cox/model/closed_form.hpp"
#include "cox/model/compression.hpp"

#include "evaluate/claim/formula.hpp"

namespace cox::evaluate {
namespace {

using model::Algorithm;
using model::Collective;
using model::CollectiveSpec;
using model::MessageCost;
using study::Dimension;
using study::Quantity;
using Readings = std::vector<ClaimReading>;

constexpr std::string_view kMember = "worker gpu rank node device machine process processes member way n";
constexpr std::string_view kRateWords = "bandwidth link rate at over fabric network";
constexpr std::string_view kPackRate = "encode encodes encoder encoding compressor compresses packs at";
constexpr std::string_view kSizeWords = "gradient buffer message data bytes of";
constexpr std::string_view kLatencyWords = "latency alpha step message per";
constexpr Needed kWorkers{.name = "workers", .domain = Domain::Whole, .words = kMember};
constexpr Needed kBytes{.name = "bytes", .dimension = Dimension::Size, .words = kSizeWords};
constexpr Needed kRate{.name = "rate", .dimension = Dimension::Rate, .words = kRateWords};
constexpr Needed kLatency{.name = "latency",
                          .dimension = Dimension::Time,
                          .domain = Domain::Any,
                          .words = kLatencyWords,
                          .otherwise = 0};
constexpr Needed kMustLatency{.name = "latency", .dimension = Dimension::Time, .words = kLatencyWords};

MessageCost cost_of(const ClaimValues& v) {
  return {.latency = v.time("latency"), .per_byte = v.rate("rate").time_per_byte()};
}

std::optional<Seconds> time_of(const ClaimValues& v, Collective kind, Algorithm algorithm, Bytes bytes,
                               int servers = 1) {
  return model::closed_form(
      {.kind = kind, .algorithm = algorithm, .ranks = v.whole("workers"), .bytes = bytes, .servers = servers},
      cost_of(v));
}

/// Adds the time of an algorithm where it has a formula.
void add_time(Readings& to, const ClaimValues& v, std::string_view says, Algorithm algorithm,
              Collective kind = Collective::AllReduce) {
  if (const auto t = time_of(v, kind, algorithm, v.size("bytes")))
    to.push_back(reading(says, Quantity::of(*t)));
}

Readings ring(const ClaimValues& v) {
  Readings out;
  add_time(out, v, "2 (n - 1) rounds of a part of the buffer", Algorithm::Ring);
  return out;
}

Readings tree(const ClaimValues& v) {
  Readings out;
  add_time(out, v, "up and down a binomial tree, the whole buffer in each round", Algorithm::BinomialTree);
  add_time(out, v, "two binary trees, half of the buffer each", Algorithm::DoubleBinaryTree);
  return out;
}

Readings halving_doubling(const ClaimValues& v) {
  Readings out;
  add_time(out, v, "halving, then doubling", Algorithm::HalvingDoubling);
  return out;
}

Readings recursive_doubling(const ClaimValues& v) {
  Readings out;
  add_time(out, v, "the whole buffer in each round", Algorithm::RecursiveDoubling);
  return out;
}

Readings any_all_reduce(const ClaimValues& v) {
  Readings out;
  add_time(out, v, "by a ring", Algorithm::Ring);
  add_time(out, v, "by halving and doubling", Algorithm::HalvingDoubling);
  add_time(out, v, "by a binomial tree", Algorithm::BinomialTree);
  return out;
}

Readings gather(const ClaimValues& v) {
  Readings out;
  add_time(out, v, "by a ring; the bytes are the gathered (or whole) buffer", Algorithm::Ring,
           Collective::AllGather);
  return out;
}

Readings all_to_all(const ClaimValues& v) {
  Readings out;
  add_time(out, v, "the bytes are what one rank has for all", Algorithm::Direct, Collective::AllToAll);
  const std::int64_t n = v.whole("workers");
  if (v.size("bytes").count() < std::numeric_limits<std::int64_t>::max() / n)
    if (const auto t = time_of(v, Collective::AllToAll, Algorithm::Direct, v.size("bytes") * n))
      out.push_back(reading("the bytes are what one rank has for each", Quantity::of(*t)));
  return out;
}

Readings hierarchical(const ClaimValues& v) {
  const int ranks = v.whole("workers");
  const int group = v.whole("group");
  if (ranks % group != 0) return {};
  const MessageCost inside{.latency = v.time("latency inside"),
                           .per_byte = v.rate("rate inside").time_per_byte()};
  const auto across = [&](double shares) {
    const std::array levels = {
        inside, MessageCost{.latency = v.time("latency between"),
                            .per_byte = (v.rate("rate between") * (1 / shares)).time_per_byte()}};
    return model::closed_form({.kind = Collective::AllReduce,
                               .algorithm = Algorithm::Hierarchical2,
                               .ranks = ranks,
                               .bytes = v.size("bytes"),
                               .group = group},
                              levels);
  };
  Readings out;
  if (const auto t = across(group)) out.push_back(reading("one link for the whole group", Quantity::of(*t)));
  if (const auto t = across(1))
    out.push_back(reading("a link for each member of the group", Quantity::of(*t)));
  return out;
}

Readings all_reduce_bytes(const ClaimValues& v) {
  const double n = v.number("workers");
  const double one = model::busbw_factor(Collective::AllReduce, v.whole("workers")) *
                     static_cast<double>(v.size("bytes").count());
  return {reading("sent by one rank", Quantity(Dimension::Size, one)),
          reading("sent by all ranks together", Quantity(Dimension::Size, n * one))};
}

/// Bytes where a ring and a binomial tree take the same time: bisection of the closed forms, which cross once.
Readings crossover(const ClaimValues& v) {
  const auto ring_is_slower = [&](std::int64_t bytes) {
    const auto a = time_of(v, Collective::AllReduce, Algorithm::Ring, Bytes{bytes});
    const auto b = time_of(v, Collective::AllReduce, Algorithm::BinomialTree, Bytes{bytes});
    return a && b && *a > *b;
  };
  std::int64_t low = 1;
  std::int64_t high = std::int64_t{1} << 50;
  if (!ring_is_slower(low) || ring_is_slower(high)) return {};
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (ring_is_slower(middle) ? low : high) = middle;
  }
  return {reading("a tree is faster below, a ring above", Quantity::of(Bytes{low}))};
}

Readings server_time(const ClaimValues& v) {
  const Seconds in =
      v.number("workers") / v.number("servers") * v.rate("rate").time_per_byte().over(v.size("bytes"));
  return {reading("all workers push: the servers' links take it in", Quantity::of(in)),
          reading("all push, then all pull", Quantity::of(2 * in))};
}

Readings server_bytes(const ClaimValues& v) {
  const double in = v.number("workers") * static_cast<double>(v.size("bytes").count());
  return {reading("pushed and pulled", Quantity(Dimension::Size, 2 * in)),
          reading("pushed", Quantity(Dimension::Size, in))};
}

Readings server_over_ring(const ClaimValues& v) {
  const double n = v.number("workers");
  if (n < 2) return {};
  return {reading("push and pull over a ring", Quantity::ratio(n * n / (v.number("servers") * (n - 1))))};
}

Readings message_time(const ClaimValues& v) {
  return {reading("latency, then the bytes", Quantity::of(cost_of(v)(v.size("bytes"))))};
}

Readings half_performance(const ClaimValues& v) {
  return {reading("half of the time is latency",
                  Quantity(Dimension::Size, v.time("latency").count() * v.rate("rate").in_bytes_per_s()))};
}

Readings packed(const ClaimValues& v, const model::Compression& how, std::string_view says) {
  // Two members: of a sparse all-gather each brings its half.
  const auto c = model::compressed(Collective::AllReduce, v.size("bytes"), 2, how);
  if (!c) return {};
  const std::int64_t brings = c->kind == Collective::AllGather ? 2 : 1;
  return {reading(says, Quantity::of(c->bytes / brings))};
}

Readings quantised(const ClaimValues& v) {
  return packed(
      v, {.kind = model::Compressor::Quantised, .bits = v.number("bits"), .element = v.size("element")},
      "so many bits for each element");
}

Readings sparse(const ClaimValues& v) {
  return packed(v,
                {.kind = model::Compressor::Sparse,
                 .density = v.number("kept"),
                 .element = v.size("element"),
                 .index = v.size("index")},
                "values with their places");
}

Readings quantised_ratio(const ClaimValues& v) {
  return {reading("bits of an element before over after",
                  Quantity::ratio(8 * static_cast<double>(v.size("element").count()) / v.number("bits")))};
}

Readings sparse_ratio(const ClaimValues& v) {
  const double element = static_cast<double>(v.size("element").count());
  const double index = static_cast<double>(v.size("index").count());
  return {reading("bytes before over after, with the places",
                  Quantity::ratio(element / (v.number("kept") * (element + index))))};
}

Readings break_even(const ClaimValues& v) {
  const double ratio = v.number("compression");
  if (ratio <= 1) return {};
  return {reading("on links slower than this, packing takes less time than it saves",
                  Quantity::of(v.rate("encoder") * (1 - 1 / ratio)))};
}

constexpr Needed kServers{
    .name = "servers", .domain = Domain::Whole, .words = "server shard", .otherwise = 1};
constexpr Needed kKept{.name = "kept",
                       .dimension = Dimension::Ratio,
                       .domain = Domain::Share,
                       .words = "top topk keep keeps kept density"};
constexpr Needed kBits{.name = "bits", .words = "bit"};
constexpr Needed kElement{.name = "element",
                          .dimension = Dimension::Size,
                          .words = "element value",
                          .otherwise = 4,
                          .is_ours = true};
constexpr Needed kIndex{.name = "index",
                        .dimension = Dimension::Size,
                        .words = "index indices place",
                        .otherwise = 4,
                        .is_ours = true};
constexpr std::string_view kSentWords = "send sends sent move moves byte bytes traffic volume transfers";

const std::array kFormulas = {
    Formula{.name = "hierarchical all-reduce, time",
            .equation = "reduce-scatter in groups of g, all-reduce across, all-gather in groups",
            .source = "docs/reference/collectives.md",
            .names = {"hierarchical hierarchy"},
            .needs = {kWorkers,
                      Needed{.name = "group", .domain = Domain::Whole, .words = "group per each in"}, kBytes,
                      Needed{.name = "rate inside",
                             .dimension = Dimension::Rate,
                             .words = "inside nvlink in within"},
                      Needed{.name = "rate between",
                             .dimension = Dimension::Rate,
                             .words = "between infiniband ib across uplink outside"},
                      Needed{.name = "latency inside",
                             .dimension = Dimension::Time,
                             .domain = Domain::Any,
                             .words = "inside nvlink within",
                             .otherwise = 0},
                      Needed{.name = "latency between",
                             .dimension = Dimension::Time,
                             .domain = Domain::Any,
                             .words = "between infiniband ib across outside",
                             .otherwise = 0}},
            .compute = hierarchical},
    Formula{.name = "ring and tree, crossover",
            .equation = "bytes where 2 (n - 1)(a + m / (n B)) = 2 log2(n) (a + m / B)",
            .source = "Hockney 1994; docs/reference/collectives.md",
            .names = {"crossover cross crosses breakeven", "ring", "tree"},
            .needs = {kWorkers, kRate, kMustLatency},
            .gives = Dimension::Size,
            .result = "crossover cross crosses at",
            .compute = crossover},
    Formula{.name = "all-reduce, bytes",
            .equation = "2 (n - 1) m / n by each rank",
            .source = "nccl-tests, doc/PERFORMANCE.md",
            .names = {"allreduce ring", kSentWords},
            .needs = {kWorkers, kBytes},
            .gives = Dimension::Size,
            .result = kSentWords,
            .compute = all_reduce_bytes},
    Formula{.name = "ring all-reduce, time",
            .equation = "2 (n - 1)(a + m / (n B))",
            .source = "Patarasuk and Yuan 2009",
            .names = {"ring"},
            .never = "allgather reducescatter alltoall tree",
            .needs = {kWorkers, kBytes, kRate, kLatency},
            .compute = ring},
    Formula{.name = "tree all-reduce, time",
            .equation = "2 ceil(log2 n)(a + m / B)",
            .source = "docs/reference/collectives.md",
            .names = {"tree"},
            .never = "ring",
            .needs = {kWorkers, kBytes, kRate, kLatency},
            .compute = tree},
    Formula{.name = "halving-doubling all-reduce, time",
            .equation = "2 log2(n) a + 2 (n - 1) m / (n B)",
            .source = "Rabenseifner 2004",
            .names = {"halvingdoubling halving rabenseifner"},
            .needs = {kWorkers, kBytes, kRate, kLatency},
            .compute = halving_doubling},
    Formula{.name = "recursive-doubling all-reduce, time",
            .equation = "log2(n)(a + m / B)",
            .source = "docs/reference/collectives.md",
            .names = {"recursive"},
            .never = "halving halvingdoubling",
            .needs = {kWorkers, kBytes, kRate, kLatency},
            .compute = recursive_doubling},
    Formula{.name = "all-gather or reduce-scatter, time",
            .equation = "(n - 1)(a + m / (n B))",
            .source = "docs/reference/collectives.md",
            .names = {"allgather reducescatter"},
            .needs = {kWorkers, kBytes, kRate, kLatency},
            .compute = gather},
    Formula{.name = "all-to-all, time",
            .equation = "(n - 1)(a + m / (n B))",
            .source = "docs/reference/collectives.md",
            .names = {"alltoall"},
            .needs = {kWorkers, kBytes, kRate, kLatency},
            .compute = all_to_all},
    Formula{.name = "all-reduce, time",
            .equation = "by algorithm: a ring takes 2 (n - 1)(a + m / (n B))",
            .source = "docs/reference/collectives.md",
            .names = {"allreduce"},
            .never = "ring tree recursive halving halvingdoubling rabenseifner hierarchical hierarchy",
            .needs = {kWorkers, kBytes, kRate, kLatency},
            .compute = any_all_reduce},
    Formula{.name = "parameter server over ring, times",
            .equation = "n^2 / (s (n - 1))",
            .source = "2 n m / (s B) over 2 (n - 1) m / (n B)",
            .names = {"parameterserver server", "ring", "ratio slower times longer"},
            .needs = {kWorkers, kServers},
            .gives = Dimension::Ratio,
            .result = "slower ratio longer",
            .compute = server_over_ring},
    Formula{.name = "parameter server, time",
            .equation = "n m / (s B), and as much for the pull",
            .source = "definition",
            .names = {"parameterserver server ps shard"},
            .never = "ring",
            .needs = {kWorkers, kBytes, kServers, kRate},
            .compute = server_time},
    Formula{.name = "parameter server, bytes",
            .equation = "2 n m a step",
            .source = "definition",
            .names = {"parameterserver server ps", kSentWords},
            .never = "ring",
            .needs = {kWorkers, kBytes},
            .gives = Dimension::Size,
            .result = kSentWords,
            .compute = server_bytes},
    Formula{.name = "quantised gradient, bytes",
            .equation = "bytes x bits / (8 element)",
            .source = "docs/concepts/compression.md",
            .names = {"quantised quantized quantisation quantization bit compressed compression"},
            .needs = {kBytes, kBits, kElement},
            .gives = Dimension::Size,
            .result = "to into leaves become becomes",
            .compute = quantised},
    Formula{.name = "sparse gradient, bytes",
            .equation = "kept x elements x (element + index)",
            .source = "docs/concepts/compression.md",
            .names = {"top topk sparse sparsified"},
            .needs = {kBytes, kKept, kElement, kIndex},
            .gives = Dimension::Size,
            .result = "to into leaves become becomes",
            .compute = sparse},
    Formula{.name = "quantised gradient, ratio",
            .equation = "8 element / bits",
            .source = "docs/concepts/compression.md",
            .names = {"quantised quantized quantisation quantization bit compressed compression"},
            .needs = {kBits, kElement},
            .gives = Dimension::Ratio,
            .result = "less fewer smaller compression ratio saves saving",
            .compute = quantised_ratio},
    Formula{.name = "sparse gradient, ratio",
            .equation = "element / (kept x (element + index))",
            .source = "docs/concepts/compression.md",
            .names = {"top topk sparse sparsified"},
            .needs = {kKept, kElement, kIndex},
            .gives = Dimension::Ratio,
            .result = "less fewer smaller compression ratio saves saving",
            .compute = sparse_ratio},
    Formula{.name = "compression, break-even rate of the link",
            .equation = "encoder x (1 - 1 / compression)",
            .source = "docs/concepts/compression.md",
            .names = {"breakeven pays pay", "compression compressor compress compressing"},
            .needs = {Needed{.name = "encoder", .dimension = Dimension::Rate, .words = kPackRate},
                      Needed{.name = "compression",
                             .dimension = Dimension::Ratio,
                             .words = "compression compressor compress compressing less ratio"}},
            .gives = Dimension::Rate,
            .result = "below link slower breakeven is",
            .compute = break_even},
    Formula{.name = "message that latency costs half",
            .equation = "a B",
            .source = "Hockney 1994",
            .names = {"latency", "half negligible amortised amortized hidden"},
            .needs = {kMustLatency, kRate},
            .gives = Dimension::Size,
            .result = "above from message",
            .compute = half_performance},
    Formula{
        .name = "message, time",
        .equation = "a + m / B",
        .source = "Hockney 1994",
        .names = {},
        .never =
            "ring tree allreduce alltoall allgather reducescatter hierarchical parameterserver server worker workers rank ranks gpus",
        .needs = {kBytes, kRate, kLatency},
        .compute = message_time},
};

}  // namespace

std::span<const Formula> collective_formulas() {
  return kFormulas;
}

}  // namespace cox::evaluate
