// SPDX-License-Identifier: Apache-2.0
#include "simulate/collective/collective_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/random.hpp"
#include "cox/base/units_text.hpp"
#include "cox/model/closed_form.hpp"
#include "cox/simulate/flow.hpp"
#include "cox/simulate/max_plus.hpp"
#include "cox/simulate/measured.hpp"
#include "cox/simulate/network.hpp"
#include "cox/simulate/noise.hpp"
#include "cox/simulate/spread.hpp"
#include "cox/simulate/timeouts.hpp"

#include "simulate/flow/neighbours.hpp"
#include "simulate/flow/own_links.hpp"
#include "simulate/flow/places.hpp"
#include "simulate/flow/striped_ring.hpp"
#include "simulate/max_plus/shared_ports.hpp"
#include "simulate/record/run_from_steps.hpp"

namespace cox::simulate {
namespace {

using model::EngineKind;

constexpr std::uint32_t kOrderStream = 0x6f726465;  ///< of the draws that shuffle ranks

/// What one replica leaves.
struct Replica {
  Seconds total{};
  std::vector<Seconds> step_ends;
  std::vector<Seconds> rank_ends;
  std::int64_t messages = 0;
  std::int64_t evaluated = 0;
  bool closure = false;
  bool memo = false;
  bool own_links = false;  ///< flow engine: no link was shared, so that max-plus did its work
  std::vector<double> link_bytes;
  std::vector<NeighbourOutcome> neighbours;
};

/// Where the price says the time of the collective from its last arrival on.
struct Whole {
  model::LookedUp price;
  std::vector<std::string> notes;
};

/// Everything that replicas share.
struct Job {
  const model::Scenario& scenario;
  const SimulateOptions& options;
  EngineKind engine;
  model::Schedule schedule;
  LinkCosts costs;                   ///< max-plus engine, which keeps a reference to it
  Noise noise;                       ///< of the first seed
  std::unique_ptr<Network> network;  ///< flow engine
  std::vector<int> devices;          ///< of the ranks, for the first seed
  bool striped = false;              ///< left to max-plus by `stripes`
  std::optional<Whole> whole{};      ///< instead of what its rounds come to
  model::Compressed carried{};       ///< what each rank does before and after it
  Bytes uncompressed{};              ///< zero: it is as it was asked for
};

const model::CollectiveJob& work_of(const model::Scenario& s) {
  return s.job.as<model::CollectiveJob>();
}

model::CollectiveSpec spec_of(const model::Scenario& s) {
  model::CollectiveSpec spec = work_of(s).collective;
  if (spec.ranks == 0) spec.ranks = static_cast<int>(ranks_of(s.cluster, s.job.places));
  return spec;
}

/// With the ranks on these devices.
Result<Noise> noise_of(const model::Scenario& s, const std::vector<int>& devices, std::uint64_t seed) {
  return Noise::make(
      s.noise,
      {.ranks = static_cast<int>(devices.size()),
       .ranks_per_node = s.cluster.devices_per_node,
       .nodes_per_switch = std::max(1, s.fabric.hosts_per_leaf),
       .rails = std::max(1, s.cluster.nics_per_node),
       .devices = s.job.places.rule == model::PlaceRule::Packed ? std::vector<int>{} : devices},
      seed);
}

std::vector<int> in_order(int ranks) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Where every place of the schedule sits. `order`: the devices of the ranks; taken as they come, or shuffled (Fisher-Yates) by the scenario's own
/// draws, so that every engine sees one order. Then `add_servers`.
std::vector<int> places(const model::Scenario& s, std::uint64_t seed, std::vector<int> order,
                        int participants) {
  if (work_of(s).order == model::RankOrder::Random) {
    const RandomStream draws(seed, kOrderStream);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draws.bits(0, i - 1) % i]);
  }
  add_servers(order, participants);
  return order;
}

/// On one node servers and switches are inside it, too. The channels of a ring share ports.
LinkCosts link_costs(const model::Scenario& s, const model::Schedule& schedule) {
  const bool one_node = s.cluster.nodes == 1;
  LinkCosts costs{.inside = s.inside,
                  .across = one_node ? s.inside : s.across,
                  .ranks_per_node = s.cluster.devices_per_node,
                  .into = {}};
  if (schedule.spec().channels == 1) return costs;
  return with_shared_ports(std::move(costs), schedule, s.cluster,
                           places(s, s.seed, in_order(schedule.ranks()), schedule.participants()));
}

