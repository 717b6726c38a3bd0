// SPDX-License-Identifier: Apache-2.0
// Workers of different speed and how a batch is dealt to them: C.8.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "cox/base/elementary.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/random.hpp"

#include "study/compute/batch_split.hpp"
#include "study/compute/collective_run.hpp"
#include "study/compute/computations.hpp"
#include "study/compute/replicas.hpp"

namespace cox::study {
namespace {

/// How speeds are drawn: uniform in 1 +- spread, or lognormal of mean 1.
struct SpeedLaw {
  bool uniform = true;
  double spread = 0;
};

void draw_speeds(const SpeedLaw& law, const RandomStream& stream, std::uint64_t step,
                 std::span<double> speeds) {
  if (law.uniform) {
    stream.uniforms(step, 0, speeds);
    for (double& s : speeds) s = 1 - law.spread + 2 * law.spread * s;
    return;
  }
  const double variance = logarithm(1 + law.spread * law.spread);
  stream.normals(step, 0, speeds);
  for (double& s : speeds) s = std::sqrt(variance) * s - variance / 2;
  exponentials(speeds);
}

/// Step times of one draw, in units of a sample at speed 1.
struct Draw {
  double equal = 0;
  double ideal = 0;
  double whole = 0;
};

std::vector<Draw> draw_all(const SpeedLaw& law, int workers, int batch, int draws, int threads) {
  const RandomStream stream(1, 0);
  std::vector<Draw> out(static_cast<std::size_t>(draws));
  const std::vector<int> equal = split_equally(batch, workers);
  parallel_for(out.size(), threads, [&](std::size_t i) {
    std::vector<double> speeds(static_cast<std::size_t>(workers));
    draw_speeds(law, stream, i, speeds);
    out[i] = {.equal = slowest(equal, speeds),
              .ideal = batch / std::accumulate(speeds.begin(), speeds.end(), 0.0),
              .whole = slowest(split_by_speed(batch, speeds), speeds)};
  });
  return out;
}

template <class F>
std::vector<double> each(const std::vector<Draw>& all, const F& value) {
  std::vector<double> out;
  for (const Draw& d : all) out.push_back(value(d));
  return out;
}

}  // namespace

Result<Computation> compute_load_balancing(const Inputs& in, const ComputeOptions& options) {
  COX_TRY(const int workers, in.count("workers", {.least = 1, .most = 1024}));
  COX_TRY(const int batch, in.count("batch"));
  COX_TRY(const double half_range, in.ratio("speed law"));
  COX_TRY(const auto cvs, in.list("other speed laws", Dimension::Ratio));
  COX_TRY(const Seconds sample, in.time("time per sample"));
  COX_TRY(const Seconds said_equal, in.time("equal, as printed"));
  COX_TRY(const Seconds said_by_speed, in.time("by speed, as printed"));
  COX_TRY(const int draws, in.count("draws", {.least = 2, .most = 100'000}));
  COX_TRY(const double gap, in.ratio("speed difference of the claim"));
  if (half_range >= 1)
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "study-003",
                      .message = "input 'speed law' is 100 % or more: speeds would be zero",
                      .hint = "give the half range of a uniform law, below 100 %",
                      .where = Where{.file = in.study().file}});
  COX_CHECK(in.check_draws(static_cast<double>(workers) * workers * draws, "workers squared and draws"));
  const double said = said_equal / said_by_speed;
  Computation out;
  add(out, "ratio-of-its-own-parts", Quantity::ratio(said), kClosedForm);
  Series bars{.name = "ratio", .x = {}, .y = {}};
  std::vector<std::string> names;
  std::vector<SpeedLaw> laws = {{.uniform = true, .spread = half_range}};
  for (const WrittenQuantity& cv : cvs) laws.push_back({.uniform = false, .spread = cv.value.in_base_unit()});
  for (const SpeedLaw& law : laws) {
    const std::vector<Draw> all = draw_all(law, workers, batch, draws, options.threads);
    const std::string name = law.uniform ? "uniform" : fmt::format("lognormal-cv{:g}", law.spread);
    add_mean(out, fmt::format("equal-{}", name), Dimension::Time,
             each(all, [&](const Draw& d) { return d.equal * sample.count(); }));
    add_mean(out, fmt::format("by-speed-{}", name), Dimension::Time,
             each(all, [&](const Draw& d) { return d.whole * sample.count(); }));
    add_mean(out, fmt::format("ratio-{}", name), Dimension::Ratio,
             each(all, [](const Draw& d) { return d.equal / d.ideal; }));
    bars.y.push_back(out.values.back().value.in_base_unit());
    add_mean(out, fmt::format("ratio-whole-samples-{}", name), Dimension::Ratio,
             each(all, [](const Draw& d) { return d.equal / d.whole; }));
    add_mean(out, fmt::format("cost-of-whole-samples-{}", name), Dimension::Ratio,
             each(all, [](const Draw& d) { return d.whole / d.ideal - 1; }));
    add_mean(out, fmt::format("draws-with-the-printed-ratio-{}", name), Dimension::Ratio,
             each(all, [&](const Draw& d) { return d.equal / d.ideal >= said ? 1.0 : 0.0; }));
    names.push_back(name);
  }
  add(out, "loss-by-speed-difference", Quantity::ratio(1 - 1 / (1 + gap)), kClosedForm);
  out.notes = {
      "Equal: batch / workers each. By speed: whole samples, dealt so that the slowest is as fast as can be. "
      "The ratio is that of equal to fractional shares, mean over minimum of the speeds.",
      "What the source calls static here (L2365) it calls dynamic in the analysis (L2833)."};
  out.picture = {.kind = Picture::Kind::Bars,
                 .title = fmt::format("Equal shares over shares by speed, {} workers", workers),
                 .x_label = "law of the speeds",
                 .y_label = "ratio of step times",
                 .series = {std::move(bars)},
                 .categories = std::move(names)};
  return out;
}

}  // namespace cox::study
