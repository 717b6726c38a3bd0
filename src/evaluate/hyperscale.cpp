// SPDX-License-Identifier: Apache-2.0
#include "evaluate/hyperscale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cox/base/units_text.hpp"
#include "cox/evaluate/stated_job.hpp"
#include "cox/forecast/regimes.hpp"
#include "cox/forecast/scaling_job.hpp"

namespace cox::evaluate {
namespace {

using forecast::Reach;
using forecast::RegimeBoundary;
using forecast::ScalingJob;
using forecast::StatedJob;
using forecast::TermOf;
using forecast::TimeAtSize;
using study::Quantity;

struct Fabric {
  Seconds work{};
  Seconds exposed{};
  Seconds jitter{};
  int devices = 8;  ///< of a node
  int pod = 32;     ///< nodes below full bisection
  int far = 512;    ///< nodes from which nearly all messages leave their pod
  Seconds between_pods{};
  Seconds time_out{};
  double lost = 0;  ///< probability of a message
  Seconds node_mtbf{};
  Seconds checkpoint{};
  Seconds restart{};
  Seconds restart_per_node{};
  Seconds restart_per_node_with_control{};
  int from = 8;
  int to = 65'536;
};

/// H_n, the mean of the slowest of n exponentials, and its derivative by ln n; error below 1e-8 for n >= 8.
TimeAtSize slowest_of(double n, Seconds mean) {
  return {mean * (std::log(n) + 0.57721566490153286 + 1 / (2 * n) - 1 / (12 * n * n)),
          mean * (1 - 1 / (2 * n) + 1 / (6 * n * n))};
}

std::vector<forecast::StatedTerm> terms_of(const Fabric& f) {
  std::vector<forecast::StatedTerm> terms;
  terms.push_back({.term = {.mechanism = {},
                            .at =
                                [=](std::int64_t) {
                                  return TimeAtSize{f.exposed, {}};
                                }},
                   .of = TermOf::Communication});
  terms.push_back({.term = {.mechanism = {},
                            .at =
                                [=](std::int64_t) {
                                  return TimeAtSize{f.jitter, {}};
                                }},
                   .of = TermOf::Waiting});
  terms.push_back(
      {.term =
           {.mechanism = {"oversubscription between pods", Reach::Flattens},
            .at =
                [=](std::int64_t nodes) {
                  const auto n = static_cast<double>(nodes);
                  const double over = f.far - f.pod;
                  const double part = std::clamp((n - f.pod) / over, 0.0, 1.0);
                  const bool grows = n > f.pod && n < f.far;
                  return TimeAtSize{f.between_pods * part, grows ? f.between_pods * (n / over) : Seconds{}};
                }},
       .of = TermOf::Communication,
       .lever = {"full-bisection",
                 "pods have as many links to each other as inside: leaving one costs nothing"}});
  terms.push_back(
      {.term =
           {.mechanism = {"waiting for the slowest device", Reach::Flattens},
            .at =
                [=](std::int64_t nodes) {
                  const TimeAtSize all = slowest_of(f.devices * static_cast<double>(nodes), f.jitter);
                  return TimeAtSize{all.value - f.jitter, all.growth};  // its own jitter a device has alone
                }},
       .of = TermOf::Waiting,
       .lever = {"steady-devices", "a device takes as long in every step as it does on average"}});
  terms.push_back(
      {.term = {.mechanism = {"time-outs in sequential rounds", Reach::Lowers},
                .at =
                    [=](std::int64_t nodes) {
                      const auto n = static_cast<double>(nodes);
                      const double each =
                          f.devices * n * -std::log1p(-f.lost);  // messages of a round, in losses
                      const double none = std::exp(-each);
                      return TimeAtSize{f.time_out * (2 * (n - 1) * (1 - none)),
                                        f.time_out * (2 * (n * (1 - none) + (n - 1) * each * none))};
                    }},
       .of = TermOf::Communication,
       .lever = {"no-time-outs", "what is lost is sent again at once: no round waits for a time-out"}});
  return terms;
}

StatedJob job_of(const Fabric& f, std::string name) {
  const forecast::FailureTerm failures{.node_mean_time = f.node_mtbf,
                                       .ranks_per_node = 1,
                                       .checkpoint = f.checkpoint,
                                       .restart = f.restart,
                                       .restart_per_node = f.restart_per_node};
  forecast::FailureTerm controlled = failures;
  controlled.restart_per_node = f.restart_per_node_with_control;
  return {.name = std::move(name),
          .work = f.work,
          .terms = terms_of(f),
          .failures = failures,
          .control = forecast::StatedControl{.what = fmt::format("restart for each node {} instead of {}",
                                                                 to_string(f.restart_per_node_with_control),
                                                                 to_string(f.restart_per_node)),
                                             .lever = "restart-by-tree",
                                             .failures = controlled},
          .jitter = f.jitter,
          .ranks_per_node = f.devices,
          .from = f.from,
          .to = f.to,
          .system =
              fmt::format("Synchronous fabric of nodes of {} devices, in pods of {} nodes", f.devices, f.pod),
          .mode = "Synchronous data-parallel training with model sharding inside a node",
          .runtime = "Long-running, with failures and checkpoints as often as is best at each size"};
}

Result<Fabric> read(const study::Inputs& in) {
  Fabric f;
  COX_TRY(f.work, in.time("work of a step"));
  COX_TRY(f.exposed, in.time("exposed communication of the shards"));
  COX_TRY(f.jitter, in.time("jitter of a device"));
  COX_TRY(f.devices, in.count("devices of a node", {.least = 1, .most = 64}));
  COX_TRY(f.pod, in.count("nodes of a pod", {.least = 1, .most = 10'000}));
  COX_TRY(f.far,
          in.count("nodes from which nearly all messages leave their pod", {.least = 2, .most = 100'000}));
  COX_TRY(f.between_pods, in.time("cost of leaving the pod"));
  COX_TRY(f.time_out, in.time("time-out"));
  COX_TRY(const int lost, in.count("messages for one that is lost", {.least = 2, .most = 2'000'000'000}));
  COX_TRY(const double failures, in.ratio("failures of a thousand nodes in a day"));
  COX_TRY(f.checkpoint, in.time("checkpoint"));
  COX_TRY(f.restart, in.time("restart"));
  COX_TRY(f.restart_per_node, in.time("restart for each node"));
  COX_TRY(f.restart_per_node_with_control, in.time("restart for each node, with control"));
  COX_TRY(f.from, in.count("fewest nodes", {.least = 8, .most = 1'000'000}));
  COX_TRY(f.to, in.count("most nodes", {.least = 9, .most = 1'000'000}));
  f.lost = 1.0 / lost;
  if (failures > 0) f.node_mtbf = Seconds{86'400.0 * 1000 / failures};
  if (f.work > Seconds{} && f.jitter > Seconds{} && f.node_mtbf > Seconds{} && f.checkpoint > Seconds{} &&
      f.pod < f.far && f.from < f.to)
    return f;
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-003",
                    .message = "a time is zero, or a smaller size is not below the larger one",
                    .hint = "give work, jitter, failures and checkpoints times, and sizes in order",
                    .where = Where{.file = in.study().file}});
}

/// As the pages write sizes: those outside the range by its end.
std::string size_text(const RegimeBoundary& b) {
  if (b.place == RegimeBoundary::Place::Above) return fmt::format("beyond {}", b.ranks);
  if (b.place == RegimeBoundary::Place::Below) return fmt::format("below {}", b.ranks);
  return fmt::format("{}", b.ranks);
}

std::string section_of(const forecast::Regimes& r, const forecast::Regimes& with) {
  std::string out =
      "## Where it bends, and what bends it\n\n| from | to | regime | nodes | made by | with control |\n|---|---|---|---:|---|---:|\n";
  const auto row = [&](std::string_view from, std::string_view to, std::string_view name,
                       const forecast::TransitionBand& t, const forecast::TransitionBand& other) {
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", from, to, name, size_text(t.value), t.because,
                       size_text(other.value));
  };
  row("linear", "sublinear", "N1: elasticity below 0.95", r.n1, with.n1);
  row("sublinear", "post-linear", "N2: below 0.5", r.n2, with.n2);
  row("post-linear", "collapse", "N*: most throughput", r.n_star, with.n_star);
  out += "\n## One mechanism off at a time\n\n| off | N1 | N2 | N* |\n|---|---:|---:|---:|\n";
  for (std::size_t i = 0; i < r.n1.without.size(); ++i)
    out += fmt::format("| {} | {} | {} | {} |\n", r.n1.without[i].mechanism, size_text(r.n1.without[i].at),
                       size_text(r.n2.without[i].at), size_text(r.n_star.without[i].at));
  return out;
}

void add(study::Computation& out, std::string name, Quantity value) {
  out.values.push_back(
      {.name = std::move(name), .value = value, .engine = "closed-form", .half_width_95 = {}});
}

/// Sizes that lie in the range; others are told in the section.
void add_size(study::Computation& out, const std::string& name, const RegimeBoundary& b) {
  if (b.inside()) add(out, name, Quantity::count(static_cast<double>(b.ranks)));
}

study::Picture picture_of(const ScalingJob& job, const ScalingJob& with, const Fabric& f) {
  study::Series base{.name = "baseline", .x = {}, .y = {}}, control{.name = "with control", .x = {}, .y = {}},
      ideal{.name = "ideal", .x = {}, .y = {}}, eps{.name = "baseline", .x = {}, .y = {}},
      eps_control{.name = "with control", .x = {}, .y = {}};
  for (double x = f.from; x <= f.to; x *= std::pow(2.0, 0.25)) {
    const auto n = static_cast<std::int64_t>(std::llround(x));
    const auto nodes = static_cast<double>(n);
    const auto a = job.at(n, forecast::kEveryMechanism), b = with.at(n, forecast::kEveryMechanism);
    for (study::Series* s : {&base, &control, &ideal, &eps, &eps_control}) s->x.push_back(nodes);
    base.y.push_back(std::max(a.throughput, 1e-3));
    control.y.push_back(std::max(b.throughput, 1e-3));
    ideal.y.push_back(nodes);
    eps.y.push_back(std::max(a.elasticity, -1.0));
    eps_control.y.push_back(std::max(b.elasticity, -1.0));
  }
  study::Picture out{.title = "Throughput against nodes",
                     .x_label = "nodes",
                     .y_label = "throughput, of one node that never waits",
                     .x_is_log = true,
                     .y_is_log = true,
                     .series = {base, control, ideal}};
  out.below.push_back({.title = "Elasticity: linear above 0.95, collapse below 0",
                       .x_label = "nodes",
                       .y_label = "d ln throughput / d ln nodes",
                       .x_is_log = true,
                       .series = {eps, eps_control}});
  return out;
}

}  // namespace

Result<study::Computation> compute_hyperscale(const study::Inputs& in, const study::ComputeOptions& options) {
  COX_TRY(const Fabric f, read(in));
  const StatedJob stated = job_of(f, in.study().name);
  const ScalingJob job = stated.job(), with = stated.job_with_control();
  const forecast::RegimeRange range = stated.range();
  const forecast::Regimes r = forecast::regimes_of(job, range, true, {}, options.threads);
  const forecast::Regimes c = forecast::regimes_of(with, range, true, {}, options.threads);

  study::Computation out;
  add_size(out, "N1", r.n1.value);
  add_size(out, "N2", r.n2.value);
  add_size(out, "N*", r.n_star.value);
  add_size(out, "N1 with control", c.n1.value);
  add_size(out, "N2 with control", c.n2.value);
  add_size(out, "N* with control", c.n_star.value);
  for (std::size_t i = 0; i < r.n1.without.size(); ++i) {
    add_size(out, "N1 without " + r.n1.without[i].mechanism, r.n1.without[i].at);
    add_size(out, "N2 without " + r.n2.without[i].mechanism, r.n2.without[i].at);
    add_size(out, "N* without " + r.n_star.without[i].mechanism, r.n_star.without[i].at);
  }
  const auto at = [](const ScalingJob& j, std::int64_t n) {
    return j.at(n, forecast::kEveryMechanism).throughput;
  };
  const std::int64_t small = f.from, most = r.n_star.value.ranks;
  const double one = at(job, small) / static_cast<double>(small);
  add(out, "throughput per node at N*", Quantity::ratio(at(job, most) / static_cast<double>(most) / one));
  add(out, "throughput of twice N*", Quantity::ratio(at(job, 2 * most) / at(job, most)));
  add(out, "throughput of N* with control", Quantity::ratio(at(with, c.n_star.value.ranks) / at(job, most)));
  add(out, "throughput at N*, with control there", Quantity::ratio(at(with, most) / at(job, most)));
  add(out, "cost of a sample at N*", Quantity::ratio(one * static_cast<double>(most) / at(job, most)));

  // Most throughput is where elasticity passes 0, and where a search over all sizes finds it.
  std::int64_t found = f.from;
  for (std::int64_t n = f.from; n <= std::min<std::int64_t>(f.to, 4 * most); ++n)
    if (at(job, n) > at(job, found)) found = n;
  out.checks.push_back({.name = "N* by its elasticity and by trying every size",
                        .engine = Quantity::count(static_cast<double>(most)),
                        .oracle = Quantity::count(static_cast<double>(found)),
                        .limit_ratio = 1.5 / static_cast<double>(most)});
  // Without waiting, leaving pods, losses and failures the step is that of one node at any size.
  const double flat = job.at(most, 0).throughput / static_cast<double>(most);
  out.checks.push_back({.name = "nothing but work and shards",
                        .engine = Quantity::ratio(flat),
                        .oracle = Quantity::ratio(f.work / (f.work + f.exposed + f.jitter)),
                        .limit_ratio = 1e-12});
  out.notes = {"weak scaling: each node has as much to do at any size",
               "the interval between checkpoints is the best one at each size",
               "parts of a step add; the slowest device is that of all exponential ones together"};
  out.picture = picture_of(job, with, f);
  out.section = section_of(r, c);
  return out;
}

Result<StatedJob> stated_job(const study::Study& study) {
  if (study.compute != "hyperscale-regimes")
    return fail(Error{
        .code = Errc::Unsupported,
        .id = "forecast-014",
        .message = fmt::format("a study of `{}`, which states no job that has other sizes", study.compute),
        .hint = "`cox study` answers it; of those shipped hyperscale-fabric states a job",
        .where = Where{.file = study.file}});
  COX_TRY(const Fabric f, read(study::Inputs(study)));
  return job_of(f, study.name);
}

}  // namespace cox::evaluate
