// SPDX-License-Identifier: Apache-2.0
#include "forecast/calibrate/decompose.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cox/base/stats.hpp"

namespace cox::forecast {
namespace {

constexpr double kRoundingOfMean = 1e-9;

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

std::vector<double> step_medians(const WorkTable& table) {
  const std::size_t ranks = table.ranks();
  std::vector<double> out(table.steps);
  std::vector<double> row(ranks);
  for (std::size_t k = 0; k < table.steps; ++k) {
    std::copy_n(table.own.begin() + static_cast<std::ptrdiff_t>(k * ranks), ranks, row.begin());
    out[k] = median_in_place(row);
  }
  return out;
}

/// Slope and squared distance of the line through these.
struct Line {
  double slope = 0;
  double left = 0;
};
Line line_through(const std::vector<double>& y, std::size_t from, std::size_t to) {
  const auto n = static_cast<double>(to - from);
  const double middle = (n - 1) / 2;
  double mean = 0;
  for (std::size_t i = from; i < to; ++i) mean += y[i] / n;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = from; i < to; ++i) {
    const double x = static_cast<double>(i - from) - middle;
    xy += x * (y[i] - mean);
    xx += x * x;
    yy += (y[i] - mean) * (y[i] - mean);
  }
  const double slope = xx > 0 ? xy / xx : 0;
  return {.slope = slope, .left = std::max(yy - slope * xy, 0.0)};
}

/// Where the last regime begins: a jump that explains what a line does not. Over medians of blocks, so that one long step is none.
std::size_t last_regime(const std::vector<double>& steps) {
  constexpr std::size_t kBlocks = 40;
  const std::size_t block = steps.size() / kBlocks;
  if (block < 3) return 0;
  std::vector<double> y;
  for (std::size_t b = 0; b < kBlocks; ++b) {
    const auto first = steps.begin() + static_cast<std::ptrdiff_t>(b * block);
    y.push_back(median(std::vector<double>(first, first + static_cast<std::ptrdiff_t>(block))));
  }
  const double dust = kRoundingOfMean * std::abs(mean_of(y));
  std::size_t from = 0;
  while (kBlocks - from >= 12) {
    const double line = line_through(y, from, kBlocks).left;
    if (line <= static_cast<double>(kBlocks - from) * dust * dust) break;  // rounding has no regimes
    double best = line;
    std::size_t cut = from;
    for (std::size_t c = from + 4; c + 4 <= kBlocks; ++c) {
      const double parts = line_through(y, from, c).left + line_through(y, c, kBlocks).left;
      if (parts < best) {
        best = parts;
        cut = c;
      }
    }
    // Two lines have two constants and a place more: their fit is to be better by far more than chance brings (F about 10).
    const double left = static_cast<double>(kBlocks - from) - 5;
    if (cut == from || (line - best) / 3 < 12 * best / left) break;
    from = cut;
  }
  return from * block;
}

void keep_from(WorkTable& table, std::size_t first) {
  const std::size_t ranks = table.ranks();
  table.own.erase(table.own.begin(), table.own.begin() + static_cast<std::ptrdiff_t>(first * ranks));
  table.steps -= first;
}

/// Mean of each node in each step: [node][step].
std::vector<std::vector<double>> node_means(const WorkTable& table) {
  const std::size_t ranks = table.ranks();
  std::vector<std::vector<double>> out(table.nodes.size(), std::vector<double>(table.steps, 0.0));
  for (std::size_t n = 0; n < table.nodes.size(); ++n)
    for (std::size_t k = 0; k < table.steps; ++k)
      for (const std::size_t column : table.nodes[n])
        out[n][k] += table.own[k * ranks + column] / static_cast<double>(table.nodes[n].size());
  return out;
}

/// Nodes whose mean is apart from all others' by 5 robust deviations, and half of that in the median step too, so that a few long ones
/// are none; their excess is taken off.
void take_off_slow(WorkTable& table, Decomposed& out) {
  const std::size_t ranks = table.ranks();
  if (table.nodes.size() < 4) return;
  std::vector<double> means;
  std::vector<double> usual;  // in the median step
  for (std::vector<double>& node : node_means(table)) {
    means.push_back(mean_of(node));
    usual.push_back(median_in_place(node));
  }
  const double usual_middle = median(usual);
  const double middle = median(means);
  const double apart = 5 * scaled_mad(means);
  double extra = 0;
  std::vector<std::size_t> slow;
  for (std::size_t n = 0; n < means.size(); ++n)
    if (means[n] - middle > apart && means[n] > 1.01 * middle &&
        usual[n] - usual_middle > (means[n] - middle) / 2)
      slow.push_back(n);
  if (slow.empty() || 3 * slow.size() > means.size()) return;
  for (const std::size_t n : slow) {
    extra += means[n] - middle;
    for (std::size_t k = 0; k < table.steps; ++k)
      for (const std::size_t column : table.nodes[n]) table.own[k * ranks + column] -= means[n] - middle;
  }
  out.slow_places = slow;
  out.slow_nodes = static_cast<std::int64_t>(slow.size());
  out.slow_extra = extra / static_cast<double>(slow.size());
}

/// Means over everything that shares, and the sums of squares and cubes about them.
struct Sums {
  std::vector<double> rank;
  std::vector<double> node;
  std::vector<double> step;
  std::vector<double> node_step;  // [step * nodes + node]
  double all = 0;
  double within = 0;   // squares of what is left of rank and node in step
  double between = 0;  // of nodes in steps
  double next = 0;     // products of what is left with that of the next step
  double within3 = 0;  // cubes, each corrected for its node's size
  double between3 = 0;
  std::size_t cubed = 0;
};

Sums sums_of(const WorkTable& table) {
  const std::size_t ranks = table.ranks();
  const std::size_t nodes = table.nodes.size();
  const auto steps = static_cast<double>(table.steps);
  Sums s;
  s.rank.assign(ranks, 0);
  s.node.assign(nodes, 0);
  s.step.assign(table.steps, 0);
  s.node_step.assign(table.steps * nodes, 0);
  for (std::size_t k = 0; k < table.steps; ++k) {
    for (std::size_t n = 0; n < nodes; ++n) {
      double sum = 0;
      for (const std::size_t c : table.nodes[n]) {
        const double x = table.own[k * ranks + c];
        sum += x;
        s.rank[c] += x / steps;
      }
      const double mean = sum / static_cast<double>(table.nodes[n].size());
      s.node_step[k * nodes + n] = mean;
      s.node[n] += mean / steps;
      s.step[k] += mean / static_cast<double>(nodes);
    }
  }
  s.all = mean_of(s.step);
  std::vector<double> last(ranks);
  for (std::size_t k = 0; k < table.steps; ++k) {
    for (std::size_t n = 0; n < nodes; ++n) {
      const auto m = static_cast<double>(table.nodes[n].size());
      const double shared = s.node_step[k * nodes + n] - s.node[n];
      const double left = shared - s.step[k] + s.all;
      s.between += m * left * left;
      s.between3 += left * left * left;
      for (const std::size_t c : table.nodes[n]) {
        const double e = table.own[k * ranks + c] - s.rank[c] - shared;
        s.within += e * e;
        if (k > 0) s.next += e * last[c];
        last[c] = e;
        if (m < 3) continue;
        s.within3 += e * e * e * m * m / ((m - 1) * (m - 2));
        ++s.cubed;
      }
    }
  }
  return s;
}

/// Times less rank, and less what the other ranks of the node (or of all) have in common in this step where that is more than
/// nothing. The others' mean brings noise of its own, of which `noise` is the part of the residual's variance.
std::vector<double> residuals_of(const WorkTable& table, const Sums& s, bool by_node, bool by_step,
                                 double& noise) {
  const std::size_t ranks = table.ranks();
  const std::size_t nodes = table.nodes.size();
  std::vector<double> out;
  out.reserve(table.own.size());
  const double all_ranks = static_cast<double>(ranks);
  double noises = 0;
  for (std::size_t k = 0; k < table.steps; ++k) {
    double step = 0;
    for (std::size_t c = 0; c < ranks; ++c) step += table.own[k * ranks + c] - s.rank[c];
    for (std::size_t n = 0; n < nodes; ++n) {
      const auto m = static_cast<double>(table.nodes[n].size());
      const double node = m * (s.node_step[k * nodes + n] - s.node[n]);
      for (const std::size_t c : table.nodes[n]) {
        const double e = table.own[k * ranks + c] - s.rank[c];
        double others = 0;
        if (by_node && m > 1) {
          others = (node - e) / (m - 1);
          noises += 1 / (m - 1);
        } else if (by_step && ranks > 1) {
          others = (step - e) / (all_ranks - 1);
          noises += 1 / (all_ranks - 1);
        }
        out.push_back(e - others);
      }
    }
  }
  noise = noises / static_cast<double>(out.size());
  return out;
}

/// What the components' mean squares are taken over.
struct TableShape {
  double nodes = 0;
  double ranks = 0;
  double steps = 0;
  double per_node = 0;  ///< harmonic mean
  double in_nodes = 0;  ///< ranks beyond one in each node
  /// one rank a node: what is left after the node in the step is nothing, the node's part is its own
  bool alone = false;
  bool node_told = false;
};

TableShape shape_of(const WorkTable& table) {
  TableShape out{.nodes = static_cast<double>(table.nodes.size()),
                 .ranks = static_cast<double>(table.ranks()),
                 .steps = static_cast<double>(table.steps)};
  double inverse = 0;
  for (const auto& node : table.nodes) inverse += 1 / static_cast<double>(node.size());
  out.per_node = out.nodes / inverse;
  out.in_nodes = out.ranks - out.nodes;
  out.alone = out.in_nodes == 0;
  out.node_told = table.nodes.size() > 1 && !out.alone;
  return out;
}

/// The last regime alone, without nodes that are slow for good, and without the line through its steps.
void straighten(WorkTable& table, Decomposed& out) {
  std::vector<double> medians = step_medians(table);
  out.first_step = last_regime(medians);
  if (out.first_step > 0) {
    const std::size_t before = out.first_step * table.ranks();
    out.earlier_level = mean_of({table.own.begin(), table.own.begin() + static_cast<std::ptrdiff_t>(before)});
    keep_from(table, out.first_step);
    medians.erase(medians.begin(), medians.begin() + static_cast<std::ptrdiff_t>(out.first_step));
  }
  out.level = mean_of(table.own);
  take_off_slow(table, out);
  const std::size_t ranks = table.ranks();
  const double slope = line_through(medians, 0, table.steps).slope;
  out.drift = slope * static_cast<double>(table.steps - 1);
  for (std::size_t k = 0; k < table.steps; ++k) {
    const double off = slope * (static_cast<double>(k) - (static_cast<double>(table.steps) - 1) / 2);
    for (std::size_t c = 0; c < ranks; ++c) table.own[k * ranks + c] -= off;
  }
}

/// What is fresh in a step: residual, node in step, step.
void add_fresh(const WorkTable& table, const Sums& s, const TableShape& shape, Decomposed& out) {
  const double within_freedom = (shape.alone ? shape.nodes - 1 : shape.in_nodes) * (shape.steps - 1);
  const double within = shape.alone ? s.between : s.within;
  if (table.ranks() == 1) {
    Welford w;
    for (const double x : table.own) w.add(x);
    out.residual = {.variance = w.variance(), .noise = 0, .freedom = shape.steps - 1};
  } else {
    out.residual = {
        .variance = within_freedom > 0 ? within / within_freedom : 0, .noise = 0, .freedom = within_freedom};
  }
  const double between = shape.node_told ? s.between / ((shape.nodes - 1) * (shape.steps - 1)) : 0;
  if (shape.node_told) {
    out.node_step = {.variance = (between - out.residual.variance) / shape.per_node,
                     .noise = out.residual.variance / shape.per_node,
                     .freedom = (shape.nodes - 1) * (shape.steps - 1)};
  }
  // What nodes (or ranks) alone do to a step's mean.
  const double under = shape.node_told ? between : out.residual.variance;
  double steps = 0;
  for (const double c : s.step) steps += (c - s.all) * (c - s.all);
  const double units = shape.node_told ? shape.nodes * shape.per_node : shape.ranks;
  out.step = {.variance = steps / (shape.steps - 1) - under / units,
              .noise = under / units,
              .freedom = table.ranks() > 1 ? shape.steps - 1 : 0};
}

/// Correlation in time, of residuals where they show it, and how many of them count as independent.
void add_memory(std::size_t ranks, const TableShape& shape, Decomposed& out) {
  double product = 0;
  double square = 0;
  for (std::size_t i = ranks; i < out.residuals.size(); ++i) {
    product += out.residuals[i] * out.residuals[i - ranks];
    square += out.residuals[i] * out.residuals[i];
  }
  out.correlation = square > 0 ? std::clamp(product / square + 1 / shape.steps, -0.5, 0.99) : 0;
  if (out.correlation < 3 / std::sqrt(shape.steps * shape.ranks))
    out.correlation = std::min(out.correlation, 0.0);
  const double phi = out.correlation;
  out.independent = std::clamp((1 - phi) / (1 + phi), 2 / shape.steps, 1.0);
  // A table that is short for its correlation shows less than the variance: its ranks' means moved with it.
  const double shown = 1 - 1 / std::max(shape.steps * out.independent, 2.0) + 1 / shape.steps;
  out.residual.variance /= shown;
}

/// What lasts: ranks' and nodes'.
void add_lasting(const WorkTable& table, const Sums& s, const TableShape& shape, Decomposed& out) {
  const double steps_told = std::max(shape.steps * out.independent, 2.0);
  double rank_squares = 0;
  double node_squares = 0;
  for (std::size_t n = 0; n < table.nodes.size(); ++n) {
    node_squares += (s.node[n] - s.all) * (s.node[n] - s.all);
    for (const std::size_t c : table.nodes[n])
      rank_squares += (s.rank[c] - s.node[n]) * (s.rank[c] - s.node[n]);
  }
  const double noise = out.residual.variance / steps_told;
  if (shape.alone) {
    out.rank = {.variance = shape.nodes > 1 ? node_squares / (shape.nodes - 1) - noise : 0,
                .noise = noise,
                .freedom = shape.nodes - 1};
    return;
  }
  out.rank = {.variance = rank_squares / shape.in_nodes - noise, .noise = noise, .freedom = shape.in_nodes};
  if (!shape.node_told) return;
  const double other = (std::max(out.rank.variance, 0.0) + noise) / shape.per_node +
                       std::max(out.node_step.variance, 0.0) / shape.steps;
  out.node = {.variance = node_squares / (shape.nodes - 1) - other,
              .noise = other,
              .freedom = shape.nodes - 1 - static_cast<double>(out.slow_nodes)};
}

void add_third(const Sums& s, const TableShape& shape, Decomposed& out) {
  if (!shape.node_told || s.cubed <= 0 || shape.nodes <= 2) return;
  const double of_means = s.between3 / (shape.nodes * shape.steps) * shape.nodes * shape.nodes /
                          ((shape.nodes - 1) * (shape.nodes - 2));
  const double of_ranks = s.within3 / static_cast<double>(s.cubed);
  out.node_step_third = of_means - of_ranks / (shape.per_node * shape.per_node);
  out.node_step_told = true;
}

}  // namespace

