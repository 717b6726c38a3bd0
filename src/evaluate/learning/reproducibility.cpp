// SPDX-License-Identifier: Apache-2.0
// Whether two runs are the same to the bit, where they first differ, and why: C.19.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/hash.hpp"
#include "cox/base/random.hpp"

#include "evaluate/learning/computations.hpp"
#include "evaluate/learning/race.hpp"

namespace cox::evaluate {
namespace {

using study::Dimension;
using study::Quantity;
using Vector = std::vector<float>;

constexpr std::uint32_t kGradients = 0x6c1901;
constexpr std::uint32_t kArrivals = 0x6c1902;

/// In which order ranks' gradients are added.
enum class Order : std::uint8_t {
  Ranks,     ///< one after the other
  Ring,      ///< one after the other, each part of the vector beginning with another rank
  Tree,      ///< pairs, pairs of pairs
  Arrivals,  ///< as they come: drawn anew for each step
};
constexpr std::pair<Order, const char*> kOrders[] = {
    {Order::Ranks, "ranks"}, {Order::Ring, "ring"}, {Order::Tree, "tree"}, {Order::Arrivals, "arrivals"}};

/// A permutation that is drawn for a step.
std::vector<std::size_t> arrivals(std::size_t ranks, std::uint64_t seed, std::uint64_t step) {
  const RandomStream stream(seed, kArrivals);
  std::vector<std::size_t> order(ranks);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t r) { return stream.uniform(step, r); });
  return order;
}

Vector in_order(const std::vector<Vector>& parts, const std::vector<std::size_t>& order) {
  Vector sum = parts[order.front()];
  for (std::size_t k = 1; k < order.size(); ++k)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += parts[order[k]][i];
  return sum;
}

Vector as_ring(const std::vector<Vector>& parts) {
  const std::size_t n = parts.size(), size = parts.front().size();
  Vector sum(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t first = i * n / size;  // the chunk's number
    sum[i] = parts[first][i];
    for (std::size_t k = 1; k < n; ++k) sum[i] += parts[(first + k) % n][i];
  }
  return sum;
}

Vector as_tree(std::vector<Vector> parts) {
  for (std::size_t width = parts.size(); width > 1; width = (width + 1) / 2) {
    for (std::size_t k = 0; k < width / 2; ++k)
      for (std::size_t i = 0; i < parts[0].size(); ++i) parts[k][i] = parts[2 * k][i] + parts[2 * k + 1][i];
    if (width % 2 == 1) parts[width / 2] = parts[width - 1];
  }
  return parts.front();
}

Vector summed(const std::vector<Vector>& parts, Order order, std::uint64_t seed, std::uint64_t step) {
  if (order == Order::Ring) return as_ring(parts);
  if (order == Order::Tree) return as_tree(parts);
  if (order == Order::Arrivals) return in_order(parts, arrivals(parts.size(), seed, step));
  std::vector<std::size_t> ranks(parts.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  return in_order(parts, ranks);
}

std::uint64_t hash_of(std::span<const float> values) {
  Fnv1a hash;
  for (const float v : values) hash.add_number(std::bit_cast<std::uint32_t>(v), 4);
  return hash.value();
}

double share_that_differs(const Vector& a, const Vector& b) {
  std::size_t differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    differ += std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]) ? 1 : 0;
  return static_cast<double>(differ) / static_cast<double>(a.size());
}

double largest_gap(const Vector& a, const Vector& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (x != y) most = std::max(most, std::abs(x - y) / std::max(std::abs(x), std::abs(y)));
  }
  return most;
}

/// What makes a run another one.
enum class Fault : std::uint8_t {
  None,
  Start,       ///< the first parameters are drawn with another seed
  Samples,     ///< one rank's loader is a step ahead from some step on
  Arithmetic,  ///< one rank drops the lower half of its gradient's digits from some step on
  Sum,         ///< gradients are added from the last rank on from some step on
};
constexpr std::pair<Fault, const char*> kFaults[] = {{Fault::Start, "start"},
                                                     {Fault::Samples, "samples"},
                                                     {Fault::Arithmetic, "arithmetic"},
                                                     {Fault::Sum, "sum"}};

struct Setting {
  learn::ProblemSpec problem{.kind = learn::ProblemKind::Mlp, .held_out = 200};
  int ranks = 2;
  int batch = 1;
  int steps = 1;
  double rate = 0.1;
};

