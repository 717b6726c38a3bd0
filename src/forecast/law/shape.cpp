// SPDX-License-Identifier: Apache-2.0
#include "forecast/law/shape.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"

#include "forecast/law/score_table.hpp"
#include "forecast/law/special.hpp"

namespace cox::forecast::shapes {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeast = 1e-300;  // of a probability whose logarithm is taken

double normal_below(double z) {
  std::array<double, 1> p = {z};
  normal_probabilities(p);
  return p[0];
}
double normal_score(double below) {
  std::array<double, 1> z = {std::clamp(below, kLeast, 1 - 1e-16)};
  normal_quantiles(z);
  return z[0];
}

/// Where both tails come from one function of the upper one.
class Continuous : public LawShape {
 public:
  [[nodiscard]] double below(double z) const override { return 1 - above(z); }
  [[nodiscard]] double quantile(double p) const override { return upper_quantile(1 - p); }
};

class Normal final : public LawShape {
 public:
  [[nodiscard]] double above(double z) const override { return normal_below(-z); }
  [[nodiscard]] double below(double z) const override { return normal_below(z); }
  [[nodiscard]] double quantile(double p) const override { return normal_score(p); }
  [[nodiscard]] double upper_quantile(double p) const override { return -normal_score(p); }
  [[nodiscard]] double mean() const override { return 0; }
  [[nodiscard]] double deviation() const override { return 1; }
};

class Lognormal final : public LawShape {
 public:
  explicit Lognormal(double sigma) : sigma_(sigma) {}
  [[nodiscard]] double above(double z) const override {
    return z <= kLeast ? 1 : normal_below(-logarithm(z) / sigma_);
  }
  [[nodiscard]] double below(double z) const override {
    return z <= kLeast ? 0 : normal_below(logarithm(z) / sigma_);
  }
  [[nodiscard]] double quantile(double p) const override { return exponential(sigma_ * normal_score(p)); }
  [[nodiscard]] double upper_quantile(double p) const override {
    return exponential(-sigma_ * normal_score(p));
  }
  [[nodiscard]] double mean() const override { return exponential(sigma_ * sigma_ / 2); }
  [[nodiscard]] double deviation() const override {
    return mean() * std::sqrt(exponential_less_one(sigma_ * sigma_));
  }

 private:
  double sigma_;
};

class Exponential final : public Continuous {
 public:
  [[nodiscard]] double above(double z) const override { return z <= 0 ? 1 : exponential(-z); }
  [[nodiscard]] double below(double z) const override { return z <= 0 ? 0 : -exponential_less_one(-z); }
  [[nodiscard]] double quantile(double p) const override {
    return -logarithm_of_one_plus(-std::min(p, 1 - 1e-16));
  }
  [[nodiscard]] double upper_quantile(double p) const override { return -logarithm(std::max(p, kLeast)); }
  [[nodiscard]] double mean() const override { return 1; }
  [[nodiscard]] double deviation() const override { return 1; }
};

class Pareto final : public Continuous {
 public:
  explicit Pareto(double shape) : shape_(shape) {}
  [[nodiscard]] double above(double z) const override { return z <= 1 ? 1 : power(z, -shape_); }
  [[nodiscard]] double upper_quantile(double p) const override {
    return power(std::max(p, kLeast), -1 / shape_);
  }
  [[nodiscard]] double mean() const override { return shape_ <= 1 ? kInfinity : shape_ / (shape_ - 1); }
  [[nodiscard]] double deviation() const override {
    return shape_ <= 2 ? kInfinity : std::sqrt(shape_ / (shape_ - 2)) / (shape_ - 1);
  }

