// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is learned: parameters, the gradient of a shard of samples, and a score. Real arithmetic, nothing drawn from a
/// formula of convergence.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox::learn {

/// Consecutive samples that one gradient is the mean over. Samples are numbered through the whole job, so that the
/// same number is the same sample on any worker, in any order and for any number of workers.
struct Shard {
  std::int64_t first = 0;
  std::int64_t count = 1;
  int worker = 0;  ///< whose data: only problems with unlike workers look at it
};

/// Consecutive parameters that belong together: a weight matrix, a bias.
struct Tensor {
  std::string name;
  std::int64_t first = 0;
  std::int64_t rows = 1;
  std::int64_t columns = 1;  ///< 1 = a vector: biases and norms
  [[nodiscard]] std::int64_t size() const { return rows * columns; }
};

/// What a router makes of held-out tokens.
struct ExpertLoads {
  double busiest = 1;     ///< choices of the most wanted expert over the mean
  double dropped = 0;     ///< part of the choices that found no room
  std::int64_t idle = 0;  ///< experts that nobody chose
};

/// How good parameters are.
struct Score {
  double loss = 0;      ///< quadratics: above the optimum; else mean over held-out samples
  double accuracy = 0;  ///< part of held-out samples that are right; 0 where the problem has no classes
  std::optional<ExpertLoads> experts{};
};