/// What a run writes down: hashes by step, and by step and rank.
struct Record {
  std::vector<std::uint64_t> parameters;  ///< before each step, and behind the last
  std::vector<std::uint64_t> samples;     ///< by step and rank: which ones were taken
  std::vector<std::uint64_t> gradients;   ///< by step and rank
  std::vector<std::uint64_t> sums;
  std::vector<Vector> states;  ///< as `parameters`
  double loss = 0;
};

struct Injected {
  Fault fault = Fault::None;
  int rank = 0;
  int step = 0;
};

Record run(const Setting& s, Order order, std::uint64_t seed, std::uint64_t arrival_seed,
           const Injected& injected = {}) {
  learn::ProblemSpec spec = s.problem;
  spec.seed = static_cast<std::int64_t>(seed);
  const auto problem = learn::make_problem(spec);
  COX_ASSERT(problem.has_value(), "a study's problem is in range");
  const auto size = static_cast<std::size_t>((*problem)->parameters());
  Vector x(size);
  (*problem)->initial(x);
  if (injected.fault == Fault::Start) {
    spec.seed += 1;
    const auto other = learn::make_problem(spec);
    (*other)->initial(x);
  }
  Record out;
  const auto keep = [&] {
    out.parameters.push_back(hash_of(x));
    out.states.push_back(x);
  };
  keep();
  std::vector<Vector> parts(static_cast<std::size_t>(s.ranks), Vector(size));
  for (int step = 0; step < s.steps; ++step) {
    const bool begun = step >= injected.step;
    for (int rank = 0; rank < s.ranks; ++rank) {
      const bool here = begun && rank == injected.rank;
      const std::int64_t taken = step + (here && injected.fault == Fault::Samples ? 1 : 0);
      const learn::Shard shard = learn::StepShare{.samples = s.batch}.shard(s.ranks, rank, taken, 0);
      Vector& g = parts[static_cast<std::size_t>(rank)];
      (*problem)->gradient(x, shard, g);
      if (here && injected.fault == Fault::Arithmetic)
        for (float& v : g) v = std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) & 0xffff0000U);
      Fnv1a drawn;
      drawn.add_number(static_cast<std::uint64_t>(shard.first));
      out.samples.push_back(drawn.value());
      out.gradients.push_back(hash_of(g));
    }
    if (begun && injected.fault == Fault::Sum) std::ranges::reverse(parts);
    const Vector sum = summed(parts, order, arrival_seed, static_cast<std::uint64_t>(step));
    out.sums.push_back(hash_of(sum));
    const auto factor = static_cast<float>(s.rate / s.ranks);
    for (std::size_t i = 0; i < size; ++i) x[i] -= factor * sum[i];
    keep();
  }
  out.loss = (*problem)->score(x).loss;
  return out;
}

/// The first difference of two records, and what it is of: what a step begins with is compared before what it makes of it.
struct Difference {
  Fault cause = Fault::None;
  int step = -1;
  int rank = -1;  ///< -1: of all
};

Difference first_difference(const Record& a, const Record& b) {
  if (a.parameters.front() != b.parameters.front()) return {.cause = Fault::Start, .step = 0};
  const std::size_t ranks = a.gradients.size() / a.sums.size();
  for (std::size_t step = 0; step < a.sums.size(); ++step) {
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::size_t at = step * ranks + r;
      const Fault cause = a.samples[at] != b.samples[at]       ? Fault::Samples
                          : a.gradients[at] != b.gradients[at] ? Fault::Arithmetic
                                                               : Fault::None;
      if (cause != Fault::None)
        return {.cause = cause, .step = static_cast<int>(step), .rank = static_cast<int>(r)};
    }
    if (a.sums[step] != b.sums[step]) return {.cause = Fault::Sum, .step = static_cast<int>(step)};
  }
  return {};
}

std::string word_of(Fault f) {
  const auto at = std::ranges::find_if(kFaults, [&](const auto& one) { return one.first == f; });
  return at == std::end(kFaults) ? "none" : at->second;
}