 private:
  double shape_;
};

class Weibull final : public Continuous {
 public:
  explicit Weibull(double shape) : shape_(shape) {}
  [[nodiscard]] double above(double z) const override {
    return z <= kLeast ? 1 : exponential(-power(z, shape_));
  }
  [[nodiscard]] double below(double z) const override {
    return z <= kLeast ? 0 : -exponential_less_one(-power(z, shape_));
  }
  [[nodiscard]] double quantile(double p) const override {
    return p <= 0 ? 0 : power(-logarithm_of_one_plus(-std::min(p, 1 - 1e-16)), 1 / shape_);
  }
  [[nodiscard]] double upper_quantile(double p) const override {
    return p >= 1 ? 0 : power(-logarithm(std::max(p, kLeast)), 1 / shape_);
  }
  [[nodiscard]] double mean() const override { return gamma_function(1 + 1 / shape_); }
  [[nodiscard]] double deviation() const override {
    return std::sqrt(std::max(0.0, gamma_function(1 + 2 / shape_) - mean() * mean()));
  }

 private:
  double shape_;
};

class Student final : public Continuous {
 public:
  explicit Student(double freedom) : freedom_(freedom) {}
  [[nodiscard]] double above(double z) const override { return student_above(freedom_, z); }
  [[nodiscard]] double below(double z) const override { return student_above(freedom_, -z); }
  [[nodiscard]] double quantile(double p) const override { return -upper_quantile(p); }
  [[nodiscard]] double upper_quantile(double p) const override {
    if (p > 0.5) return -upper_quantile(1 - p);
    double high = 1;
    while (above(high) > std::max(p, 1e-200) && high < 1e100) high *= 2;
    double low = high == 1 ? 0 : high / 2;
    for (int i = 0; i < 60 && high - low > 1e-13 * high; ++i) {
      const double middle = (low + high) / 2;
      (above(middle) > p ? low : high) = middle;
    }
    return (low + high) / 2;
  }
  [[nodiscard]] double mean() const override { return freedom_ <= 1 ? kInfinity : 0; }
  [[nodiscard]] double deviation() const override {
    return freedom_ <= 2 ? kInfinity : std::sqrt(freedom_ / (freedom_ - 2));
  }

 private:
  double freedom_;
};

class Logistic final : public LawShape {
 public:
  [[nodiscard]] double above(double z) const override { return below(-z); }
  [[nodiscard]] double below(double z) const override {
    return z < 0 ? exponential(z) / (1 + exponential(z)) : 1 / (1 + exponential(-z));
  }
  [[nodiscard]] double quantile(double p) const override { return -upper_quantile(p); }
  [[nodiscard]] double upper_quantile(double p) const override {
    return logarithm_of_one_plus(-std::min(p, 1 - 1e-16)) - logarithm(std::max(p, kLeast));
  }
  [[nodiscard]] double mean() const override { return 0; }
  [[nodiscard]] double deviation() const override { return 1.8137993642342178; }  // pi / sqrt(3)
};

/// (G - k) / sqrt(k), k = 4 / skewness², G gamma.
class StandardGamma final : public LawShape {
 public:
  explicit StandardGamma(double skewness) : shape_(4 / (skewness * skewness)), root_(std::sqrt(shape_)) {}
  [[nodiscard]] double above(double z) const override {
    return by_cube() ? normal_below(-score(z)) : gamma_above(shape_, shape_ + root_ * z);
  }
  [[nodiscard]] double below(double z) const override {
    return by_cube() ? normal_below(score(z)) : gamma_below(shape_, shape_ + root_ * z);
  }
  [[nodiscard]] double quantile(double p) const override {
    if (by_cube()) return from_score(normal_score(p));
    if (p <= 0) return -root_;
    return (gamma_upper_quantile(shape_, std::max(1 - p, kLeast)) - shape_) / root_;
  }
  [[nodiscard]] double upper_quantile(double p) const override {
    if (by_cube()) return from_score(-normal_score(p));
    if (p >= 1) return -root_;
    return (gamma_upper_quantile(shape_, std::max(p, kLeast)) - shape_) / root_;
  }
  [[nodiscard]] double mean() const override { return 0; }
  [[nodiscard]] double deviation() const override { return 1; }