/// Consecutive parameters that a gradient works with together, such as those of a layer.
struct ParameterUnit {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Hears what a gradient does with each unit, and may bring parameters and take gradients away in between. This one does nothing.
class UnitUse {
 public:
  UnitUse() = default;
  UnitUse(const UnitUse&) = delete;
  UnitUse& operator=(const UnitUse&) = delete;
  virtual ~UnitUse() = default;
  /// Parameters of the unit are read from here on, until `release`.
  virtual void need(std::size_t /*unit*/) {}
  virtual void release(std::size_t /*unit*/) {}
  /// The unit's gradient is written from here on, until `done`: it is what it comes to.
  virtual void open(std::size_t /*unit*/) {}
  virtual void done(std::size_t /*unit*/) {}
};

/// One problem with its data. The same bits on every processor that runs the same program: sums have a fixed order,
/// elementary functions are those of cox/base.
/// Threads: one owner per object (it has working room); objects of the same spec and seed are alike.
class Problem {
 public:
  virtual ~Problem() = default;
  [[nodiscard]] virtual std::span<const Tensor> tensors() const = 0;  ///< in order, without gaps
  [[nodiscard]] std::int64_t parameters() const {
    return tensors().empty() ? 0 : tensors().back().first + tensors().back().size();
  }
  /// Where training begins.
  virtual void initial(std::span<float> x) const = 0;
  /// g = mean gradient over the shard at x. Returns the shard's mean loss.
  virtual double gradient(std::span<const float> x, const Shard& shard, std::span<float> g) = 0;
  /// Adds the parameters that a gradient over the shard reads and writes: it is 0 elsewhere, whatever the parameters. A range twice where
  /// it is needed twice. A problem that says nothing needs all of them.
  virtual void touched(const Shard& /*shard*/, std::vector<ParameterUnit>& ranges) const {
    ranges.push_back({.first = 0, .count = parameters()});
  }
  /// In order, without gaps. A problem that says nothing is one unit.
  [[nodiscard]] virtual std::vector<ParameterUnit> units() const {
    return {{.first = 0, .count = parameters()}};
  }
  /// `gradient`, bit for bit, that touches no parameter or gradient of a unit outside of its use. In each pass it needs units from the
  /// first to the last, keeps the last, and on the way back all but the first again; gradients are open from the first pass on, and
  /// done in the last, from the last unit to the first. Held by: src/learn/problem/units_test.cpp
  virtual double gradient_by_units(std::span<const float> x, const Shard& shard, std::span<float> g,
                                   UnitUse& use) {
    use.need(0);
    use.open(0);
    const double loss = gradient(x, shard, g);
    use.release(0);
    use.done(0);
    return loss;
  }
  /// In which a shard of so many samples goes through the units.
  [[nodiscard]] virtual std::int64_t passes(std::int64_t /*samples*/) const { return 1; }
  [[nodiscard]] virtual Score score(std::span<const float> x) = 0;
  /// Of one sample, forward and backward.
  [[nodiscard]] virtual Flops flops() const = 0;
};

enum class ProblemKind : std::uint8_t {
  Quadratic,
  LeastSquares,
  Logistic,
  Mlp,
  Embedding,
  Convolution,
  Experts,
  Text
};
/// `quadratic`, `least-squares`, `logistic`, `mlp`, `embedding`, `convolution`, `experts`, `text`
[[nodiscard]] std::string_view name_of(ProblemKind kind);

/// Which problem. A field that a kind does not name is not looked at.
struct ProblemSpec {
  ProblemKind kind = ProblemKind::Quadratic;
  /// quadratic: parameters; least-squares, logistic, mlp: features
  std::int64_t dimension = 100;
  /// quadratic: largest curvature over the smallest, between them even in the logarithm
  double condition = 100;
  double curvature = 1;  ///< quadratic: the largest
  /// Standard deviation. quadratic: of one sample's gradient, per coordinate; least-squares: of a label; logistic,
  /// mlp: of what labels see of the features, so that no classifier is always right; embedding: of what a label sees of
  /// each class; convolution: of a pixel; experts: of what a label sees of each class.
  double noise = 0;
  double spread = 0;  ///< quadratic: root mean square over workers of their optima, per coordinate
  /// quadratic: curvatures are 1 - this ... 1 + this times the mean, even over workers
  double hessian_spread = 0;
  std::int64_t workers = 1;      ///< quadratic: whose optima or curvatures differ
  std::int64_t reflections = 0;  ///< quadratic: of the basis; 0 = diagonal
  std::int64_t classes = 4;      ///< logistic, embedding, convolution, experts
  std::int64_t pairs = 1;        ///< mlp: of features that decide; 2^pairs classes
  std::int64_t hidden = 64;      ///< mlp: width of a hidden layer; text: of what goes from layer to layer
  std::int64_t layers = 1;       ///< mlp: hidden ones; text: of attention
  /// mlp, text: of the inner dimension of products that tensor parallelism cuts, added in an aligned binary tree; 1 = one chain
  std::int64_t blocks = 1;
  std::int64_t keys = 1000;  ///< embedding: rows of its table
  double zipf = 1;           ///< embedding, experts: key (kind) r has a share of (r + 1)^-zipf
  std::int64_t bag = 8;      ///< embedding: keys of a sample
  std::int64_t width = 8;    ///< embedding: of a row; experts: of a token
  std::int64_t side = 8;     ///< convolution: pixels of an image's side
  std::int64_t filters = 8;  ///< convolution
  std::int64_t norm = 1;     ///< convolution: 0 none, 1 of the batch
  /// convolution: samples of an aligned block that share the statistics of the batch; 0 = those of a shard
  std::int64_t group = 0;
  std::int64_t experts = 8;      ///< experts
  std::int64_t top = 1;          ///< experts: that a token is sent to, 1 or 2
  double capacity = 1.25;        ///< experts: room of one, over the mean load; 0 = for all
  double balance = 0.01;         ///< experts: factor of the auxiliary loss
  std::int64_t kinds = 8;        ///< experts: of tokens
  std::int64_t heads = 4;        ///< text: of a layer's attention
  std::int64_t context = 32;     ///< text: symbols of a sample
  std::int64_t held_out = 1000;  ///< problems with classes: samples that a score is the mean over
  std::int64_t seed = 1;
};

/// Reads `quadratic,dimension=100,condition=100,noise=1`: a kind, then what differs from the defaults.
/// Errors: learn-001, one line that says what is allowed. Held by: src/learn/problem/problem_spec_test.cpp
[[nodiscard]] Result<ProblemSpec> read_problem(std::string_view text);

/// Equal parts that a problem has: the hidden width of `mlp`, the heads of `text`; 0: it is not cut within its layers.
[[nodiscard]] std::int64_t most_slices(const ProblemSpec& spec);

/// The problem itself. Errors: learn-001 where a field is out of range; learn-003 where the text is not there.
/// Cost: O(parameters), and O(parameters x workers) where workers differ.
[[nodiscard]] Result<std::unique_ptr<Problem>> make_problem(const ProblemSpec& spec);

}  // namespace cox::learn