/// One replica's own: scratch memory of its engine, its draws, what it leaves.
class Player {
 public:
  Player(const Job& job, int number)
      : job_(job),
        number_(number),
        seed_(job.scenario.seed + static_cast<std::uint64_t>(number)),
        noise_(own_noise()),
        timeouts_(job.scenario.fabric.timeouts, seed_) {
    const bool moved = work_of(job.scenario).order == model::RankOrder::Random;
    if (job.engine == EngineKind::Flow || moved) {
      rank_of_ = places(job.scenario, seed_, devices(), job.schedule.participants());
      if (job.engine == EngineKind::Flow) find_own_links();
    }
    // The max-plus engine has ranks in their order, or all messages go between nodes.
    if (timeouts_.happen()) {
      nodes_ = rank_of_.empty() ? devices() : rank_of_;
      nodes_.resize(static_cast<std::size_t>(job.schedule.ranks()));
      for (int& device : nodes_) device /= job.scenario.cluster.devices_per_node;
    }
    if ((job.engine == EngineKind::MaxPlus && !job.whole) || own_costs_)
      max_plus_.emplace(job.schedule, own_costs_ ? *own_costs_ : job.costs,
                        CollectiveOptions{.protocol = job.scenario.protocol,
                                          .closure = job.options.closure,
                                          .threads = job.scenario.replicas > 1 ? 1 : job.options.threads,
                                          .timeouts = &timeouts_,
                                          .nodes = nodes_,
                                          .ranks = ranks_on_places()});
  }

  Replica play(StepRecorder* recorder, const SimulateOptions& options) {
    const model::Scenario& s = job_.scenario;
    const auto ranks = static_cast<std::size_t>(job_.schedule.ranks());
    if (!s.neighbours.empty()) return play_beside(recorder, options);
    std::vector<Seconds> now(ranks);
    const std::vector<Seconds> undisturbed = compute();
    std::vector<Seconds> work = undisturbed;
    for (int step = 0; step < s.job.steps; ++step) {
      if (recorder != nullptr) recorder->begin_step(step, now);
      if (noise_.disturbs_compute()) {
        work = undisturbed;
        disturb(step, now, work);
      }
      for (std::size_t r = 0; r < ranks; ++r) now[r] += work[r] + job_.carried.encode;
      if (recorder != nullptr) recorder->arrive(now);
      const Seconds behind_ranks = meet(step, now);
      for (Seconds& t : now) t += job_.carried.decode;
      if (recorder != nullptr) recorder->depart(now);
      // A step is over when its servers are done, too; ranks that have left are in the next one by then.
      out_.total = std::max(*std::max_element(now.begin(), now.end()), behind_ranks);
      if (number_ == 0) out_.step_ends.push_back(out_.total);  // only the first replica's are told
      if (options.progress) options.progress(step + 1, s.job.steps);
    }
    if (number_ == 0) out_.rank_ends = std::move(now);
    out_.own_links = own_costs_.has_value();
    return std::move(out_);
  }

 private:
  /// A random placement has the replica's own draws.
  [[nodiscard]] std::vector<int> devices() const {
    if (job_.scenario.job.places.rule != model::PlaceRule::Random) return job_.devices;
    auto drawn = devices_of_job(job_.scenario, seed_, job_.schedule.ranks());
    COX_ASSERT(drawn.has_value(), "drawn for another seed already");
    return *std::move(drawn);
  }

  [[nodiscard]] Noise own_noise() const {
    if (job_.scenario.job.places.rule != model::PlaceRule::Random) return job_.noise.with_seed(seed_);
    auto made = noise_of(job_.scenario, devices(), seed_);
    COX_ASSERT(made.has_value(), "made for another seed already");
    return *std::move(made);
  }

  /// Of each rank before each collective, undisturbed.
  [[nodiscard]] std::vector<Seconds> compute() const {
    const model::Scenario& s = job_.scenario;
    std::vector<Seconds> work(static_cast<std::size_t>(job_.schedule.ranks()), work_of(s).compute);
    const std::vector<double> slow = slowness_of(s.cluster, devices());
    for (std::size_t r = 0; r < slow.size(); ++r) work[r] *= slow[r];
    return work;
  }

