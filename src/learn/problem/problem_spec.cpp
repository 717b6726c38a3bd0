// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cox/learn/problem.hpp"

#include "learn/problem/least_squares.hpp"
#include "learn/problem/quadratic.hpp"
#include "learn/problem/settings.hpp"

namespace cox::learn {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"quadratic", "least-squares"};
constexpr double kMostParameters = 1e8;
constexpr double kMostWorkers = 1 << 20;
constexpr double kMostSeed = 9e15;  // whole as a double

std::vector<Setting> settings_of(ProblemSpec& s) {
  std::vector<Setting> all = {{"dimension", &s.dimension, 1, kMostParameters},
                              {"noise", &s.noise, 0, 1e9},
                              {"seed", &s.seed, 0, kMostSeed}};
  const auto add = [&](std::initializer_list<Setting> more) { all.insert(all.end(), more); };
  switch (s.kind) {
    case ProblemKind::Quadratic:
      add({{"condition", &s.condition, 1, 1e12},
           {"curvature", &s.curvature, 0, 1e9},
           {"spread", &s.spread, 0, 1e9},
           {"hessian-spread", &s.hessian_spread, 0, 1, true},
           {"workers", &s.workers, s.spread > 0 || s.hessian_spread > 0 ? 2.0 : 1.0, kMostWorkers},
           {"reflections", &s.reflections, 0, 64}});
      break;
    case ProblemKind::LeastSquares:
      break;
  }
  return all;
}

}  // namespace

std::string_view name_of(ProblemKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

Result<ProblemSpec> read_problem(std::string_view text) {
  const std::string_view kind = take_kind(text);
  COX_TRY(const std::size_t found, find_kind("problem", kind, kNames));
  ProblemSpec spec{.kind = static_cast<ProblemKind>(found)};
  COX_CHECK(read_settings(kind, text, settings_of(spec)));
  COX_CHECK(check_settings(kind, settings_of(spec)));  // again: the range of `workers` depends on the others
  return spec;
}

Result<std::unique_ptr<Problem>> make_problem(const ProblemSpec& spec) {
  ProblemSpec checked = spec;
  COX_CHECK(check_settings(name_of(spec.kind), settings_of(checked)));
  switch (spec.kind) {
    case ProblemKind::Quadratic:
      return std::make_unique<Quadratic>(spec);
    case ProblemKind::LeastSquares:
      break;
  }
  return std::make_unique<LeastSquares>(spec);
}

}  // namespace cox::learn