Decomposed decompose(WorkTable table) {
  Decomposed out;
  straighten(table, out);
  const Sums s = sums_of(table);
  if (out.slow_nodes > 0) out.level = s.all;
  const TableShape shape = shape_of(table);
  add_fresh(table, s, shape, out);
  const auto apart = [&](const Component& c, double f) {
    return c.freedom > 0 &&
           c.variance > f * c.noise * std::sqrt(2 / std::min(c.freedom, shape.steps)) + 0.01 * c.noise;
  };
  const bool by_node = shape.node_told && apart(out.node_step, 4);
  const bool by_step = apart(out.step, 4);
  double noise = 0;
  out.residuals = residuals_of(table, s, by_node, by_step, noise);
  add_memory(table.ranks(), shape, out);
  add_lasting(table, s, shape, out);
  add_third(s, shape, out);
  out.narrower = std::sqrt(1 / (1 + noise));
  const double mean = mean_of(out.residuals);
  for (double& e : out.residuals) e -= mean;
  for (std::size_t k = 0; k < table.steps; ++k)
    for (std::size_t c = 0; c < table.ranks(); ++c)
      out.pooled.push_back(table.own[k * table.ranks() + c] - s.all - (by_step ? s.step[k] - s.all : 0));
  return out;
}

}  // namespace cox::forecast