  /// All steps on one network, which neighbours use as well.
  Replica play_beside(StepRecorder* recorder, const SimulateOptions& options) {
    const model::Scenario& s = job_.scenario;
    const bool disturbed = noise_.disturbs_messages() || noise_.disturbs_bandwidth();
    FlowEngine engine(*job_.network, s.fabric,
                      {.memo = job_.options.memo,
                       .noise = disturbed ? &noise_ : nullptr,
                       .timeouts = &timeouts_,
                       .seed = seed_,
                       .protocol = s.protocol,
                       .limits = NeighbourJobs::limits(s)},
                      Seconds{});
    const auto ranks = static_cast<std::size_t>(job_.schedule.ranks());
    const auto told = [&](const CollectiveStep& step) {
      const auto of_ranks = [&](const std::vector<Seconds>& all) { return std::span(all).first(ranks); };
      if (recorder != nullptr) {
        recorder->begin_step(step.number, of_ranks(step.begins));
        recorder->arrive(of_ranks(step.arrivals));
        recorder->depart(of_ranks(step.departures));
      }
      out_.total = *std::ranges::max_element(step.departures);
      if (number_ == 0) out_.step_ends.push_back(out_.total);
      if (options.progress) options.progress(step.number + 1, s.job.steps);
    };
    CollectiveCourses ours(engine,
                           {.schedule = &job_.schedule,
                            .rank_of = rank_of_,
                            .compute =
                                [this, work = compute()](std::int64_t step, int rank, Seconds begin) {
                                  Seconds time = work[static_cast<std::size_t>(rank)];
                                  if (noise_.disturbs_compute())
                                    noise_.compute(step, rank, {&time, 1}, {&time, 1}, {&begin, 1});
                                  return time;
                                },
                            .steps = s.job.steps,
                            .on_step = told},
                           [](FlowCourseId) {});
    NeighbourJobs neighbours(s, engine);
    ours.start(Seconds{});
    while (ours.done() < s.job.steps) {
      const std::optional<FlowDeparture> left = engine.next();
      COX_ASSERT(left.has_value(), "a collective ends");
      if (!neighbours.take(*left)) ours.take(*left);
    }
    FlowOutcome flow = engine.take_outcome();
    out_.messages = flow.messages;
    out_.evaluated = flow.played + flow.evaluated;
    out_.memo = flow.memo;
    out_.link_bytes = std::move(flow.link_bytes);
    out_.neighbours = outcome_of(neighbours, s, *job_.network);
    return std::move(out_);
  }