 private:
  [[nodiscard]] bool by_cube() const { return shape_ > 400; }
  /// Wilson, Hilferty 1931: the cube root of G / k is nearly normal.
  [[nodiscard]] double score(double z) const {
    return 3 * root_ * (std::cbrt(std::max(1 + z / root_, 0.0)) - 1 + 1 / (9 * shape_));
  }
  [[nodiscard]] double from_score(double score) const {
    const double cube = std::max(1 - 1 / (9 * shape_) + score / (3 * root_), 0.0);
    return (cube * cube * cube - 1) * root_;
  }
  double shape_;
  double root_;
};

class Detour final : public LawShape {
 public:
  explicit Detour(double probability) : p_(probability) {}
  [[nodiscard]] double above(double z) const override { return z < 0 ? 1 : (z < 1 ? p_ : 0); }
  [[nodiscard]] double below(double z) const override { return z < 0 ? 0 : (z < 1 ? 1 - p_ : 1); }
  [[nodiscard]] double quantile(double p) const override { return p <= 1 - p_ ? 0 : 1; }
  [[nodiscard]] double upper_quantile(double p) const override { return p < p_ ? 1 : 0; }
  [[nodiscard]] double mean() const override { return p_; }
  [[nodiscard]] double deviation() const override { return std::sqrt(p_ * (1 - p_)); }
  [[nodiscard]] std::vector<Law::Point> atoms() const override {
    return {{.value = Seconds{0}, .weight = 1 - p_}, {.value = Seconds{1}, .weight = p_}};
  }

 private:
  double p_;
};

/// Body with straight lines between quantiles, above it a generalised Pareto tail.
class Quantiles final : public LawShape {
 public:
  Quantiles(std::vector<double> body, const Tail& tail)
      : body_(std::move(body)),
        threshold_(tail.threshold.count()),
        scale_(tail.scale.count()),
        shape_(tail.shape),
        tail_(scale_ > 0 ? tail.probability : 0) {
    COX_ASSERT(tail_ >= 0 && tail_ <= 1, "a tail's probability");
    COX_ASSERT(tail_ == 0 || body_.empty() || body_.back() <= threshold_,
               "the tail begins where the body ends");
    moments();
  }
  [[nodiscard]] double above(double z) const override {
    if (tail_ > 0 && z >= threshold_) return tail_ * excess_above((z - threshold_) / scale_);
    if (body_.empty() || z < body_.front()) return 1;
    const auto next = std::upper_bound(body_.begin(), body_.end(), z);
    if (next == body_.end()) return tail_;
    const std::size_t left = static_cast<std::size_t>(next - body_.begin());  // values at or below z
    const double part = (*next - z) / (*next - body_[left - 1]);
    return tail_ + (static_cast<double>(body_.size() - left - 1) + part) * step();
  }
  [[nodiscard]] double below(double z) const override {
    if (body_.empty() || z < body_.front() || (tail_ > 0 && z >= threshold_)) return 1 - above(z);
    const auto next = std::upper_bound(body_.begin(), body_.end(), z);
    if (next == body_.end()) return 1 - tail_;
    const std::size_t left = static_cast<std::size_t>(next - body_.begin());
    return (static_cast<double>(left - 1) + (z - body_[left - 1]) / (*next - body_[left - 1])) * step();
  }
  [[nodiscard]] double quantile(double p) const override {
    return p >= 1 - tail_ ? upper_quantile(1 - p) : in_body(p / step());
  }
  [[nodiscard]] double upper_quantile(double p) const override {
    if (p < tail_) {
      const double log_p = logarithm(std::max(p / tail_, kLeast));
      const double excess =
          std::abs(shape_) < 1e-12 ? -log_p : exponential_less_one(-shape_ * log_p) / shape_;
      return threshold_ + scale_ * excess;
    }
    if (body_.size() < 2) return body_.empty() ? threshold_ : body_.front();
    return in_body(static_cast<double>(body_.size() - 1) - (p - tail_) / step());
  }
  [[nodiscard]] double mean() const override { return mean_; }
  [[nodiscard]] double deviation() const override { return deviation_; }

