// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cox/learn/optimizer.hpp"

#include "learn/problem/settings.hpp"

namespace cox::learn {
namespace {

constexpr std::array<std::string_view, 7> kNames = {"sgd",   "momentum", "nesterov", "adam",
                                                    "adamw", "lars",     "lamb"};

std::vector<Setting> settings_of(OptimizerSpec& s) {
  std::vector<Setting> all = {
      {"rate", &s.rate, 0, 1e9}, {"decay", &s.decay, 0, 1e9}, {"clip", &s.clip, 0, 1e30}};
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

Result<OptimizerSpec> read_optimizer(std::string_view text) {
  const std::string_view kind = take_kind(text);
  COX_TRY(const std::size_t found, find_kind("optimizer", kind, kNames));
  OptimizerSpec spec{.kind = static_cast<OptimizerKind>(found)};
  COX_CHECK(read_settings(kind, text, settings_of(spec)));
  return spec;
}

}  // namespace cox::learn