  /// Of ranks that do not sit on their own places; empty where all do.
  [[nodiscard]] std::vector<int> ranks_on_places() const {
    if (work_of(job_.scenario).order == model::RankOrder::Linear) return {};
    std::vector<int> ranks(static_cast<std::size_t>(job_.schedule.ranks()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return places(job_.scenario, seed_, std::move(ranks), job_.schedule.ranks());
  }

  /// What each place computes, with the noise of the rank on it.
  void disturb(int step, std::span<const Seconds> now, std::span<Seconds> work) {
    const std::vector<int> ranks = ranks_on_places();
    if (ranks.empty()) return noise_.compute(step, 0, work, work, now, &memory_);
    std::vector<Seconds> begins(work.size());
    std::vector<Seconds> lasts(work.size());
    for (std::size_t p = 0; p < ranks.size(); ++p) {
      begins[static_cast<std::size_t>(ranks[p])] = now[p];
      lasts[static_cast<std::size_t>(ranks[p])] = work[p];
    }
    noise_.compute(step, 0, lasts, lasts, begins, &memory_);
    for (std::size_t p = 0; p < ranks.size(); ++p) work[p] = lasts[static_cast<std::size_t>(ranks[p])];
  }

  /// Where max-plus may stand in: whether no message ever meets another.
  void find_own_links() {
    const model::Scenario& s = job_.scenario;
    if (!max_plus_may_stand_in(s) || !has_fixed_routes(s.fabric) ||
        job_.schedule.participants() != job_.schedule.ranks())
      return;
    OwnLinks own(*job_.network, s.fabric, seed_, timeouts_.happen());
    const int team = own.add_team(rank_of_, 1);
    if (!own.add(team, job_.schedule)) return;
    own_costs_ = own.costs(team);
    if (!own_costs_) return;
    out_.link_bytes.resize(job_.network->links().size());
    own.carry(team, job_.schedule, s.job.steps, out_.link_bytes);
  }

  /// Moves arrivals to departures with the job's engine. When its servers are done.
  Seconds meet(std::int64_t step, std::span<Seconds> times) {
    const Noise* noise = noise_.disturbs_messages() || noise_.disturbs_bandwidth() ? &noise_ : nullptr;
    if (job_.whole) {
      std::ranges::fill(times,
                        *std::ranges::max_element(times) + drawn_time(job_.whole->price, seed_, step, 0));
      return {};
    }
    if (max_plus_) {
      const CollectiveOutcome done = max_plus_->run(times, noise, step, 0);
      out_.messages += done.messages;
      out_.evaluated += done.evaluated;
      out_.closure = out_.closure || done.closure;
      return done.behind_ranks;
    }
    const FlowOutcome flow = run_flows(job_.schedule, *job_.network, job_.scenario.fabric, rank_of_,
                                       {.memo = job_.options.memo,
                                        .noise = noise,
                                        .timeouts = &timeouts_,
                                        .step = step,
                                        .number = 0,
                                        .seed = seed_,
                                        .protocol = job_.scenario.protocol},
                                       times);
    out_.messages += flow.messages;
    out_.evaluated += flow.played + flow.evaluated;
    out_.memo = out_.memo || flow.memo;
    out_.link_bytes.resize(flow.link_bytes.size());
    for (std::size_t l = 0; l < flow.link_bytes.size(); ++l) out_.link_bytes[l] += flow.link_bytes[l];
    return flow.behind_ranks;
  }

  const Job& job_;
  int number_;                ///< of the replica
  std::uint64_t seed_;        ///< of all its draws: a run with this seed alone gives the same
  std::vector<int> rank_of_;  ///< flow engine: place in the schedule to rank
  Noise noise_;
  NoiseMemory memory_;
  Timeouts timeouts_;
  std::vector<int> nodes_;              ///< of each rank, where messages between nodes may be lost
  std::optional<LinkCosts> own_costs_;  ///< flow engine: set where no link is shared; max_plus_ refers to it
  std::optional<MaxPlus> max_plus_;
  Replica out_;
};

tl::unexpected<Error> not_possible(std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "simulate-003",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = {}});
}

Result<Outcome> by_closed_form(const model::Scenario& s, const model::CollectiveSpec& spec) {
  const auto no_formula = [](std::string why) {
    return not_possible(fmt::format("the closed form cannot do this: {}", why),
                        "leave `engine` out, or say --engine max-plus");
  };
  if (work_of(s).compression.kind != model::Compressor::None)
    return no_formula("it knows no packing and unpacking");
  if (!s.noise.empty()) return no_formula("there is noise, and it needs equal arrivals");
  if (s.protocol != model::Protocol::Rendezvous)
    return no_formula(fmt::format("its messages are rendezvous, not {}", name_of(s.protocol)));
  const bool served =
      spec.algorithm == model::Algorithm::ParameterServer || spec.algorithm == model::Algorithm::InNetwork;
  // As in link_costs: ranks of one node are inside it; servers and switches are not where there are more.
  const bool across = s.cluster.nodes > 1 && (served || spec.ranks > s.cluster.devices_per_node);
  if (across && !served && s.cluster.devices_per_node > 1)
    return no_formula("messages inside a node and across nodes cost differently");
  COX_TRY(const model::Schedule schedule, model::Schedule::make(spec));
  const LinkCosts costs = link_costs(s, schedule);
  const auto once = model::closed_form(spec, across ? costs.across : costs.inside);
  if (!once) return no_formula(fmt::format("{} has none", name_of(spec.algorithm)));
  Outcome out;
  out.engine = EngineKind::ClosedForm;
  out.protocol = s.protocol;
  out.ranks = spec.ranks;
  Seconds now{};
  for (int step = 0; step < s.job.steps; ++step) out.step_ends.push_back(now += work_of(s).compute + *once);
  out.total = now;
  out.over_replicas = spread_of(std::vector<Seconds>{now});
  return out;
}

}  // namespace