 private:
  [[nodiscard]] double step() const {
    return body_.size() < 2 ? 1 - tail_ : (1 - tail_) / static_cast<double>(body_.size() - 1);
  }
  [[nodiscard]] double in_body(double place) const {
    if (body_.size() < 2) return body_.empty() ? threshold_ : body_.front();
    const double last = static_cast<double>(body_.size() - 1);
    place = std::clamp(place, 0.0, last);
    const std::size_t left = std::min(static_cast<std::size_t>(place), body_.size() - 2);
    return body_[left] + (body_[left + 1] - body_[left]) * (place - static_cast<double>(left));
  }
  [[nodiscard]] double excess_above(double e) const {
    if (std::abs(shape_) < 1e-12) return exponential(-e);
    const double inside = shape_ * e;
    return inside <= -1 ? 0 : exponential(-logarithm_of_one_plus(inside) / shape_);
  }
  /// Of the lines exactly, about the median so that little cancels, and of the tail by its formulas.
  void moments() {
    const double about = body_.empty() ? threshold_ : body_[body_.size() / 2];
    double first = 0;
    double second = 0;
    for (std::size_t i = 0; i + 1 < body_.size(); ++i) {
      const double a = body_[i] - about;
      const double b = body_[i + 1] - about;
      first += step() * (a + b) / 2;
      second += step() * (a * a + a * b + b * b) / 3;
    }
    if (body_.size() == 1) first = second = 0;
    if (tail_ > 0) {
      const double t = threshold_ - about;
      const double m1 = shape_ >= 1 ? kInfinity : scale_ / (1 - shape_);
      const double m2 = shape_ >= 0.5 ? kInfinity : 2 * scale_ * scale_ / ((1 - shape_) * (1 - 2 * shape_));
      first += tail_ * (t + m1);
      second += tail_ * (t * t + 2 * t * m1 + m2);
    }
    mean_ = about + first;
    deviation_ = std::isfinite(second) ? std::sqrt(std::max(0.0, second - first * first)) : kInfinity;
  }