/// Sums of drawn gradients in each order against the order of ranks.
void add_sums(study::Computation& out, int ranks, int elements, int seeds) {
  study::ValueTable table{
      .title = "One sum in other orders",
      .says = fmt::format(
          "{} normal gradients of {} elements in FP32, against the order of ranks; over {} draws the mean share, and the "
          "largest gap of all.",
          ranks, elements, seeds),
      .columns = {"order", "elements that differ", "largest relative gap"},
      .rows = {}};
  for (const auto& [order, name] : kOrders) {
    if (order == Order::Ranks) continue;
    std::vector<double> shares, gaps;
    for (int seed = 1; seed <= seeds; ++seed) {
      const RandomStream stream(static_cast<std::uint64_t>(seed), kGradients);
      std::vector<Vector> parts(static_cast<std::size_t>(ranks), Vector(static_cast<std::size_t>(elements)));
      std::vector<double> drawn(static_cast<std::size_t>(elements));
      for (std::size_t r = 0; r < parts.size(); ++r) {
        stream.normals(r, 0, drawn);
        std::ranges::transform(drawn, parts[r].begin(), [](double v) { return static_cast<float>(v); });
      }
      const Vector plain = summed(parts, Order::Ranks, 0, 0);
      const Vector other = summed(parts, order, static_cast<std::uint64_t>(seed), 0);
      shares.push_back(share_that_differs(plain, other));
      gaps.push_back(largest_gap(plain, other));
    }
    add_learned(out, fmt::format("differ-{}", name), Dimension::Ratio, shares);
    std::vector<std::string> row{name, to_string(out.values.back().value)};
    add_value(out, fmt::format("gap-{}", name), Quantity::ratio(std::ranges::max(gaps)), kLearning);
    row.push_back(fmt::format("{:.1e}", out.values.back().value.in_base_unit()));
    table.rows.push_back(std::move(row));
  }
  out.tables.push_back(std::move(table));
}

/// Whole runs in each order: where they part from the run in order of ranks, and how far they come.
void add_trainings(study::Computation& out, const Setting& s, int seeds) {
  study::ValueTable table{
      .title = "Training in other orders",
      .says = fmt::format(
          "A network with one hidden layer, {} ranks, {} steps, the same seed on both sides; means over {} seeds. "
          "A run without a difference counts with all its steps. The loss: difference over the loss in order of ranks, root mean square.",
          s.ranks, s.steps, seeds),
      .columns = {"order", "first step that differs", "parameters that differ at the end", "loss apart"},
      .rows = {}};
  for (const auto& [order, name] : kOrders) {
    std::vector<double> first, share, squares;
    study::Series line{.name = name, .x = {}, .y = {}};
    for (int seed = 1; seed <= seeds; ++seed) {
      const auto from = static_cast<std::uint64_t>(seed);
      const Record a = run(s, Order::Ranks, from, 0), b = run(s, order, from, from);
      const Difference d = first_difference(a, b);
      first.push_back(d.step < 0 ? s.steps : d.step);
      share.push_back(share_that_differs(a.states.back(), b.states.back()));
      squares.push_back(std::pow((b.loss - a.loss) / a.loss, 2));
      if (seed > 1 || order == Order::Ranks) continue;
      for (std::size_t step = 0; step < a.states.size(); ++step) {
        line.x.push_back(static_cast<double>(step));
        line.y.push_back(100 * share_that_differs(a.states[step], b.states[step]));
      }
    }
    if (order == Order::Ranks) {
      out.checks.push_back({.name = "the same order twice: parameters that differ at the end",
                            .engine = Quantity::ratio(std::ranges::max(share)),
                            .oracle = Quantity::ratio(0)});
      continue;
    }
    add_learned(out, fmt::format("first-step-{}", name), Dimension::Count, first);
    std::vector<std::string> row{name, fmt::format("{:g}", out.values.back().value.in_base_unit())};
    add_learned(out, fmt::format("parameters-{}", name), Dimension::Ratio, share);
    row.push_back(to_string(out.values.back().value));
    const double apart =
        std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0) / static_cast<double>(seeds));
    add_value(out, fmt::format("loss-apart-{}", name), Quantity::ratio(apart), kLearning);
    row.push_back(fmt::format("{:.1e}", apart));
    table.rows.push_back(std::move(row));
    out.picture.series.push_back(std::move(line));
  }
  out.tables.push_back(std::move(table));
}