void add_servers(std::vector<int>& rank_of, int participants) {
  const auto ranks = static_cast<std::int64_t>(rank_of.size());
  const std::int64_t more = participants - ranks;
  for (std::int64_t k = 0; k < more; ++k)
    rank_of.push_back(rank_of[static_cast<std::size_t>(k * ranks / more)]);
}

namespace {

/// Leaves the channels of a ring to max-plus where that is what the flow engine would say.
bool stripes(Job& job) {
  const model::Scenario& s = job.scenario;
  if (job.engine != EngineKind::Flow || !max_plus_may_stand_in(s) ||
      work_of(s).order != model::RankOrder::Linear || s.job.places.rule == model::PlaceRule::Random)
    return false;
  const std::vector<int> ranks = places(s, s.seed, job.devices, job.schedule.ranks());
  auto costs = striped_costs(*job.network, s.fabric, job.schedule, ranks, 1);
  if (!costs) return false;
  job.costs = *std::move(costs);
  job.engine = EngineKind::MaxPlus;
  job.network.reset();
  return true;
}

}  // namespace

/// What the reader of scenarios says with its line, for who makes a scenario otherwise.
Status check_places(const model::Scenario& s, bool plays_links, bool has_steps) {
  if (!plays_links && model::needs_links(s.cluster, s.job.places, s.neighbours))
    return not_possible("places, unlike cards and neighbours need links that are played, and here none are",
                        "leave `engine`, the policy and cost.form out, or say flow");
  if (!has_steps && !s.neighbours.empty())
    return not_possible("neighbours beside workers that have no common step",
                        "leave the policy out, or the neighbours");
  return NeighbourJobs::check(s);
}

Seconds drawn_time(const model::LookedUp& whole, std::uint64_t seed, std::int64_t step, std::int64_t number) {
  if (whole.probability == 0) return whole.time;
  constexpr std::uint32_t kDipStream = 0x64697073;
  constexpr std::uint64_t kCounted = std::uint64_t{1} << 33;
  const double draw =
      RandomStream(seed, kDipStream)
          .uniform(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(number) % kCounted);
  return draw < whole.probability ? whole.slow : whole.time;
}

void table_notes(std::optional<Bytes> below, std::optional<Bytes> above, std::vector<std::string>& notes) {
  notes.emplace_back("times of collectives are measured ones, by size; all leave together");
  if (below)
    notes.push_back(
        fmt::format("collectives of {} and more lie below the smallest size that was measured, and "
                    "are given its time",
                    to_string(*below)));
  if (above)
    notes.push_back(
        fmt::format("collectives of up to {} lie above the largest size that was measured, and are "
                    "given its bytes per second",
                    to_string(*above)));
}

std::string compression_note(const model::Compressed& sum, Bytes bytes) {
  return fmt::format("sums of {} are carried as {} of {}; packing takes {}, unpacking {}", to_string(bytes),
                     name_of(sum.kind), to_string(sum.bytes), to_string(sum.encode), to_string(sum.decode));
}

std::string nccl_note(std::string_view what, const model::NcclEstimate& made, const model::NcclCost& cost) {
  return fmt::format("{} by NCCL's tuning model: {}, {}, {} channels, {}; all leave together", what,
                     name_of(made.algorithm), name_of(made.protocol), cost.channels, to_string(made.time));
}

