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
#include "cox/simulate/noise.hpp"
#include "cox/simulate/training.hpp"
#include "cox/study/replicas.hpp"

#include "study/compute/computations.hpp"
#include "study/runs/batch_split.hpp"
#include "study/runs/collective_run.hpp"
#include "study/runs/training_run.hpp"

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

/// The job.
struct Job {
  int workers = 1;
  int batch = 1;
  Seconds sample{};  ///< at speed 1
  int draws = 2;
  int threads = 0;
};

/// Step times of one draw, in units of a sample at speed 1.
struct Draw {
  double equal = 0;
  double ideal = 0;
  double whole = 0;
  double idle_equal = 0;  ///< share of the workers' time
  double idle_whole = 0;
};

/// What is left of the workers' time until the slowest is done.
double idle_share(std::span<const int> sizes, std::span<const double> speeds) {
  double busy = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) busy += sizes[i] / speeds[i];
  return 1 - busy / (static_cast<double>(sizes.size()) * slowest(sizes, speeds));
}

double ideal_time(int batch, std::span<const double> speeds) {
  return batch / std::accumulate(speeds.begin(), speeds.end(), 0.0);
}

std::vector<Draw> draw_all(const SpeedLaw& law, const Job& job) {
  const RandomStream stream(1, 0);
  std::vector<Draw> out(static_cast<std::size_t>(job.draws));
  const std::vector<int> equal = split_equally(job.batch, job.workers);
  parallel_for(out.size(), job.threads, [&](std::size_t i) {
    std::vector<double> speeds(static_cast<std::size_t>(job.workers));
    draw_speeds(law, stream, i, speeds);
    const std::vector<int> whole = split_by_speed(job.batch, speeds);
    out[i] = {.equal = slowest(equal, speeds),
              .ideal = ideal_time(job.batch, speeds),
              .whole = slowest(whole, speeds),
              .idle_equal = idle_share(equal, speeds),
              .idle_whole = idle_share(whole, speeds)};
  });
  return out;
}

template <class F>
std::vector<double> each(const std::vector<Draw>& all, const F& value) {
  std::vector<double> out;
  out.reserve(all.size());
  for (const Draw& d : all) out.push_back(value(d));
  return out;
}

std::string name_of(const SpeedLaw& law) {
  return law.uniform ? "uniform" : fmt::format("lognormal-cv{:g}", law.spread);
}

tl::unexpected<Error> refuse(const Inputs& in, std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-003",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = Where{.file = in.study().file}});
}