  std::vector<double> body_;
  double threshold_;
  double scale_;
  double shape_;
  double tail_;
  double mean_ = 0;
  double deviation_ = 0;
};

/// Two laws, one above the other.
class Modes final : public LawShape {
 public:
  Modes(Law usual, Law longer, double share)
      : usual_(std::move(usual)), longer_(std::move(longer)), share_(share), edge_(longer_.quantile(0)) {
    const double a = usual_.mean().count();
    const double b = longer_.mean().count();
    mean_ = (1 - share_) * a + share_ * b;
    const double within = (1 - share_) * std::pow(usual_.deviation().count(), 2) +
                          share_ * std::pow(longer_.deviation().count(), 2);
    deviation_ = std::isfinite(mean_) && std::isfinite(within)
                     ? std::sqrt(within + share_ * (1 - share_) * (b - a) * (b - a))
                     : kInfinity;
  }
  [[nodiscard]] double above(double z) const override {
    const Seconds x{z};
    return x < edge_ ? share_ + (1 - share_) * usual_.above(x) : share_ * longer_.above(x);
  }
  [[nodiscard]] double below(double z) const override {
    const Seconds x{z};
    return x < edge_ ? (1 - share_) * usual_.below(x) : 1 - share_ + share_ * longer_.below(x);
  }
  [[nodiscard]] double quantile(double p) const override {
    const double over = (p - (1 - share_)) / share_;
    return (over > 0 ? longer_.quantile(over) : usual(usual_.quantile(p / (1 - share_)))).count();
  }
  [[nodiscard]] double upper_quantile(double p) const override {
    if (p < share_) return longer_.upper_quantile(p / share_).count();
    return usual(usual_.upper_quantile((p - share_) / (1 - share_))).count();
  }
  [[nodiscard]] double mean() const override { return mean_; }
  [[nodiscard]] double deviation() const override { return deviation_; }
  [[nodiscard]] std::vector<double> breaks() const override {
    std::vector<double> out;
    for (const Seconds x : usual_.breaks()) out.push_back(usual(x).count());
    // Where what is left of the usual ones is this part of the longer ones.
    for (const double part : {1.0, 0.1, 0.01, 0.001})
      out.push_back(usual(usual_.upper_quantile(std::min(part * share_ / (1 - share_), 1.0))).count());
    out.push_back(edge_.count());
    for (const Seconds x : longer_.breaks()) out.push_back(x.count());
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  [[nodiscard]] Seconds usual(Seconds x) const { return std::min(x, edge_); }

  Law usual_;
  Law longer_;
  double share_;
  Seconds edge_;  // the least of the longer ones
  double mean_ = 0;
  double deviation_ = 0;
};

/// A distribution function as a table.
class Tabled final : public LawShape {
 public:
  Tabled(ScoreTable table, double mean, double deviation)
      : table_(std::move(table)), mean_(mean), deviation_(deviation) {}
  [[nodiscard]] double above(double z) const override {
    const double t = minus_log(z);
    return t < 1e-5 ? t - t * t / 2 : -exponential_less_one(-t);
  }
  [[nodiscard]] double below(double z) const override { return exponential(-minus_log(z)); }
  [[nodiscard]] double quantile(double p) const override {
    return p > 0.5 ? upper_quantile(1 - p) : place(-logarithm(std::max(p, kLeast)));
  }
  [[nodiscard]] double upper_quantile(double p) const override {
    return place(-logarithm_of_one_plus(-std::min(std::max(p, kLeast), 1 - 1e-16)));
  }
  [[nodiscard]] double mean() const override { return mean_; }
  [[nodiscard]] double deviation() const override { return deviation_; }

 private:
  [[nodiscard]] double minus_log(double z) const { return exponential(table_.score(z)); }
  [[nodiscard]] double place(double minus_log) const {
    const double y = logarithm(std::max(minus_log, kLeast));
    const double last = table_.x().back();
    if (y >= table_.y().back()) return table_.place(y);
    const double slope = table_.steepness();
    return slope < 0 ? last + (y - table_.y().back()) / slope : last;
  }

  ScoreTable table_;
  double mean_;
  double deviation_;
};

}  // namespace

Pointer normal() {
  static const Pointer shape = std::make_shared<const Normal>();
  return shape;
}
Pointer lognormal(double sigma) {
  return std::make_shared<const Lognormal>(sigma);
}
Pointer memoryless() {
  static const Pointer shape = std::make_shared<const Exponential>();
  return shape;
}
Pointer pareto(double shape) {
  return std::make_shared<const Pareto>(shape);
}
Pointer weibull(double shape) {
  return std::make_shared<const Weibull>(shape);
}
Pointer student(double freedom) {
  return std::make_shared<const Student>(freedom);
}
Pointer logistic() {
  static const Pointer shape = std::make_shared<const Logistic>();
  return shape;
}
Pointer standard_gamma(double skewness) {
  return std::make_shared<const StandardGamma>(skewness);
}
Pointer detour(double probability) {
  return std::make_shared<const Detour>(probability);
}
Pointer quantiles(std::vector<double> body, const Tail& tail) {
  return std::make_shared<const Quantiles>(std::move(body), tail);
}
Pointer modes(const Law& usual, const Law& longer, double share) {
  return std::make_shared<const Modes>(usual, longer, share);
}
Pointer tabled(ScoreTable table, double mean, double deviation) {
  return std::make_shared<const Tabled>(std::move(table), mean, deviation);
}

}  // namespace cox::forecast::shapes