namespace {

/// Where the price is that of the whole collective. Whatever its rounds would be, nobody plays them.
Result<Whole> price_whole(const model::Scenario& s, model::CollectiveSpec& spec) {
  Whole out;
  if (s.price == model::CollectivePrice::Table) {
    COX_TRY(const model::MeasuredTimes table, measured_times_of(s));
    const auto found = table.at(spec.kind, spec.ranks, spec.bytes);
    if (!found)
      return fail(Error{.code = Errc::InvalidInput,
                        .id = "simulate-008",
                        .message = fmt::format("no time of {} of {} ranks; there is {}", name_of(spec.kind),
                                               spec.ranks, table.what()),
                        .hint = "measure it, too, or give times for any number of ranks (*)",
                        .where = Where{.file = s.table_file}});
    out.price = *found;
    table_notes(found->in == model::InTable::Below ? std::optional(spec.bytes) : std::nullopt,
                found->in == model::InTable::Above ? std::optional(spec.bytes) : std::nullopt, out.notes);
  } else {
    const auto nccl = model::nccl_time(spec, s.nccl);
    if (!nccl)
      return not_possible(fmt::format("NCCL has no {} of {} ranks here", name_of(spec.kind), spec.ranks),
                          "leave cost.form out, or say another collective");
    out.price.time = nccl->time;
    out.notes.push_back(nccl_note(name_of(spec.kind), *nccl, s.nccl));
  }
  spec.algorithm = model::Algorithm::Ring;
  if (spec.kind == model::Collective::Broadcast || spec.kind == model::Collective::Reduce)
    spec.algorithm = model::Algorithm::BinomialTree;
  if (spec.kind == model::Collective::AllToAll) spec.algorithm = model::Algorithm::Direct;
  return out;
}

Result<Job> make_job(const model::Scenario& s, const model::CollectiveSpec& spec, EngineKind engine,
                     const SimulateOptions& options) {
  COX_CHECK(check_places(s, engine == EngineKind::Flow, true));
  COX_TRY(std::vector<int> devices, devices_of_job(s, s.seed, spec.ranks));
  // Where all messages cost the same, the order changes nothing; else this engine would be silently wrong.
  if (engine == EngineKind::MaxPlus && work_of(s).order == model::RankOrder::Random && s.cluster.nodes > 1 &&
      s.cluster.devices_per_node > 1)
    return not_possible(
        "the max-plus engine places ranks on nodes in their order, and job.order is \"random\"",
        "say --engine flow, or leave job.order out");
  COX_TRY(model::Schedule schedule, model::Schedule::make(spec));
  LinkCosts costs = link_costs(s, schedule);
  Job job{.scenario = s,
          .options = options,
          .engine = engine,
          .schedule = std::move(schedule),
          .costs = std::move(costs),
          .noise = {},
          .network = nullptr,
          .devices = std::move(devices)};
  COX_TRY(job.noise, noise_of(s, job.devices, s.seed));
  if (engine == EngineKind::Flow) {
    COX_TRY(Network network, Network::make(s.cluster, s.fabric));
    job.network = std::make_unique<Network>(std::move(network));
  }
  job.striped = stripes(job);
  return job;
}

Status check_records(const model::Scenario& s, const model::CollectiveSpec& spec) {
  if (StepRecorder::records(s, spec) <= StepRecorder::kMostRecords) return {};
  return fail(Error{
      .code = Errc::Unsupported,
      .id = "simulate-003",
      .message = fmt::format("the Run would hold {:.0f} million records, at most {:.0f} million are written",
                             StepRecorder::records(s, spec) / 1e6, StepRecorder::kMostRecords / 1e6),
      .hint = "simulate fewer steps or ranks, or ask for no Run",
      .where = {}});
}

bool groups_ranks(const model::CollectiveSpec& spec) {
  using enum model::Algorithm;
  return spec.algorithm == Hierarchical2 || spec.algorithm == Hierarchical3 || spec.algorithm == TwoLevel ||
         (spec.algorithm == Ring && spec.channels > 1);
}

/// What the numbers are not, and where they are from.
void add_notes(const Job& job, const model::CollectiveSpec& spec, Outcome& out) {
  const model::Scenario& s = job.scenario;
  for (std::string& note : class_notes(s.cluster, job.devices)) out.notes.push_back(std::move(note));
  if (job.network && job.schedule.participants() > spec.ranks)
    out.notes.push_back(fmt::format("{} servers or switches share devices with ranks",
                                    job.schedule.participants() - spec.ranks));
  if (s.job.places.rule != model::PlaceRule::Packed && groups_ranks(spec))
    out.notes.push_back(
        fmt::format("groups of {} are by rank number, and job.placement spreads them over nodes",
                    model::name_of(spec.algorithm)));
  if (job.striped)
    out.notes.emplace_back(
        "channels meet only at devices' scale-up ports, each with its part of them: by max-plus, within a few per cent of "
        "the flow engine; loads of links are not counted");
  if (job.uncompressed > Bytes{}) out.notes.push_back(compression_note(job.carried, job.uncompressed));
  if (job.whole) {
    out.notes.insert(out.notes.end(), job.whole->notes.begin(), job.whole->notes.end());
    if (s.price == model::CollectivePrice::Table)
      out.not_modelled.emplace_back(kTableKnowsNoNeighbours);
    else if (s.cluster.nodes > 1)
      out.not_modelled.emplace_back(kNcclKnowsNoFabric);
  }
  if (out.engine == EngineKind::MaxPlus && spec.algorithm == model::Algorithm::Direct &&
      s.cluster.nodes > 1 && s.cluster.devices_per_node > 1)
    out.not_modelled.emplace_back(
        "two messages of a rank that meet in its network card and share it: one goes after the other "
        "(--engine flow does it)");
}

Outcome outcome_of(const Job& job, const model::CollectiveSpec& spec, const std::vector<Replica>& replicas) {
  Outcome out;
  const bool own_links = std::ranges::all_of(replicas, &Replica::own_links);
  out.engine = own_links ? EngineKind::MaxPlus : job.engine;
  out.protocol = job.scenario.protocol;
  out.ranks = spec.ranks;
  std::vector<Seconds> totals;
  for (const Replica& each : replicas) {
    totals.push_back(each.total);
    out.messages += each.messages;
    out.closure = out.closure || each.closure;
    out.memo = out.memo || each.memo;
  }
  const Replica& first = replicas.front();
  out.rank_ends = first.rank_ends;
  out.total = first.total;
  out.evaluated = first.evaluated;
  out.step_ends = first.step_ends;
  out.neighbours = first.neighbours;
  out.over_replicas = spread_of(totals);
  if (own_links)
    out.notes.emplace_back("no two messages meet on a link, so max-plus gives what the flow engine would");
  add_notes(job, spec, out);
  for (std::string& note : too_late(job.scenario, out.total)) out.notes.push_back(std::move(note));
  for (std::string& note : job.noise.repeats(job.scenario.job.steps, out.total))
    out.notes.push_back(std::move(note));
  if (job.network) out.links = link_loads(*job.network, first.link_bytes, out.total);
  return out;
}

}  // namespace

