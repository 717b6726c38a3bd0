// SPDX-License-Identifier: Apache-2.0
#include "forecast/calibrate/decompose.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cox/base/stats.hpp"

namespace cox::forecast {
namespace {

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
  std::size_t from = 0;
  while (kBlocks - from >= 12) {
    const double line = line_through(y, from, kBlocks).left;
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

/// Nodes whose mean is apart from all others' by 5 robust deviations; their excess is taken off.
void take_off_slow(WorkTable& table, Decomposed& out) {
  const std::size_t ranks = table.ranks();
  if (table.nodes.size() < 4) return;
  std::vector<double> means;
  for (const auto& node : table.nodes) {
    double sum = 0;
    for (std::size_t k = 0; k < table.steps; ++k)
      for (const std::size_t column : node) sum += table.own[k * ranks + column];
    means.push_back(sum / static_cast<double>(node.size() * table.steps));
  }
  const double middle = median(means);
  const double apart = 5 * scaled_mad(means);
  double extra = 0;
  std::vector<std::size_t> slow;
  for (std::size_t n = 0; n < means.size(); ++n)
    if (means[n] - middle > apart && means[n] > 1.01 * middle) slow.push_back(n);
  if (slow.empty() || 3 * slow.size() > means.size()) return;
  for (const std::size_t n : slow) {
    extra += means[n] - middle;
    for (std::size_t k = 0; k < table.steps; ++k)
      for (const std::size_t column : table.nodes[n]) table.own[k * ranks + column] -= means[n] - middle;
  }
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

}  // namespace

Decomposed decompose(WorkTable table) {
  Decomposed out;
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
  const std::size_t nodes = table.nodes.size();
  const double slope = line_through(medians, 0, table.steps).slope;
  out.drift = slope * static_cast<double>(table.steps - 1);
  for (std::size_t k = 0; k < table.steps; ++k) {
    const double off = slope * (static_cast<double>(k) - (static_cast<double>(table.steps) - 1) / 2);
    for (std::size_t c = 0; c < ranks; ++c) table.own[k * ranks + c] -= off;
  }
  const Sums s = sums_of(table);
  if (out.slow_nodes > 0) out.level = s.all;

  const auto a = static_cast<double>(nodes);
  const auto big_k = static_cast<double>(table.steps);
  double inverse = 0;
  for (const auto& node : table.nodes) inverse += 1 / static_cast<double>(node.size());
  const double m = a / inverse;                            // harmonic mean
  const double in_nodes = static_cast<double>(ranks) - a;  // ranks beyond one in each node
  // With one rank a node what is left after the node in the step is nothing: the node's part is the rank's own.
  const bool alone = in_nodes == 0;
  const double within_freedom = (alone ? a - 1 : in_nodes) * (big_k - 1);
  const double within = alone ? s.between : s.within;
  if (ranks == 1) {
    Welford w;
    for (const double x : table.own) w.add(x);
    out.residual = {.variance = w.variance(), .noise = 0, .freedom = big_k - 1};
  } else {
    out.residual = {
        .variance = within_freedom > 0 ? within / within_freedom : 0, .noise = 0, .freedom = within_freedom};
  }
  const bool node_told = nodes > 1 && !alone;
  const double between = node_told ? s.between / ((a - 1) * (big_k - 1)) : 0;
  if (node_told) {
    out.node_step = {.variance = (between - out.residual.variance) / m,
                     .noise = out.residual.variance / m,
                     .freedom = (a - 1) * (big_k - 1)};
  }
  // Correlation in time, of residuals where they show it.
  double noise = 0;
  const double under =
      node_told ? between : out.residual.variance;  // what nodes (or ranks) alone do to a step's mean
  double steps = 0;
  for (const double c : s.step) steps += (c - s.all) * (c - s.all);
  const double units = node_told ? a * m : static_cast<double>(ranks);
  out.step = {.variance = steps / (big_k - 1) - under / units,
              .noise = under / units,
              .freedom = ranks > 1 ? big_k - 1 : 0};
  const auto apart = [&](const Component& c, double f) {
    return c.freedom > 0 &&
           c.variance > f * c.noise * std::sqrt(2 / std::min(c.freedom, big_k)) + 0.01 * c.noise;
  };
  const bool by_node = node_told && apart(out.node_step, 4);
  const bool by_step = apart(out.step, 4);
  out.residuals = residuals_of(table, s, by_node, by_step, noise);
  double product = 0;
  double square = 0;
  for (std::size_t i = ranks; i < out.residuals.size(); ++i) {
    product += out.residuals[i] * out.residuals[i - ranks];
    square += out.residuals[i] * out.residuals[i];
  }
  out.correlation = square > 0 ? std::clamp(product / square + 1 / big_k, -0.5, 0.99) : 0;
  if (out.correlation < 3 / std::sqrt(big_k * static_cast<double>(ranks)))
    out.correlation = std::min(out.correlation, 0.0);
  const double phi = out.correlation;
  out.independent = std::clamp((1 - phi) / (1 + phi), 2 / big_k, 1.0);
  const double steps_told = std::max(big_k * out.independent, 2.0);
  // A table that is short for its correlation shows less than the variance: its ranks' means moved with it.
  const double shown = 1 - 1 / steps_told + 1 / big_k;
  out.residual.variance /= shown;

  double rank_squares = 0;
  double node_squares = 0;
  for (std::size_t n = 0; n < nodes; ++n) {
    node_squares += (s.node[n] - s.all) * (s.node[n] - s.all);
    for (const std::size_t c : table.nodes[n])
      rank_squares += (s.rank[c] - s.node[n]) * (s.rank[c] - s.node[n]);
  }
  if (alone) {
    const double n = out.residual.variance / steps_told;
    out.rank = {.variance = a > 1 ? node_squares / (a - 1) - n : 0, .noise = n, .freedom = a - 1};
  } else {
    const double n = out.residual.variance / steps_told;
    out.rank = {.variance = rank_squares / in_nodes - n, .noise = n, .freedom = in_nodes};
    if (node_told) {
      const double other =
          (std::max(out.rank.variance, 0.0) + n) / m + std::max(out.node_step.variance, 0.0) / big_k;
      out.node = {.variance = node_squares / (a - 1) - other,
                  .noise = other,
                  .freedom = a - 1 - static_cast<double>(out.slow_nodes)};
    }
  }
  if (node_told && s.cubed > 0 && a > 2) {
    const double of_means = s.between3 / (a * big_k) * a * a / ((a - 1) * (a - 2));
    const double of_ranks = s.within3 / static_cast<double>(s.cubed);
    out.node_step_third = of_means - of_ranks / (m * m);
    out.node_step_told = true;
  }
  out.narrower = std::sqrt(1 / (1 + noise));
  const double mean = mean_of(out.residuals);
  for (double& e : out.residuals) e -= mean;
  for (std::size_t k = 0; k < table.steps; ++k)
    for (std::size_t c = 0; c < ranks; ++c)
      out.pooled.push_back(table.own[k * ranks + c] - s.all - (by_step ? s.step[k] - s.all : 0));
  return out;
}

}  // namespace cox::forecast
