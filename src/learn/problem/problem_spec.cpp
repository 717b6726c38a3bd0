// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "cox/learn/problem.hpp"

#include "learn/problem/classifier.hpp"
#include "learn/problem/convolution.hpp"
#include "learn/problem/embedding.hpp"
#include "learn/problem/experts.hpp"
#include "learn/problem/least_squares.hpp"
#include "learn/problem/quadratic.hpp"
#include "learn/problem/settings.hpp"
#include "learn/problem/transformer.hpp"
#include "learn/text/licence_text.hpp"

namespace cox::learn {
namespace {

constexpr std::array<std::string_view, 8> kNames = {"quadratic", "least-squares", "logistic", "mlp",
                                                    "embedding", "convolution",   "experts",  "text"};
constexpr std::array<std::string_view, 2> kNorms = {"none", "batch"};

constexpr double kMostParameters = 1e8;
constexpr double kMostWorkers = 1 << 20;
constexpr double kMostSeed = 9e15;  // whole as a double

bool has_dimension(ProblemKind kind) {
  return kind < ProblemKind::Embedding;
}

std::vector<Setting> settings_of(ProblemSpec& s) {
  std::vector<Setting> all = {{"seed", &s.seed, 0, kMostSeed}};
  if (s.kind != ProblemKind::Text) all.insert(all.begin(), {"noise", &s.noise, 0, 1e9});
  if (has_dimension(s.kind)) all.insert(all.begin(), {"dimension", &s.dimension, 1, kMostParameters});
  const auto add = [&](std::initializer_list<Setting> more) { all.insert(all.end(), more); };
  switch (s.kind) {
    case ProblemKind::Quadratic:
      add({{"condition", &s.condition, 1, 1e12},
           {"curvature", &s.curvature, 0, 1e9},
           {"spread", &s.spread, 0, 1e9},
           {"hessian-spread", &s.hessian_spread, 0, 1, true},
           {"workers", &s.workers, 1, kMostWorkers},
           {"reflections", &s.reflections, 0, 64}});
      break;
    case ProblemKind::LeastSquares:
      break;
    case ProblemKind::Logistic:
      add({{"classes", &s.classes, 2, 1e3}, {"held-out", &s.held_out, 1, 1e6}});
      break;
    case ProblemKind::Mlp:
      all.front().least = 2 * static_cast<double>(s.pairs);  // of the dimension
      add({{"pairs", &s.pairs, 1, 10},
           {"hidden", &s.hidden, 2, 1e5},
           {"layers", &s.layers, 1, 16},
           {"blocks", &s.blocks, 1, 1024},
           {"held-out", &s.held_out, 1, 1e6}});
      break;
    case ProblemKind::Embedding:
      add({{"keys", &s.keys, 1, 1e7},
           {"zipf", &s.zipf, 0, 10},
           {"bag", &s.bag, 1, 1e4},
           {"width", &s.width, 1, 1e4},
           {"classes", &s.classes, 2, 1e3},
           {"held-out", &s.held_out, 1, 1e6}});
      break;
    case ProblemKind::Convolution:
      add({{"side", &s.side, 3, 32},
           {"filters", &s.filters, 1, 1e3},
           {"norm", &s.norm, 0, 1, false, kNorms},
           {"group", &s.group, 0, 1 << 20},
           {"classes", &s.classes, 2, 1e3},
           {"held-out", &s.held_out, 1, 1e6}});
      break;
    case ProblemKind::Experts:
      add({{"experts", &s.experts, 1, 1024},
           {"top", &s.top, 1, std::min<double>(2, static_cast<double>(s.experts))},
           {"capacity", &s.capacity, 0, 1e3},
           {"balance", &s.balance, 0, 1e3},
           {"kinds", &s.kinds, 1, 1e3},
           {"zipf", &s.zipf, 0, 10},
           {"width", &s.width, 1, 1e3},
           {"classes", &s.classes, 2, 1e3},
           {"held-out", &s.held_out, 1, 1e6}});
      break;
    case ProblemKind::Text:
      add({{"hidden", &s.hidden, 1, 1024},
           {"heads", &s.heads, 1, 16},
           {"layers", &s.layers, 1, 16},
           {"blocks", &s.blocks, 1, 1024},
           {"context", &s.context, 1, 256},
           {"held-out", &s.held_out, 1, 1e6}});
      break;
  }
  return all;
}

/// Weights without biases.
double weights_of(const ProblemSpec& s) {
  if (s.kind == ProblemKind::Embedding)  // or numbers that make the labels
    return static_cast<double>(std::max(s.width, s.classes) * s.keys + s.width * s.classes);
  if (s.kind == ProblemKind::Convolution)
    return static_cast<double>(s.filters) * static_cast<double>(9 + s.classes);
  if (s.kind == ProblemKind::Experts)  // the same
    return static_cast<double>(s.width) * static_cast<double>(std::max(s.experts, s.kinds) * (s.classes + 1));
  if (s.kind == ProblemKind::Text)
    return static_cast<double>(s.layers) * 12 * static_cast<double>(s.hidden * s.hidden);
  const auto inputs = static_cast<double>(s.dimension);
  if (s.kind == ProblemKind::Logistic) return inputs * static_cast<double>(s.classes);
  if (s.kind != ProblemKind::Mlp) return inputs;
  const auto hidden = static_cast<double>(s.hidden);
  return hidden * (inputs + hidden * static_cast<double>(s.layers - 1) + static_cast<double>(1 << s.pairs));
}

/// A job has workers; a problem that is read may leave their number to it.
Status check_workers(const ProblemSpec& s) {
  if ((s.spread <= 0 && s.hessian_spread <= 0) || s.workers >= 2) return {};
  return fail(Error{.code = Errc::Usage,
                    .id = "learn-001",
                    .message = fmt::format("{} has one worker, and its workers differ", name_of(s.kind)),
                    .hint = "a job of two workers or more, or no spread",
                    .where = {}});
}

/// Each value, and whether they fit each other.
Status check(ProblemSpec spec) {
  COX_CHECK(check_settings(name_of(spec.kind), settings_of(spec)));
  if (spec.kind == ProblemKind::Text && spec.hidden % spec.heads != 0)
    return fail(Error{.code = Errc::Usage,
                      .id = "learn-001",
                      .message = fmt::format("hidden of text is {}, expected a multiple of its {} heads",
                                             spec.hidden, spec.heads),
                      .hint = "",
                      .where = {}});
  const std::int64_t slices = most_slices(spec);
  const bool aligned =
      std::has_single_bit(static_cast<std::uint64_t>(spec.blocks)) && slices % spec.blocks == 0;
  if (slices > 0 && !aligned)
    return fail(
        Error{.code = Errc::Usage,
              .id = "learn-001",
              .message = fmt::format("blocks of {} is {}, expected a power of two that divides its {} {}",
                                     name_of(spec.kind), spec.blocks, slices,
                                     spec.kind == ProblemKind::Text ? "heads" : "hidden"),
              .hint = "",
              .where = {}});
  if (weights_of(spec) > kMostParameters)
    return fail(Error{.code = Errc::Usage,
                      .id = "learn-001",
                      .message = fmt::format("{} would have {} weights, expected {} at most",
                                             name_of(spec.kind), weights_of(spec), kMostParameters),
                      .hint = "",
                      .where = {}});
  return {};
}

}  // namespace

std::string_view name_of(ProblemKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

std::int64_t most_slices(const ProblemSpec& spec) {
  if (spec.kind == ProblemKind::Mlp) return spec.hidden;
  return spec.kind == ProblemKind::Text ? spec.heads : 0;
}

Result<ProblemSpec> read_problem(std::string_view text) {
  const std::string_view kind = take_kind(text);
  COX_TRY(const std::size_t found, find_kind("problem", kind, kNames));
  ProblemSpec spec{.kind = static_cast<ProblemKind>(found)};
  COX_CHECK(read_settings(kind, text, settings_of(spec)));
  COX_CHECK(check(spec));  // again: some ranges depend on other values
  return spec;
}

Result<std::unique_ptr<Problem>> make_problem(const ProblemSpec& spec) {
  COX_CHECK(check(spec));
  COX_CHECK(check_workers(spec));
  switch (spec.kind) {
    case ProblemKind::Quadratic:
      return std::make_unique<Quadratic>(spec);
    case ProblemKind::LeastSquares:
      return std::make_unique<LeastSquares>(spec);
    case ProblemKind::Logistic:
    case ProblemKind::Mlp:
      return std::make_unique<Classifier>(spec);
    case ProblemKind::Embedding:
      return std::make_unique<Embedding>(spec);
    case ProblemKind::Convolution:
      return std::make_unique<Convolution>(spec);
    case ProblemKind::Experts:
      return std::make_unique<Experts>(spec);
    case ProblemKind::Text:
      break;
  }
  COX_TRY(SymbolTexts texts, read_licences());
  return std::make_unique<Transformer>(spec, std::move(texts));
}

}  // namespace cox::learn