Result<Outcome> simulate_collectives(const model::Scenario& s, EngineKind engine,
                                     const SimulateOptions& options) {
  model::CollectiveSpec spec = spec_of(s);
  const Bytes asked = spec.bytes;
  const auto carried = model::compressed(spec.kind, spec.bytes, spec.ranks, work_of(s).compression);
  if (!carried)
    return not_possible(fmt::format("{} is not compressed, sums are", name_of(spec.kind)),
                        "leave job.compression out, or say all-reduce");
  spec.kind = carried->kind;
  spec.bytes = carried->bytes;
  std::optional<Whole> whole;
  if (s.price != model::CollectivePrice::Rounds) {
    COX_TRY(whole, price_whole(s, spec));
    engine = EngineKind::ClosedForm;
  } else if (engine == EngineKind::ClosedForm) {
    return by_closed_form(s, spec);
  }
  COX_TRY(Job job, make_job(s, spec, engine, options));
  job.whole = std::move(whole);
  job.carried = *carried;
  if (work_of(s).compression.kind != model::Compressor::None) job.uncompressed = asked;
  if (options.want_run) COX_CHECK(check_records(s, spec));
  std::vector<Replica> replicas(static_cast<std::size_t>(s.replicas));
  std::unique_ptr<StepRecorder> recorder;
  if (options.want_run) recorder = std::make_unique<StepRecorder>(s, spec);
  if (recorder && !s.job.places.packed()) recorder->put_on(s.cluster, job.devices);
  parallel_for(replicas.size(), options.threads, [&](std::size_t i) {
    replicas[i] = Player(job, static_cast<int>(i))
                      .play(i == 0 ? recorder.get() : nullptr, i == 0 ? options : SimulateOptions{});
  });
  Outcome out = outcome_of(job, spec, replicas);
  if (recorder) out.run = std::move(*recorder).finish();
  return out;
}

}  // namespace cox::simulate