Result<Job> job_of(const Inputs& in, const ComputeOptions& options) {
  Job job;
  COX_TRY(job.workers, in.count("workers", {.least = 2, .most = 1024}));
  COX_TRY(job.batch, in.count("batch", {.least = 1, .most = 100'000}));
  COX_TRY(job.sample, in.time("time per sample"));
  COX_TRY(job.draws, in.count("draws", {.least = 2, .most = 100'000}));
  job.threads = options.threads;
  COX_CHECK(in.check_draws(static_cast<double>(job.workers) * job.workers * job.draws,
                           "workers squared and draws"));
  if (job.batch < job.workers)
    return refuse(in,
                  fmt::format("input 'batch' is {}, which is less than a sample for each of {} workers",
                              job.batch, job.workers),
                  "give a larger batch");
  return job;
}

/// A mean over draws, added under `name`; as text.
std::string add_mean_text(Computation& out, std::string name, const std::vector<double>& sample) {
  add_mean(out, std::move(name), Dimension::Ratio, sample);
  return to_string(out.values.back().value);
}

/// Mean times under the first law; the printed ones stand beside them.
Picture times_picture(const Computation& out, const SpeedLaw& law) {
  Series times{.name = "mean of the draws", .x = {}, .y = {}, .of = {}};
  for (const char* what : {"equal", "by-speed"}) {
    times.of.push_back(fmt::format("{}-{}", what, name_of(law)));
    for (const Computed& c : out.values)
      if (c.name == times.of.back()) times.y.push_back(c.value.in_base_unit() * 1e3);
  }
  return {.kind = Picture::Kind::Bars,
          .title = fmt::format("Step times, speeds {}", name_of(law)),
          .x_label = "",
          .y_label = "ms",
          .series = {std::move(times)},
          .categories = {"equal shares", "shares by speed"}};
}

/// Equal shares against shares by speed; the picture.
Status add_laws(Computation& out, const Inputs& in, const Job& job, const std::vector<SpeedLaw>& laws) {
  COX_TRY(const Seconds said_equal, in.time("equal, as printed"));
  COX_TRY(const Seconds said_by_speed, in.time("by speed, as printed"));
  const double said = said_equal / said_by_speed;
  add(out, "ratio-of-its-own-parts", Quantity::ratio(said), kClosedForm);
  Series bars{.name = "ratio", .x = {}, .y = {}, .of = {}};
  std::vector<std::string> names;
  ValueTable table{.title = "Idle workers",
                   .says = {},
                   .columns = {"law of the speeds", "idle, equal", "idle, by speed", "loss recovered"},
                   .rows = {}};
  for (const SpeedLaw& law : laws) {
    const std::vector<Draw> all = draw_all(law, job);
    const std::string name = name_of(law);
    add_mean(out, fmt::format("equal-{}", name), Dimension::Time,
             each(all, [&](const Draw& d) { return d.equal * job.sample.count(); }));
    add_mean(out, fmt::format("by-speed-{}", name), Dimension::Time,
             each(all, [&](const Draw& d) { return d.whole * job.sample.count(); }));
    add_mean(out, fmt::format("ratio-{}", name), Dimension::Ratio,
             each(all, [](const Draw& d) { return d.equal / d.ideal; }));
    bars.y.push_back(out.values.back().value.in_base_unit());
    bars.of.push_back(out.values.back().name);
    add_mean(out, fmt::format("ratio-whole-samples-{}", name), Dimension::Ratio,
             each(all, [](const Draw& d) { return d.equal / d.whole; }));
    add_mean(out, fmt::format("cost-of-whole-samples-{}", name), Dimension::Ratio,
             each(all, [](const Draw& d) { return d.whole / d.ideal - 1; }));
    add_mean(out, fmt::format("draws-with-the-printed-ratio-{}", name), Dimension::Ratio,
             each(all, [&](const Draw& d) { return d.equal / d.ideal >= said ? 1.0 : 0.0; }));
    table.rows.push_back({name,
                          add_mean_text(out, fmt::format("idle-equal-{}", name),
                                        each(all, [](const Draw& d) { return d.idle_equal; })),
                          add_mean_text(out, fmt::format("idle-by-speed-{}", name),
                                        each(all, [](const Draw& d) { return d.idle_whole; })),
                          add_mean_text(out, fmt::format("recovered-{}", name), each(all, [](const Draw& d) {
                                          return d.equal > d.ideal ? (d.equal - d.whole) / (d.equal - d.ideal)
                                                                   : 1;
                                        }))});
    names.push_back(name);
  }
  table.says = fmt::format(
      "Until the slowest of {} is done, {} of the workers' time is idle with equal shares under the uniform law, and {} "
      "with shares by speed; recovered is what they bring of what fractional shares would.",
      job.workers, table.rows.front()[1], table.rows.front()[2]);
  out.tables.push_back(std::move(table));
  out.picture = {.kind = Picture::Kind::Bars,
                 .title = fmt::format("Equal shares over shares by speed, {} workers", job.workers),
                 .x_label = "law of the speeds",
                 .y_label = "ratio of step times",
                 .series = {std::move(bars)},
                 .categories = std::move(names),
                 .below = {times_picture(out, laws.front())}};
  return {};
}

/// A rule by which a batch is dealt.
struct Limit {
  std::string name;
  std::string title;
  ShareBounds bounds{};
  double ratio = 0;  ///< largest over smallest share; 0 = any

  [[nodiscard]] std::optional<std::vector<int>> split(int batch, std::span<const double> speeds) const {
    return ratio > 0 ? split_by_ratio(batch, speeds, ratio) : split_within(batch, speeds, bounds);
  }
};

Result<std::vector<Limit>> limits_of(const Inputs& in, const Job& job) {
  COX_TRY(const std::vector<int> caps, in.counts("memory caps", {.least = 1, .most = 100'000}));
  COX_TRY(const std::vector<double> ratios,
          in.ratios("largest over smallest share", {.above = 1, .most = 100}));
  std::vector<Limit> limits = {{"none", "none", {}, 0}};
  for (const int cap : caps)
    limits.push_back(
        {fmt::format("cap-{}", cap), fmt::format("at most {} samples", cap), {.least = 0, .most = cap}, 0});
  for (const double r : ratios)
    limits.push_back(
        {fmt::format("ratio-{:g}", r), fmt::format("at most {:g} times the smallest", r), {}, r});
  const std::vector<double> alike(static_cast<std::size_t>(job.workers), 1.0);
  for (const Limit& l : limits)
    if (!l.split(job.batch, alike))
      return refuse(in,
                    fmt::format("{} samples cannot be dealt to {} workers with a share of {}", job.batch,
                                job.workers, l.title),
                    "make inputs 'memory caps' or 'largest over smallest share' larger");
  return limits;
}

/// What memory and bounded ratios cost, over fractional shares.
Status add_limits(Computation& out, const Inputs& in, const Job& job, const std::vector<SpeedLaw>& laws) {
  COX_TRY(const std::vector<Limit> limits, limits_of(in, job));
  COX_TRY(const int draws, in.count("draws of the limits", {.least = 2, .most = 10'000}));
  COX_CHECK(in.check_draws(static_cast<double>(job.workers) * job.batch * job.batch / job.workers * draws,
                           "batch squared and draws of the limits"));
  const RandomStream stream(2, 0);
  ValueTable table{.title = "Limits of a share", .says = {}, .columns = {"limit"}, .rows = {}};
  for (const Limit& l : limits) table.rows.push_back({l.title});
  for (const SpeedLaw& law : {laws.front(), laws.back()}) {
    table.columns.push_back(fmt::format("step over fractional shares, {}", name_of(law)));
    for (std::size_t k = 0; k < limits.size(); ++k) {
      std::vector<double> over(static_cast<std::size_t>(draws));
      parallel_for(over.size(), job.threads, [&](std::size_t i) {
        std::vector<double> speeds(static_cast<std::size_t>(job.workers));
        draw_speeds(law, stream, i, speeds);
        over[i] = slowest(*limits[k].split(job.batch, speeds), speeds) / ideal_time(job.batch, speeds);
      });
      table.rows[k].push_back(
          add_mean_text(out, fmt::format("over-ideal-{}-{}", limits[k].name, name_of(law)), over));
    }
  }
  table.says = fmt::format(
      "Shares by speed of {} samples over {} workers. Without a limit the step takes {} and {} of what fractional shares "
      "take; {} it takes {} and {}.",
      job.batch, job.workers, table.rows[0][1], table.rows[0][2], limits[1].title, table.rows[1][1],
      table.rows[1][2]);
  out.tables.push_back(std::move(table));
  return {};
}

/// Speeds that drift, and a split that is made anew now and then from the last step's times.
Status add_drift(Computation& out, const Inputs& in, const Job& job) {
  COX_TRY(const double cv, in.ratio("coefficient of the drift", {.above = 0, .most = 2}));
  COX_TRY(const double correlation,
          in.ratio("correlation of a step with the next", {.above = -1e-9, .most = 0.999999}));
  COX_TRY(const std::vector<int> periods, in.counts("steps between splits", {.least = 1, .most = 100'000}));
  COX_TRY(const int steps, in.count("steps of the drift", {.least = 1, .most = 10'000}));
  COX_TRY(const int seeds, in.count("seeds of the drift", {.least = 2, .most = 100}));
  COX_CHECK(in.check_draws(static_cast<double>(job.workers) * job.workers * steps * seeds,
                           "workers squared, steps and seeds of the drift"));
  model::NoiseSource drift;
  drift.name = "drift";
  drift.law = model::NoiseLaw::Lognormal;
  drift.cv = cv;
  drift.correlation = correlation;
  COX_TRY(const simulate::Noise noise, simulate::Noise::make({drift}, {.ranks = job.workers}, 1));
  const auto workers = static_cast<std::size_t>(job.workers);
  const std::vector<int> equal = split_equally(job.batch, job.workers);
  std::vector<std::vector<double>> over(periods.size() + 1,
                                        std::vector<double>(static_cast<std::size_t>(seeds)));
  parallel_for(static_cast<std::size_t>(seeds), job.threads, [&](std::size_t seed) {
    const simulate::Noise mine = noise.with_seed(seed + 1);
    simulate::NoiseMemory memory;
    const std::vector<Seconds> base(workers, Seconds{1});
    std::vector<Seconds> times(workers);
    std::vector<double> speeds(workers);
    std::vector<std::vector<int>> sizes(periods.size(), equal);
    for (int step = 0; step < steps; ++step) {
      for (std::size_t p = 0; p < periods.size() && step > 0; ++p)
        if ((step - 1) % periods[p] == 0) sizes[p] = split_by_speed(job.batch, speeds);
      mine.compute(step, 0, base, times, {}, &memory);
      for (std::size_t w = 0; w < workers; ++w) speeds[w] = 1 / times[w].count();
      const double ideal = ideal_time(job.batch, speeds) * steps;
      for (std::size_t p = 0; p < periods.size(); ++p) over[p][seed] += slowest(sizes[p], speeds) / ideal;
      over.back()[seed] += slowest(equal, speeds) / ideal;
    }
  });
  ValueTable table{
      .title = "Splitting anew", .says = {}, .columns = {"split", "step over fractional shares"}, .rows = {}};
  for (std::size_t p = 0; p < periods.size(); ++p)
    table.rows.push_back({periods[p] >= steps ? "once"
                          : periods[p] == 1   ? "every step"
                                              : fmt::format("every {} steps", periods[p]),
                          add_mean_text(out, fmt::format("over-ideal-resplit-{}", periods[p]), over[p])});
  table.rows.push_back({"never: equal shares", add_mean_text(out, "over-ideal-drifting-equal", over.back())});
  table.says = fmt::format(
      "Speeds drift: their coefficient of variation is {:g}, and a step's correlate by {:g} with the next one's. A split "
      "from the last step's times costs {} of the ideal when it is made {}, and {} when it is made {}; equal shares cost {}.",
      cv, correlation, table.rows.front()[1], table.rows.front()[0], table.rows[periods.size() - 1][1],
      table.rows[periods.size() - 1][0], table.rows.back()[1]);
  out.tables.push_back(std::move(table));
  return {};
}

/// Workers of fixed speeds as a training job whose messages cost nothing.
model::Scenario job_of_speeds(std::span<const double> speeds, Seconds share, int steps) {
  const double fastest = *std::max_element(speeds.begin(), speeds.end());
  model::Scenario s =
      data_parallel_job(static_cast<int>(speeds.size()), {}, {{.forward = share / fastest}}, Bytes{1});
  s.job.steps = steps;
  for (std::size_t w = 0; w < speeds.size(); ++w) {
    if (speeds[w] == fastest) continue;
    model::NoiseSource slow;
    slow.name = fmt::format("worker {}", w);
    slow.law = model::NoiseLaw::Constant;
    slow.mean_ratio = fastest / speeds[w] - 1;
    slow.ranks = {static_cast<int>(w)};
    s.noise.push_back(std::move(slow));
  }
  return s;
}

/// What a policy does with a job while its fastest worker would compute all of its steps.
struct Progress {
  double rate = 0;  ///< of updates that count, over a barrier's
  double age = 0;
  double unused = 0;  ///< share of the updates
};

Result<Progress> progress_of(const model::Scenario& s, std::span<const double> speeds, Seconds share,
                             int steps) {
  COX_TRY(const simulate::PolicyOutcome o, simulate::simulate_policy(s, 1));
  const auto [least, most] = std::minmax_element(speeds.begin(), speeds.end());
  const Seconds until = steps * share / *most;
  Progress p;
  double applied = 0;
  double made = 0;
  for (std::size_t i = 0; i < o.log.size(); ++i) {
    if (o.at[i] > until) break;
    ++made;
    if (!o.log[i].applied) continue;
    ++applied;
    p.age += static_cast<double>(o.log[i].age());
  }
  p.rate = applied / (static_cast<double>(speeds.size()) * (until * *least / share));
  if (applied > 0) p.age /= applied;
  if (made > 0) p.unused = 1 - applied / made;
  return p;
}

/// Equal shares under policies that do not wait for everybody.
Status add_policies(Computation& out, const Inputs& in, const Job& job, const SpeedLaw& law) {
  COX_TRY(const std::vector<int> bounds, in.counts("staleness bounds", {.least = 0, .most = 10'000}));
  COX_TRY(const int late, in.count("workers not waited for", {.least = 1, .most = job.workers - 1}));
  COX_TRY(const int steps, in.count("steps of the policies", {.least = 2, .most = 10'000}));
  COX_TRY(const int draws, in.count("draws of the policies", {.least = 2, .most = 1000}));
  COX_CHECK(in.check_draws(100.0 * job.workers * steps * draws, "workers, steps and draws of the policies"));
  std::vector<std::tuple<std::string, std::string, model::PolicySpec>> policies = {
      {"backup",
       fmt::format("barrier without the slowest {}", late),
       {.kind = model::PolicyKind::Backup, .backups = late}}};
  for (const int b : bounds) {
    policies.emplace_back(fmt::format("wait-{}", b), fmt::format("wait beyond {} steps ahead", b),
                          model::PolicySpec{.kind = model::PolicyKind::BoundedWait, .staleness = b});
    policies.emplace_back(fmt::format("discard-{}", b), fmt::format("discard beyond age {}", b),
                          model::PolicySpec{.kind = model::PolicyKind::BoundedDiscard, .staleness = b});
  }
  policies.emplace_back("asynchronous", "asynchronous",
                        model::PolicySpec{.kind = model::PolicyKind::Asynchronous});
  const Seconds share = job.sample * job.batch / job.workers;
  const RandomStream stream(3, 0);
  ValueTable table{.title = "Not waiting for everybody",
                   .says = {},
                   .columns = {"policy", "updates over a barrier's", "mean age", "not used"},
                   .rows = {}};
  std::vector<double> gain(static_cast<std::size_t>(draws));
  for (const auto& [name, title, policy] : policies) {
    std::vector<double> rate;
    std::vector<double> age;
    std::vector<double> unused;
    for (std::size_t i = 0; i < gain.size(); ++i) {
      std::vector<double> speeds(static_cast<std::size_t>(job.workers));
      draw_speeds(law, stream, i, speeds);
      model::Scenario s = job_of_speeds(speeds, share, steps);
      s.policy = policy;
      COX_TRY(const Progress p, progress_of(s, speeds, share, steps));
      rate.push_back(p.rate);
      age.push_back(p.age);
      unused.push_back(p.unused);
      gain[i] = std::accumulate(speeds.begin(), speeds.end(), 0.0) /
                (job.workers * *std::min_element(speeds.begin(), speeds.end()));
    }
    table.rows.push_back({title, add_mean_text(out, fmt::format("updates-{}", name), rate)});
    add_mean(out, fmt::format("age-{}", name), Dimension::Count, age);
    table.rows.back().push_back(to_string(out.values.back().value));
    table.rows.back().push_back(add_mean_text(out, fmt::format("unused-{}", name), unused));
    if (name != "asynchronous") continue;
    // Everybody at his own speed: mean over minimum of the speeds, but for the update that each is in.
    const double exact = std::accumulate(gain.begin(), gain.end(), 0.0) / draws;
    out.checks.push_back({.name = "asynchronous updates: mean over minimum of the speeds",
                          .engine = Quantity::ratio(std::accumulate(rate.begin(), rate.end(), 0.0) / draws),
                          .oracle = Quantity::ratio(exact),
                          .limit_ratio = 1.0 / steps});
  }
  table.says = fmt::format(
      "Equal shares, each worker of one speed for ever, {} steps of the fastest, no messages. Asynchronous workers make {} "
      "of the updates of a barrier, aged {} versions; waiting only puts the wait off. What an aged update is worth is not "
      "computed here.",
      steps, table.rows.back()[1], table.rows.back()[2]);
  out.tables.push_back(std::move(table));
  return {};
}

/// Whether the workers' gradients add up to that of the batch.
Status add_gradients(Computation& out, const Inputs& in, const Job& job, const SpeedLaw& law) {
  COX_TRY(const double spread, in.ratio("spread of gradients", {.above = 0, .most = 1000}));
  COX_TRY(const int draws, in.count("draws of the gradients", {.least = 2, .most = 100'000}));
  COX_CHECK(in.check_draws(static_cast<double>(job.batch) * draws, "batch and draws of the gradients"));
  const RandomStream of_speeds(4, 0);
  const RandomStream of_samples(4, 1);
  double weighted = 0;
  double squares = 0;
  double expected = 0;
  std::vector<double> samples(static_cast<std::size_t>(job.batch));
  std::vector<double> speeds(static_cast<std::size_t>(job.workers));
  for (int i = 0; i < draws; ++i) {
    const auto draw = static_cast<std::uint64_t>(i);
    draw_speeds(law, of_speeds, draw, speeds);
    of_samples.normals(draw, 0, samples);
    for (double& g : samples) g = 1 + spread * g;
    const std::vector<int> sizes = split_by_speed(job.batch, speeds);
    const double whole = std::accumulate(samples.begin(), samples.end(), 0.0) / job.batch;
    double by_samples = 0;
    double by_workers = 0;
    double inverse = 0;
    int working = 0;
    auto first = samples.begin();
    for (const int n : sizes) {
      if (n == 0) continue;
      const double own = std::accumulate(first, first + n, 0.0) / n;
      first += n;
      by_samples += own * n / job.batch;
      by_workers += own;
      inverse += 1.0 / n;
      ++working;
    }
    const double off = by_workers / working - whole;
    weighted = std::max(weighted, std::abs(by_samples - whole));
    squares += off * off / draws;
    expected += spread * spread * (inverse / working / working - 1.0 / job.batch) / draws;
  }
  const double unweighted = std::sqrt(squares);
  add(out, "gradient-off-weighted", Quantity::ratio(weighted), kDraws);
  add(out, "gradient-off-unweighted", Quantity::ratio(unweighted), kDraws);
  out.checks.push_back({.name = "weighted by samples, the workers' gradients are that of the batch",
                        .engine = Quantity::ratio(1 + weighted),
                        .oracle = Quantity::ratio(1),
                        .limit_ratio = 1e-12});
  // A mean square of `draws` normal draws: within four standard errors.
  out.checks.push_back({.name = "not weighted: root mean square, draws against its variance",
                        .engine = Quantity::ratio(unweighted),
                        .oracle = Quantity::ratio(std::sqrt(expected)),
                        .limit_ratio = 4 / std::sqrt(2.0 * draws)});
  out.tables.push_back(
      {.title = "Adding up gradients",
       .says = fmt::format(
           "Shares by speed may differ in size. Weighted by their samples, the workers' mean gradients are the batch's, to "
           "rounding; not weighted they are off by {} of it where a sample's gradient spreads by {} around its mean.",
           to_string(Quantity::ratio(unweighted)), to_string(Quantity::ratio(spread))),
       .columns = {"mean over workers", "off the batch's gradient"},
       .rows = {{"weighted by samples, largest", fmt::format("{:.0e}", weighted)},
                {"not weighted, root mean square", to_string(Quantity::ratio(unweighted))}}});
  return {};
}

/// Single numbers that the source states.
Status add_claims(Computation& out, const Inputs& in) {
  COX_TRY(const double gap, in.ratio("speed difference of the claim", {.above = 0, .most = 100}));
  COX_TRY(const Quantity fast, in.quantity("speed of an A100", Dimension::WorkRate));
  COX_TRY(const Quantity slow, in.quantity("speed of a V100", Dimension::WorkRate));
  COX_TRY(const double faster, in.ratio("share of A100", {.above = -1e-9, .most = 1}));
  const double mean = faster * fast.in_base_unit() + (1 - faster) * slow.in_base_unit();
  const double least = std::min(fast.in_base_unit(), slow.in_base_unit());
  if (least <= 0)
    return refuse(in, "input 'speed of an A100' or 'speed of a V100' is zero", "give positive speeds");
  add(out, "loss-by-speed-difference", Quantity::ratio(1 - 1 / (1 + gap)), kClosedForm);
  add(out, "capacity-lost-with-two-kinds", Quantity::ratio(1 - least / mean), kClosedForm);
  return {};
}

}  // namespace

Result<Computation> compute_load_balancing(const Inputs& in, const ComputeOptions& options) {
  COX_TRY(const Job job, job_of(in, options));
  COX_TRY(const double half_range, in.ratio("speed law", {.above = -1e-9, .most = 0.999}));
  COX_TRY(const std::vector<double> cvs, in.ratios("other speed laws", {.above = 0, .most = 10}));
  std::vector<SpeedLaw> laws = {{.uniform = true, .spread = half_range}};
  for (const double cv : cvs) laws.push_back({.uniform = false, .spread = cv});
  Computation out;
  COX_CHECK(add_laws(out, in, job, laws));
  COX_CHECK(add_limits(out, in, job, laws));
  COX_CHECK(add_drift(out, in, job));
  COX_CHECK(add_policies(out, in, job, laws.front()));
  COX_CHECK(add_gradients(out, in, job, laws.front()));
  COX_CHECK(add_claims(out, in));
  out.notes = {
      "Equal: batch / workers each. By speed: whole samples, dealt so that the slowest is as fast as can be. "
      "The ratio is that of equal to fractional shares, mean over minimum of the speeds.",
      "The source gives no speeds; its task draws them (L666, L668). So its two times and their ratio are one draw, and stand "
      "beside the middle 95 % of ours. In the ratio the time per sample cancels; the law of the speeds stays ours.",
      "What the source calls static here (L2365) it calls dynamic in the analysis (L2833)."};
  return out;
}

}  // namespace cox::study
