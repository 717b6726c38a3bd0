// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "cox/learn/optimizer.hpp"

#include "learn/problem/settings.hpp"

namespace cox::learn {
namespace {

constexpr std::array<std::string_view, 7> kNames = {"sgd",   "momentum", "nesterov", "adam",
                                                    "adamw", "lars",     "lamb"};

constexpr std::array<std::string_view, 3> kScalings = {"none", "linear", "root"};

std::vector<Setting> settings_of(OptimizerSpec& s, std::int64_t& scaling) {
  std::vector<Setting> all = {{"rate", &s.rate, 0, 1e9},
                              {"decay", &s.decay, 0, 1e9},
                              {"clip", &s.clip, 0, 1e30},
                              {"warm-up", &s.warm_up, 0, 1e9},
                              {"scaling", &scaling, 0, 2, false, kScalings},
                              {"base-batch", &s.base_batch, 1, 1e9}};
  const auto add = [&](std::initializer_list<Setting> more) { all.insert(all.end(), more); };
  switch (s.kind) {
    case OptimizerKind::Sgd:
      break;
    case OptimizerKind::Lars:
      add({{"trust", &s.trust, 0, 1e9}});
      [[fallthrough]];
    case OptimizerKind::Momentum:
    case OptimizerKind::Nesterov:
      add({{"momentum", &s.momentum, 0, 1, true}});
      break;
    case OptimizerKind::Adam:
    case OptimizerKind::AdamW:
    case OptimizerKind::Lamb:
      add({{"beta1", &s.beta1, 0, 1, true},
           {"beta2", &s.beta2, 0, 1, true},
           {"epsilon", &s.epsilon, 1e-30, 1e9}});
      break;
  }
  return all;
}

}  // namespace

std::string_view name_of(OptimizerKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(RateScaling scaling) {
  return kScalings[static_cast<std::size_t>(scaling)];
}

std::string schedule_text(const OptimizerSpec& spec) {
  std::string text;
  if (spec.warm_up > 0) text += fmt::format(", warm-up over {} steps", spec.warm_up);
  if (spec.scaling != RateScaling::None)
    text += fmt::format(", rate {} batch over {:g}",
                        spec.scaling == RateScaling::Linear ? "times" : "times the root of", spec.base_batch);
  return text;
}

Result<OptimizerSpec> read_optimizer(std::string_view text) {
  const std::string_view kind = take_kind(text);
  COX_TRY(const std::size_t found, find_kind("optimizer", kind, kNames));
  OptimizerSpec spec{.kind = static_cast<OptimizerKind>(found)};
  std::int64_t scaling = 0;
  COX_CHECK(read_settings(kind, text, settings_of(spec, scaling)));
  spec.scaling = static_cast<RateScaling>(scaling);
  return spec;
}

}  // namespace cox::learn
