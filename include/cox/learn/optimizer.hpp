// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which optimizer: what one gradient does to the parameters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"

namespace cox::learn {

enum class OptimizerKind : std::uint8_t { Sgd, Momentum, Nesterov, Adam, AdamW, Lars, Lamb };
[[nodiscard]] std::string_view name_of(OptimizerKind kind);  ///< `sgd`, `momentum`, ...

/// How the rate follows the batch that a step's gradient is the mean over.
enum class RateScaling : std::uint8_t {
  None,
  Linear,  ///< in proportion (Goyal et al. 2017)
  Root,    ///< with its square root
};

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::Sgd;
  double rate = 0.1;
  double momentum = 0.9;  ///< momentum, nesterov, lars
  double beta1 = 0.9;     ///< adam, adamw, lamb
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double decay = 0;  ///< of weights: coupled (sgd, momentum, nesterov, adam, lars), decoupled (adamw, lamb)
  double trust = 0.001;  ///< lars
  double clip = 0;       ///< largest norm of a gradient; 0 = none
  /// Steps in which the rate rises from 0, by the same amount each; 0 = none. Local steps count each worker's own.
  std::int64_t warm_up = 0;
  RateScaling scaling = RateScaling::None;
  double base_batch = 1;  ///< samples for which `rate` is meant, where it is scaled
};

/// What its rate does beside staying: `, warm-up over 100 steps, rate times batch over 32`; empty where it stays.
[[nodiscard]] std::string schedule_text(const OptimizerSpec& spec);
[[nodiscard]] std::string_view name_of(RateScaling scaling);  ///< `none`, `linear`, `root`

/// Reads `momentum,rate=0.1,momentum=0.9` or `sgd,rate=0.01,warm-up=100,scaling=linear,base-batch=32`: a kind, then what differs
/// from the defaults.
/// Errors: learn-001, one line that says what is allowed. Held by: src/learn/optimize/optimizer_spec_test.cpp
[[nodiscard]] Result<OptimizerSpec> read_optimizer(std::string_view text);

}  // namespace cox::learn
