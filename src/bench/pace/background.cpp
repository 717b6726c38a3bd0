// SPDX-License-Identifier: Apache-2.0
#include "cox/base/random.hpp"
#include "cox/bench/pace.hpp"

namespace cox::bench {
namespace {

constexpr std::uint32_t kBackgroundStream = 0x70616367;

}  // namespace

bool PaceBackground::is_on(std::uint64_t seed, std::int64_t draw) const {
  const std::int64_t number = draw / episode;
  const double u = RandomStream(seed, kBackgroundStream).uniform(static_cast<std::uint64_t>(number / 2), 0);
  return (number % 2 == 0 ? u : 1 - u) < share;
}

}  // namespace cox::bench
