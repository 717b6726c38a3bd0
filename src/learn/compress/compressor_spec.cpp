// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "learn/compress/compressor.hpp"
#include "learn/problem/settings.hpp"

namespace cox::learn {
namespace {

using Kind = CompressorKind;

// In the order of CompressorKind; then another name of max-scaled, whose levels are 127 where nothing is said.
constexpr std::array<std::string_view, 15> kNames = {
    "dense",    "top-k",    "random-k", "threshold", "qsgd",   "max-scaled", "terngrad", "sign",
    "sign-rms", "powersgd", "fp16",     "bf16",      "e4m3fn", "e5m2",       "int8"};
constexpr std::array<std::string_view, 2> kParts = {"all", "tensor"};
constexpr std::array<std::string_view, 2> kNoYes = {"no", "yes"};
constexpr std::array<std::string_view, 3> kFeedback = {"none", "error",
                                                       "ef21"};  // in the order of FeedbackKind

/// What is read as whole numbers, before it goes to where it belongs. -1: not said.
struct Numbers {
  std::int64_t levels = 127;
  std::int64_t rank = 1;
  std::int64_t part = 0;
  std::int64_t scaled = -1;
  std::int64_t feedback = -1;
  double scale = LossScaleSpec{}.factor;
  std::int64_t dynamic = -1;
  std::int64_t growth_interval = LossScaleSpec{}.growth_interval;
  std::int64_t master = 0;
};

std::vector<Setting> settings_of(CompressorSpec& s, Numbers& n) {
  std::vector<Setting> all;
  const auto add = [&](std::initializer_list<Setting> more) { all.insert(all.end(), more); };
  switch (s.kind) {
    case Kind::RandomK:
      add({{"scaled", &n.scaled, -1, 1, false, kNoYes}});
      [[fallthrough]];
    case Kind::TopK:
      add({{"keep", &s.keep, 1e-9, 1}, {"warm-up", &s.warm_up, 0, 1e12}});
      break;
    case Kind::Threshold:
      add({{"threshold", &s.threshold, 0, 1e30}});
      break;
    case Kind::Qsgd:
    case Kind::MaxScaled:
      add({{"levels", &n.levels, 1, 127}, {"bucket", &s.bucket, 0, 1e9}});
      break;
    case Kind::TernGrad:
      add({{"clip", &s.clip, 0, 1e6}});
      break;
    case Kind::PowerSgd:
      add({{"rank", &n.rank, 1, 1024}});
      break;
    case Kind::Bf16:
      add({{"master", &n.master, 0, 1, false, kNoYes}});
      break;
    case Kind::Fp16:
      add({{"master", &n.master, 0, 1, false, kNoYes},
           {"loss-scale", &n.scale, 0x1p-24, 0x1p24},
           {"dynamic", &n.dynamic, -1, 1, false, kNoYes},
           {"growth-interval", &n.growth_interval, 1, 1e9}});
      break;
    default:
      break;
  }
  add({{"per", &n.part, 0, 1, false, kParts}, {"feedback", &n.feedback, -1, 2, false, kFeedback}});
  return all;
}

/// Feedback where the text does not say.
FeedbackKind usual_feedback(const CompressorSpec& s) {
  switch (s.kind) {
    case Kind::TopK:
    case Kind::Threshold:
    case Kind::Sign:
    case Kind::SignRms:
    case Kind::PowerSgd:
      return FeedbackKind::Error;
    case Kind::TernGrad:
      return s.clip > 0 ? FeedbackKind::Error : FeedbackKind::None;
    default:
      return FeedbackKind::None;
  }
}

/// The loss scale that the text asks for, if it does.
Result<std::optional<LossScaleSpec>> loss_scale_of(const CompressorSpec& spec, const Numbers& n,
                                                   std::string_view text) {
  const auto says = [&](std::string_view key) { return text.find(key) != std::string_view::npos; };
  if (!says("loss-scale=") && !says("growth-interval=") && n.dynamic != 1)
    return std::optional<LossScaleSpec>{};
  const auto refuse = [](std::string message) {
    return fail({.code = Errc::Usage,
                 .id = "learn-001",
                 .message = std::move(message),
                 .hint = "like fp16,loss-scale=65536,dynamic=yes",
                 .where = std::nullopt});
  };
  LossScaleSpec scale;
  scale.factor = n.scale;
  scale.dynamic = n.dynamic == 1;
  int exponent = 0;
  if (std::frexp(scale.factor, &exponent) != 0.5) return refuse("loss-scale is no power of two");
  if (says("growth-interval=") && !scale.dynamic)
    return refuse("growth-interval has no meaning without dynamic=yes");
  scale.growth_interval = n.growth_interval;
  if (spec.feedback != FeedbackKind::None)
    return refuse("loss-scale has no meaning with feedback: what overflows is not kept");
  return scale;
}

}  // namespace

std::string_view name_of(CompressorKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

Result<CompressorSpec> read_compressor(std::string_view text) {
  const std::string_view name = take_kind(text);
  COX_TRY(const std::size_t found, find_kind("compressor", name, kNames));
  CompressorSpec spec{.kind = found + 1 == kNames.size() ? Kind::MaxScaled : static_cast<Kind>(found)};
  Numbers n;
  COX_CHECK(read_settings(name, text, settings_of(spec, n)));
  spec.levels = static_cast<int>(n.levels);
  spec.rank = static_cast<int>(n.rank);
  spec.by_tensor = n.part == 1;
  spec.feedback = n.feedback < 0 ? usual_feedback(spec) : static_cast<FeedbackKind>(n.feedback);
  COX_TRY(spec.loss_scale, loss_scale_of(spec, n, text));
  spec.master = n.master == 1;
  if (spec.master && spec.feedback != FeedbackKind::None)
    return fail({.code = Errc::Usage,
                 .id = "learn-001",
                 .message = "master=yes has no meaning with feedback: what is rounded off is not kept",
                 .hint = "leave feedback out",
                 .where = std::nullopt});
  // What is scaled leaves more than there was: with feedback it would grow.
  const bool unbiased = spec.feedback == FeedbackKind::None;
  const std::array<Setting, 1> scaled = {{{"scaled", &n.scaled, -1, unbiased ? 1.0 : 0.0}}};
  COX_CHECK(check_settings(unbiased ? name : "random-k with feedback", scaled));
  spec.scaled = n.scaled < 0 ? unbiased : n.scaled == 1;
  return spec;
}

}  // namespace cox::learn
