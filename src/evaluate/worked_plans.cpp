// SPDX-License-Identifier: Apache-2.0
#include "evaluate/worked_plans.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/elementary.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/random.hpp"
#include "cox/forecast/checkpoints.hpp"
#include "cox/study/replicas.hpp"

namespace cox::evaluate {
namespace {

using study::Dimension;
using study::Quantity;

constexpr std::string_view kFormula = "closed-form";
constexpr std::uint32_t kFailures = 0x6e1101;

void add(study::Computation& out, std::string name, Quantity value) {
  out.values.push_back({.name = std::move(name), .value = value, .engine = kFormula, .half_width_95 = {}});
}

Error mistake(const study::Inputs& in, std::string message, std::string hint) {
  return Error{.code = Errc::InvalidInput,
               .id = "study-003",
               .message = std::move(message),
               .hint = std::move(hint),
               .where = Where{.file = in.study().file}};
}

/// A job that writes after each interval of work, and begins anew behind its last checkpoint when something fails.
struct Checkpointed {
  Seconds work{};
  Seconds interval{};
  Seconds write{};
  Seconds between{};  ///< failures, on average
};

struct Drawn {
  Seconds wall{};
  Seconds lost{};  ///< work and writes that a failure undid
  double failures = 0;
};

Drawn draw(const Checkpointed& job, std::uint64_t seed) {
  const RandomStream stream(seed, kFailures);
  Drawn out;
  Seconds done{};
  std::uint64_t tries = 0;
  while (done < job.work) {
    const Seconds work = std::min(job.interval, job.work - done);
    const Seconds piece = work + job.write;
    // Times between failures have no memory: each try draws its own.
    const Seconds fails = -logarithm(stream.uniform(tries++, 0)) * job.between;
    if (fails < piece) {
      out.wall += fails;
      out.lost += fails;
      ++out.failures;
      continue;
    }
    out.wall += piece;
    // The last piece is what is left, whatever rounding says of the sum.
    done = work < job.interval ? job.work : done + work;
  }
  return out;
}

struct Plan {
  Checkpointed job{};
  int devices = 1;
  int more_devices = 1;
  double years = 1;  ///< between two failures of a device
  Bytes state{};
  std::vector<Bandwidth> storage;
  int iterations = 1;
  int all_iterations = 1;
  Seconds all_take{};
  Seconds faster_write{};
  int jobs = 2;
};

Result<Plan> read_plan(const study::Inputs& in) {
  Plan p;
  COX_TRY(p.devices, in.count("devices", {.least = 1, .most = 1'000'000}));
  COX_TRY(p.more_devices, in.count("more devices", {.least = 1, .most = 1'000'000}));
  COX_TRY(p.years, in.count("years between failures of a device", {.least = 1, .most = 1000}));
  COX_TRY(p.job.work, in.time("job"));
  COX_TRY(p.job.interval, in.time("interval"));
  COX_TRY(p.job.write, in.time("checkpoint"));
  COX_TRY(p.faster_write, in.time("faster checkpoint"));
  COX_TRY(p.state, in.size("state"));
  COX_TRY(p.storage, in.rates("storage"));
  COX_TRY(p.iterations, in.count("iterations between checkpoints", {.least = 1, .most = 1'000'000'000}));
  COX_TRY(p.all_iterations, in.count("iterations", {.least = 1, .most = 1'000'000'000}));
  COX_TRY(p.all_take, in.time("iterations take"));
  COX_TRY(p.jobs, in.count("jobs drawn", {.least = 2, .most = 100'000}));
  constexpr double kYear = 365.25 * 24 * 3600;
  p.job.between = Seconds{p.years * kYear / p.devices};
  const bool positive = p.job.work > Seconds{} && p.job.interval > Seconds{} && p.job.write > Seconds{} &&
                        p.faster_write > Seconds{};
  if (!positive)
    return fail(mistake(in, "'job', 'interval' or a checkpoint takes no time", "give positive times"));
  COX_CHECK(in.check_draws(
      p.jobs * (p.job.work / p.job.interval) * std::exp((p.job.interval + p.job.write) / p.job.between),
      "jobs drawn, job over interval and failures"));
  return p;
}

void add_drawn(study::Computation& out, const Plan& p, int threads) {
  std::vector<Drawn> drawn(static_cast<std::size_t>(p.jobs));
  parallel_for(drawn.size(), threads, [&](std::size_t i) { drawn[i] = draw(p.job, i + 1); });
  const auto each = [&](const auto& value) {
    std::vector<double> sample;
    sample.reserve(drawn.size());
    for (const Drawn& d : drawn) sample.push_back(value(d));
    return sample;
  };
  study::add_mean(out, "failures-drawn", Dimension::Count, each([](const Drawn& d) { return d.failures; }));
  study::add_mean(out, "lost-drawn", Dimension::Time, each([](const Drawn& d) { return d.lost.count(); }));
  study::add_mean(out, "overhead-drawn", Dimension::Ratio,
                  each([&](const Drawn& d) { return d.wall / p.job.work - 1; }));
  const double exact = forecast::wall_over_work(p.job.interval, p.job.write, {}, p.job.between);
  out.checks.push_back({.name = "wall time over work, jobs that are drawn against the law",
                        .engine = Quantity::ratio(1 + out.values.back().value.in_base_unit()),
                        .oracle = Quantity::ratio(exact),
                        .limit_ratio = 0.005});
}

}  // namespace

Result<study::Computation> compute_checkpoint_plan(const study::Inputs& in,
                                                   const study::ComputeOptions& options) {
  COX_TRY(const Plan p, read_plan(in));
  study::Computation out;
  const Seconds c = p.job.write, m = p.job.between, tau = p.job.interval;
  const double failures = p.job.work / m;
  add(out, "between-failures", Quantity::of(m));
  add(out, "failures", Quantity::ratio(failures));
  add(out, "any-failure", Quantity::ratio(1 - exponential(-failures)));
  add(out, "lost-by-failures", Quantity::of(failures * tau / 2));
  add(out, "writing", Quantity::ratio(c / tau));
  add(out, "writes", Quantity::of(p.job.work / tau * c));
  const double exact = forecast::wall_over_work(tau, c, {}, m) - 1;
  add(out, "overhead", Quantity::ratio(exact));
  add(out, "overhead-of-the-job", Quantity::of(exact * p.job.work));
  const Seconds best = forecast::best_interval(c, m);
  add(out, "best-interval", Quantity::of(best));
  add(out, "best-interval-first-order", Quantity::of(forecast::young_interval(c, m)));
  add(out, "overhead-at-best", Quantity::ratio(forecast::wall_over_work(best, c, {}, m) - 1));
  const Seconds rarer = m * p.devices / p.more_devices;
  add(out, "between-failures-of-more", Quantity::of(rarer));
  add(out, "best-interval-of-more", Quantity::of(forecast::best_interval(c, rarer)));
  add(out, "best-interval-with-faster-storage", Quantity::of(forecast::best_interval(p.faster_write, m)));
  add(out, "iterations-between-checkpoints-take", Quantity::of(p.all_take * p.iterations / p.all_iterations));
  add(out, "state-of-a-device", Quantity::of(Bytes{p.state.count() / p.devices}));
  study::ValueTable table{.title = "Storage",
                          .says = fmt::format("{} of state, written by all while the job waits.",
                                              to_string(Quantity::of(p.state))),
                          .columns = {"storage", "checkpoint", "best interval", "time beside work at it"},
                          .rows = {}};
  for (std::size_t i = 0; i < p.storage.size(); ++i) {
    const Seconds write{static_cast<double>(p.state.count()) / p.storage[i].in_bytes_per_s()};
    const Seconds at = forecast::best_interval(write, m);
    add(out, fmt::format("checkpoint-{}", i + 1), Quantity::of(write));
    add(out, fmt::format("best-interval-{}", i + 1), Quantity::of(at));
    table.rows.push_back({to_string(Quantity::of(p.storage[i])), to_string(Quantity::of(write)),
                          to_string(Quantity::of(at)),
                          to_string(Quantity::ratio(forecast::wall_over_work(at, write, {}, m) - 1))});
  }
  out.tables.push_back(std::move(table));
  add_drawn(out, p, options.threads);
  // The exact optimum has no neighbour that is better.
  const auto at = [&](double factor) { return forecast::wall_over_work(best * factor, c, {}, m); };
  out.checks.push_back({.name = "the best interval is no worse than those 1 % beside it (1 = so)",
                        .engine = Quantity::count(at(1) <= at(0.99) && at(1) <= at(1.01) ? 1 : 0),
                        .oracle = Quantity::count(1)});
  study::Series line{.name = fmt::format("{} devices", p.devices), .x = {}, .y = {}};
  study::Series more{.name = fmt::format("{} devices", p.more_devices), .x = {}, .y = {}};
  for (double minutes = 30; minutes <= 7680; minutes *= std::sqrt(2.0)) {
    const Seconds interval{60 * minutes};
    line.x.push_back(minutes);
    line.y.push_back(100 * (forecast::wall_over_work(interval, c, {}, m) - 1));
    more.x.push_back(minutes);
    more.y.push_back(100 * (forecast::wall_over_work(interval, c, {}, rarer) - 1));
  }
  out.picture.title = "Time beside work against the interval";
  out.picture.x_label = "minutes between checkpoints";
  out.picture.y_label = "per cent of the work";
  out.picture.x_is_log = out.picture.y_is_log = true;
  out.picture.series = {std::move(line), std::move(more)};
  out.notes = {
      "A year has 365.25 days. Restarts take no time, as in the source; all devices stop when one fails.",
      "Failures have exponential times; they happen in writes, too."};
  return out;
}

Result<study::Computation> compute_hybrid_plan(const study::Inputs& in, const study::ComputeOptions&) {
  COX_TRY(const int billions, in.count("billions of parameters", {.least = 1, .most = 1'000'000}));
  COX_TRY(const int more_billions, in.count("billions of a larger model", {.least = 1, .most = 1'000'000}));
  COX_TRY(const int devices, in.count("devices", {.least = 1, .most = 1'000'000}));
  COX_TRY(const int node, in.count("devices of a node", {.least = 1, .most = 1024}));
  COX_TRY(const int tensor, in.count("tensor", {.least = 1, .most = 1024}));
  COX_TRY(const int pipeline, in.count("pipeline", {.least = 1, .most = 1024}));
  COX_TRY(const int data, in.count("data", {.least = 1, .most = 1'000'000}));
  COX_TRY(const int layers, in.count("layers", {.least = 1, .most = 100'000}));
  COX_TRY(const int micro, in.count("micro-batches", {.least = 1, .most = 1'000'000}));
  COX_TRY(const Seconds stage, in.time("forward of a stage"));
  COX_TRY(const Bandwidth link, in.rate("link"));
  COX_TRY(const int weight, in.count("bytes of a weight", {.least = 1, .most = 16}));
  COX_TRY(const int state, in.count("bytes of a parameter's state", {.least = 1, .most = 64}));
  COX_TRY(const auto larger, in.counts("degrees of a larger model", {.least = 1, .most = 1'000'000}));
  if (tensor * pipeline * data != devices || layers % pipeline != 0 || larger.size() != 3)
    return fail(mistake(
        in,
        "'tensor' x 'pipeline' x 'data' is not 'devices', the layers do not divide into stages, or the larger "
        "model has not three degrees",
        "give degrees whose product is the number of devices"));
  study::Computation out;
  const double parameters = 1e9 * billions, more = 1e9 * more_billions;
  const auto bytes = [](double n) { return Quantity::of(Bytes{std::llround(n)}); };
  const double shared = static_cast<double>(tensor) * pipeline;
  add(out, "nodes", Quantity::count(static_cast<double>(devices) / node));
  add(out, "devices-of-a-replica", Quantity::count(shared));
  add(out, "weights", bytes(parameters * weight));
  add(out, "weights-tensor", bytes(parameters * weight / tensor));
  add(out, "weights-tensor-pipeline", bytes(parameters * weight / shared));
  add(out, "state-tensor-pipeline", bytes(parameters * state / shared));
  add(out, "weights-data-alone", bytes(parameters * weight));
  add(out, "weights-all-sharded", bytes(parameters * weight / devices));
  const double slots = micro + pipeline - 1.0;
  add(out, "bubble", Quantity::ratio((pipeline - 1) / slots));
  add(out, "bubble-by-stages", Quantity::ratio(static_cast<double>(pipeline) / micro));
  add(out, "forward", Quantity::of(slots * stage));
  const double gradients = parameters * weight / shared;
  const double moved = 2.0 * (data - 1) / data * gradients;
  add(out, "gradients-of-a-device", bytes(gradients));
  add(out, "all-reduce", Quantity::of(Seconds{moved / link.in_bytes_per_s()}));
  add(out, "layers-of-a-stage", Quantity::count(static_cast<double>(layers) / pipeline));
  add(out, "times-larger", Quantity::ratio(more / parameters));
  add(out, "weights-larger", bytes(more * weight / shared));
  add(out, "weights-larger-over-one-degree", bytes(more * weight / larger[2]));
  add(out, "devices-of-larger", Quantity::count(static_cast<double>(larger[0]) * larger[1] * larger[2]));
  study::ValueTable table{
      .title = "Bytes of a device",
      .says = fmt::format(
          "Weights of {} bytes; state: weights, gradients and an optimizer, {} bytes of a parameter. "
          "Activations are not in it.",
          weight, state),
      .columns = {"split", "weights", "state"},
      .rows = {}};
  study::Series bars{.name = "state", .x = {}, .y = {}};
  out.picture.kind = study::Picture::Kind::Bars;
  const std::pair<const char*, double> splits[] = {{"data alone", 1.0},
                                                   {"tensor", tensor},
                                                   {"tensor and pipeline", shared},
                                                   {"all three, state sharded", devices}};
  for (const auto& [name, ways] : splits) {
    table.rows.push_back(
        {name, to_string(bytes(parameters * weight / ways)), to_string(bytes(parameters * state / ways))});
    bars.x.push_back(static_cast<double>(out.picture.categories.size()));
    bars.y.push_back(parameters * state / ways / 1e9);
    out.picture.categories.emplace_back(name);
  }
  out.tables.push_back(std::move(table));
  out.checks.push_back({.name = "devices: replicas x what one of them has",
                        .engine = Quantity::count(shared * data),
                        .oracle = Quantity::count(devices)});
  out.picture.title = "State of a device";
  out.picture.y_label = "GB";
  out.picture.y_is_log = true;
  out.picture.series.push_back(std::move(bars));
  out.notes = {
      "The all-reduce is a ring over the replicas, once a step, of what a device has of the gradients.",
      "Activations, and messages of tensor and pipeline, are not in it."};
  return out;
}

}  // namespace cox::evaluate