/// Faults on purpose: whether the first difference says step, rank and cause.
void add_causes(study::Computation& out, const Setting& s, int rank, int step) {
  study::ValueTable table{
      .title = "The first difference, and its cause",
      .says = fmt::format(
          "Two runs of the same seed; the second has a fault on rank {} from step {} on. Each rank writes down hashes of its "
          "samples and of its gradient, and all of the sum and of the parameters; what is first in a step is the cause.",
          rank, step),
      .columns = {"fault", "found", "step", "rank"},
      .rows = {}};
  const Record plain = run(s, Order::Ranks, 1, 1);
  double named = 0;
  for (const auto& [fault, name] : kFaults) {
    const Difference d =
        first_difference(plain, run(s, Order::Ranks, 1, 1, {.fault = fault, .rank = rank, .step = step}));
    named += d.cause == fault ? 1 : 0;
    const bool of_one = fault == Fault::Samples || fault == Fault::Arithmetic;
    out.checks.push_back({.name = fmt::format("{}: step of the first difference", name),
                          .engine = Quantity::count(d.step),
                          .oracle = Quantity::count(fault == Fault::Start ? 0 : step)});
    if (of_one)
      out.checks.push_back({.name = fmt::format("{}: its rank", name),
                            .engine = Quantity::count(d.rank),
                            .oracle = Quantity::count(rank)});
    table.rows.push_back({name, word_of(d.cause), fmt::format("{}", d.step),
                          d.rank >= 0 ? fmt::format("{}", d.rank) : std::string("all")});
  }
  add_value(out, "causes-named", Quantity::count(named), kLearning);
  out.tables.push_back(std::move(table));
}

}  // namespace

Result<study::Computation> compute_reproducibility(const study::Inputs& in, const study::ComputeOptions&) {
  constexpr int kLeastRanks = 4;  // of two all orders are one, and a tree of three is the order of ranks
  Setting s;
  COX_TRY(const int ranks, in.count("gradients of a sum", {.least = kLeastRanks, .most = 4096}));
  COX_TRY(const int elements, in.count("elements", {.least = 1, .most = 1'000'000}));
  COX_TRY(s.ranks, in.count("ranks", {.least = kLeastRanks, .most = 256}));
  COX_TRY(s.problem.dimension, in.count("features", {.least = 2, .most = 1000}));
  COX_TRY(s.problem.hidden, in.count("hidden", {.least = 2, .most = 1000}));
  COX_TRY(s.batch, in.count("samples of a rank", {.least = 1, .most = 1000}));
  COX_TRY(s.steps, in.count("steps", {.least = 1, .most = 10'000}));
  COX_TRY(s.rate, in.ratio("rate", {.above = 0, .most = 10}));
  COX_TRY(const int seeds, in.count("seeds", {.least = 2, .most = 100}));
  COX_TRY(const int step, in.count("step of a fault", {.least = 0, .most = s.steps - 1}));
  COX_TRY(const int rank, in.count("rank of a fault", {.least = 0, .most = s.ranks - 1}));
  COX_TRY(const auto overheads, in.ratios("overheads", {.above = -1e-300, .most = 10}));
  COX_CHECK(in.check_draws(static_cast<double>(ranks) * elements * seeds * 3,
                           "gradients of a sum, elements and seeds"));
  study::Computation out;
  const float huge = 1e30F, one = 1;
  const float listed = ((huge + one) - huge) - ((-huge + one) + huge);
  add_value(out, "orders-as-listed-apart", Quantity::ratio(static_cast<double>(std::abs(listed))), kLearning);
  add_value(out, "huge-first", Quantity::count(static_cast<double>((huge - huge) + one)), kLearning);
  add_value(out, "one-first", Quantity::count(static_cast<double>(huge + (-huge + one))), kLearning);
  add_value(out, "overheads-together",
            Quantity::ratio(std::accumulate(overheads.begin(), overheads.end(), 0.0)), kClosedForm);
  add_sums(out, ranks, elements, seeds);
  add_trainings(out, s, seeds);
  add_causes(out, s, rank, step);
  out.picture.title = "Parameters whose bits differ from the order of ranks, first seed";
  out.picture.x_label = "step";
  out.picture.y_label = "per cent";
  out.notes = {
      "A ring adds each of its parts beginning with another rank; arrivals are drawn for each step.",
      "What a fixed order costs in time is no matter of values: it is measured where sums are made, not here."};
  return out;
}

}  // namespace cox::evaluate
