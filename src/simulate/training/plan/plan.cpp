// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/plan/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "cox/base/assert.hpp"
#include "cox/base/units_text.hpp"

#include "simulate/collective/measured.hpp"
#include "simulate/collective/prices.hpp"
#include "simulate/collective/shared_cards.hpp"
#include "simulate/flow/places.hpp"
#include "simulate/flow/striped_ring.hpp"

namespace cox::simulate::training {
namespace {

tl::unexpected<Error> bad(std::string message, std::string hint) {
  return fail({.code = Errc::InvalidInput,
               .id = "simulate-001",
               .message = std::move(message),
               .hint = std::move(hint),
               .where = std::nullopt});
}

bool is_time(Seconds s) {
  return s.count() >= 0 && s.count() < 1e9;  // also false for NaN
}

constexpr Seconds model::Failures::*kFailureTimes[] = {
    &model::Failures::node_mtbf,        &model::Failures::job_mtbf,
    &model::Failures::restart,          &model::Failures::restart_per_node,
    &model::Failures::restart_per_pair, &model::Failures::restart_spread,
    &model::Failures::checkpoint,       &model::Failures::checkpoint_interval,
    &model::Failures::checkpoint_write};

Status check_numbers(const model::Scenario& s) {
  const auto& job = s.job.as<model::TrainingJob>();
  if (s.job.steps < 1 || job.micro_batches < 1 || job.interleave < 1 || job.bucket.count() < 1)
    return bad(
        fmt::format(
            "{} steps, {} micro-batches, {} chunks per stage, buckets of {} bytes; each has to be at least 1",
            s.job.steps, job.micro_batches, job.interleave, job.bucket.count()),
        "correct the job's numbers");
  if (job.zero_stage < 0 || job.zero_stage > 3)
    return bad(fmt::format("zero_stage is {}, expected 0 to 3", job.zero_stage), "3 is FSDP");
  if (!(job.overlap_slowdown >= 0 && job.overlap_slowdown < 1e6))
    return bad(fmt::format("overlap_slowdown is {}, expected a ratio of at least 0", job.overlap_slowdown),
               "0.1 means that compute beside communication takes a tenth longer");
  if (!model::compressed(job.zero_stage > 0 ? model::Collective::ReduceScatter : model::Collective::AllReduce,
                         Bytes{1}, 2, job.compression))
    return bad("sums of sparse gradients in shards are no collective", "say quantised, or zero_stage = 0");
  if (!is_time(job.optimizer)) return bad("the optimizer's time is negative or too long", "write 0s or more");
  for (std::size_t l = 0; l < job.layers.size(); ++l) {
    const model::Layer& layer = job.layers[l];
    if (!is_time(layer.forward) || !is_time(layer.backward) || layer.gradients < Bytes{} ||
        layer.activations < Bytes{})
      return bad(fmt::format("layer {} has a negative or unbounded time or size", l), "write 0 or more");
  }
  return {};
}

}  // namespace

Status Plan::check() const {
  const model::TrainingJob& job = this->job();
  const model::Layout& l = job.layout;
  COX_CHECK(check_numbers(scenario_));
  for (const int ways : {l.data, l.tensor, l.pipeline, l.expert, l.context})
    if (ways < 1)
      return bad(fmt::format("the layout splits {} ways, expected at least 1", ways),
                 "leave a way out that is not used");
  const double product = double{1} * l.data * l.tensor * l.pipeline * l.context;
  const std::int64_t places = ranks_of(scenario_.cluster, scenario_.job.places);
  if (product != static_cast<double>(places))
    return bad(
        fmt::format(
            "data {} x tensor {} x pipeline {} x context {} are {} ranks, but the cluster has {} devices",
            l.data, l.tensor, l.pipeline, l.context, product, places),
        "make the product of the layout equal to nodes x devices_per_node");
  if (product > double{1 << 24})
    return bad(fmt::format("{} ranks, at most {} are simulated", product, 1 << 24),
               "simulate a part of the job");
  if (l.shard > 0 && l.data % l.shard != 0)
    return bad(fmt::format("shard {} does not divide data {}", l.shard, l.data),
               "each set of shards is held by as many replicas");
  if (scenario_.policy.kind == model::PolicyKind::LocalSgd && scenario_.policy.local_steps > 1 &&
      job.zero_stage > 0 && !job.is_hybrid())
    return bad(
        fmt::format("zero_stage {} spreads its shards over all replicas, which a local step does without",
                    job.zero_stage),
        "use the synchronous policy, job.zero_stage = 0, or job.layout.shard: replicas that hold a set are a worker");
  if (l.data % l.expert != 0)
    return bad(fmt::format("expert {} does not divide data {}", l.expert, l.data),
               "experts are spread over data-parallel ranks");
  const auto layers = static_cast<std::int64_t>(job.layers.size());
  if (layers < std::int64_t{l.pipeline} * chunks_)
    return bad(
        fmt::format("{} layers cannot be cut into {} stages of {} chunks", layers, l.pipeline, chunks_),
        "use fewer stages, or write all layers");
  if (job.moe_layers < 0 || job.moe_layers > layers)
    return bad(fmt::format("{} of {} layers have experts", job.moe_layers, layers),
               "moe_layers counts layers");
  const model::Failures& f = scenario_.failures;
  const bool times = std::all_of(std::begin(kFailureTimes), std::end(kFailureTimes),
                                 [&](Seconds model::Failures::*time) { return f.*time >= Seconds{}; });
  if (!times || !(f.weibull_shape > 0) || !(f.restart_tail >= 0 && f.restart_tail < 1) || f.cold_steps < 0 ||
      !(f.cold_factor >= 1))
    return bad("a time of the failures is negative, or a shape is out of range", "write 0s or more");
  constexpr std::int64_t kMostPasses = 500'000;  // of layers; some 600 MB of programs where each stands alone
  if (layers * job.micro_batches > kMostPasses)
    return bad(fmt::format("{} layers x {} micro-batches, at most {} together", layers, job.micro_batches,
                           kMostPasses),
               "use fewer micro-batches, or say several layers as one");
  return {};
}

Result<Plan> Plan::make(const model::Scenario& scenario) {
  if (scenario.job.workload() != model::Workload::Training)
    return bad("the job is no training", "write job.workload = \"training\"");
  Plan plan;
  plan.scenario_ = scenario;
  plan.between_inside_ = plan.beside_computation(scenario.inside);
  plan.between_across_ = plan.beside_computation(scenario.across);
  const model::TrainingJob& job = plan.job();
  const bool interleaved = job.schedule == model::PipelineSchedule::Interleaved && job.layout.pipeline > 1;
  plan.chunks_ = interleaved ? std::max(1, job.interleave) : 1;
  COX_CHECK(plan.check());
  plan.groups_ = ReplicaGroups(job);
  plan.set_groups();
  COX_CHECK(plan.set_places());
  if (scenario.price == model::CollectivePrice::Table) {
    COX_TRY(plan.scenario_.table, measured_times_of(scenario));
  }
  COX_CHECK(plan.check_whole());
  COX_CHECK(plan.share_ports());
  COX_CHECK(plan.find_who_meets_inside());
  if (plays_links(scenario, model::Workload::Training)) {
    COX_TRY(Network network, Network::make(scenario.cluster, scenario.fabric));
    plan.take_network(std::make_shared<const Network>(std::move(network)));
    if (plan.network_) COX_CHECK(plan.find_striped());
    COX_TRY(const bool too_many, plan.too_many_for_backups());
    if (too_many) plan.server_network_.reset();
  }
  COX_CHECK(plan.write_programs());
  COX_CHECK(plan.find_who_meets());
  COX_CHECK(plan.play_ports());
  COX_CHECK(plan.play_workers());
  COX_CHECK(plan.play_inside_workers());
  COX_CHECK(plan.find_own_links());
  return plan;
}

void Plan::take_network(std::shared_ptr<const Network> network) {
  (scenario_.policy.in_step() ? network_ : server_network_) = std::move(network);
  inner_meets_ = inner_meets_others() || inner_lists_meet_;
  inner_on_network_ = inner_meets_ && (scenario_.engine == model::EngineKind::Flow ||
                                       inner_messages() <= static_cast<double>(kMostPlayed));
}

Status Plan::write_programs() {
  for (const Meeting m : {Meeting::Gradients, Meeting::Parameters, Meeting::None}) {
    if (!needs(m)) continue;
    auto& code = code_[static_cast<std::size_t>(m)];
    code.clear();
    for (int stage = 0; stage < stages(); ++stage) {
      COX_TRY(const PricedProgram program, make_program(*this, stage, m));
      code.push_back(compile(program));
    }
  }
  return {};
}

bool Plan::needs(Meeting m) const {
  switch (scenario_.policy.kind) {
    case model::PolicyKind::Synchronous:
      return m == Meeting::Gradients;
    case model::PolicyKind::LocalSgd:
      return scenario_.policy.local_steps > 1 ? m != Meeting::Gradients : m == Meeting::Gradients;
    default:
      break;
  }
  return m == Meeting::None;
}

/// A message that nobody waits for at its own processor: o + L + o + max(C, T) under LogGOPS.
model::MessageCost Plan::beside_computation(const model::MessageCost& cost) const {
  if (scenario_.protocol != model::Protocol::LogGops) return cost;
  return {.form = cost.form,
          .latency = cost.latency + 2 * cost.overhead,
          .per_byte = std::max(cost.per_byte, cost.overhead_per_byte)};
}

const model::MessageCost& Plan::between(int from_unit, int to_unit) const {
  return goes_inside(from_unit, to_unit) ? between_inside_ : between_across_;
}

Result<model::Schedule> Plan::schedule(model::Collective kind, Bytes bytes, ReplicaGroup of,
                                       int members) const {
  const GroupCosts& group = costs(of);
  return schedule(spec(kind, bytes, members, members == group.members ? group.per_node : 1));
}

/// What the job asks for. Its groups are the members that share a node, unless it says a size.
model::CollectiveSpec Plan::spec(model::Collective kind, Bytes bytes, int members, int per_node) const {
  using enum model::Algorithm;
  model::CollectiveSpec spec = job().collective;
  spec.kind = kind;
  spec.ranks = members;
  spec.bytes = bytes;
  spec.root = 0;
  const bool levels = spec.algorithm == Hierarchical2 || spec.algorithm == Hierarchical3;
  if (levels && kind == model::Collective::AllToAll) spec.algorithm = TwoLevel;
  if ((levels || spec.algorithm == TwoLevel || spec.channels > 1) && spec.group == 1) spec.group = per_node;
  // Channels differ in where they cross to another node.
  if (per_node == 1 || per_node == members) spec.channels = 1;
  return spec;
}

Result<model::Schedule> Plan::schedule(const model::CollectiveSpec& asked) const {
  if (auto made = model::Schedule::make(asked)) return made;
  const bool exchange = asked.kind == model::Collective::AllToAll;
  return model::Schedule::make({.kind = asked.kind,
                                .algorithm = exchange ? model::Algorithm::Direct : model::Algorithm::Ring,
                                .ranks = asked.ranks,
                                .bytes = asked.bytes});
}

/// The cards of a node are shared by as many groups as there are beside each other.
std::optional<model::NcclEstimate> Plan::nccl(model::Collective kind, Bytes bytes, const GroupCosts& group,
                                              int members) const {
  if (scenario_.price != model::CollectivePrice::Nccl) return std::nullopt;
  model::NcclCost cost = scenario_.nccl;
  cost.ranks_per_node = members == group.members ? group.per_node : spread_per_node(group, members);
  const double part = static_cast<double>(group.per_node) / std::max(1, scenario_.cluster.devices_per_node);
  cost.across = Bandwidth::bytes_per_s(cost.across.in_bytes_per_s() * part);
  return model::nccl_time({.kind = kind, .ranks = members, .bytes = bytes}, cost);
}

std::optional<model::LookedUp> Plan::whole(model::Collective kind, Bytes bytes, const GroupCosts& group,
                                           int members) const {
  if (scenario_.price == model::CollectivePrice::Table) return scenario_.table.at(kind, members, bytes);
  const auto made = nccl(kind, bytes, group, members);
  return made ? std::optional(model::LookedUp{.time = made->time}) : std::nullopt;
}

Status Plan::check_whole() const {
  using enum model::Collective;
  if (scenario_.price == model::CollectivePrice::Rounds) return {};
  const bool table = scenario_.price == model::CollectivePrice::Table;
  const auto check = [&](model::Collective kind, const GroupCosts& group, int members) -> Status {
    if (members == 1 || whole(kind, Bytes{1}, group, members)) return {};
    if (table)
      return fail({.code = Errc::InvalidInput,
                   .id = "simulate-008",
                   .message = fmt::format("no time of {} of {} ranks, which the job needs; there is {}",
                                          name_of(kind), members, scenario_.table.what()),
                   .hint = "measure it, too, or give times for any number of ranks (*)",
                   .where = Where{.file = scenario_.table_file}});
    return bad(fmt::format("NCCL has no {} of {} ranks, {} a node, with what cost.nccl says", name_of(kind),
                           members, group.per_node),
               "leave cost.nccl.algorithm and protocol out, or cost.form");
  };
  for (const ReplicaGroup of : kDataGroups) {
    if (!uses(of)) continue;
    COX_CHECK(check(gradients(Bytes{1}, of).kind, costs(of), summing(of)));
    if (gathers(of)) COX_CHECK(check(AllGather, costs(of), costs(of).members));
  }
  COX_CHECK(check(AllReduce, tensor_, tensor_.members));
  if (const GroupCosts& experts = costs(ReplicaGroup::Experts); table && uses(ReplicaGroup::Experts))
    COX_CHECK(check(AllToAll, experts, experts.members));
  return check(AllGather, context_, context_.members);
}

model::Compressed Plan::gradients(Bytes bytes, ReplicaGroup of, int members) const {
  const auto sum = gathers(of) ? model::Collective::ReduceScatter : model::Collective::AllReduce;
  const auto made = model::compressed(sum, bytes, members, job().compression);
  COX_ASSERT(made.has_value(), "what cannot be compressed is refused");
  return *made;
}

std::pair<int, int> Plan::layers_of(int stage, int chunk) const {
  const auto all = static_cast<std::int64_t>(job().layers.size());
  const std::int64_t places = std::int64_t{stages()} * chunks_;
  const std::int64_t place = std::int64_t{chunk} * stages() + stage;
  return {static_cast<int>(all * place / places), static_cast<int>(all * (place + 1) / places)};
}

Bytes Plan::gradients_of(int l) const {
  return model::chunk_bytes(layer(l).gradients, layout().tensor, 0);
}

Bytes Plan::activations_of(int l) const {
  return model::chunk_bytes(layer(l).activations, layout().context, 0);
}

bool Plan::is_expert_layer(int l) const {
  const auto all = static_cast<std::int64_t>(job().layers.size());
  const std::int64_t experts = job().moe_layers;
  return (l + 1) * experts / all > l * experts / all;
}

Bytes Plan::stage_bytes(int stage) const {
  Bytes sum{};
  for (int c = 0; c < chunks_; ++c)
    for (int l = layers_of(stage, c).first; l < layers_of(stage, c).second; ++l) sum += gradients_of(l);
  return sum;
}

std::vector<int> Plan::server_devices() const {
  std::vector<int> devices = devices_;
  add_servers(devices, ranks() + std::max(1, scenario_.policy.servers));
  return {devices.begin() + ranks(), devices.end()};
}

SharedPlaces Plan::placement() const {
  const model::Cluster& c = scenario_.cluster;
  return {.ranks = ranks(),
          .ranks_per_node = std::max(1, c.devices_per_node),
          .nodes_per_switch = std::max(1, scenario_.fabric.hosts_per_leaf),
          .rails = std::max(1, c.nics_per_node),
          .ranks_per_stage = ranks_per_unit(),
          .stages = stages(),
          .devices = scenario_.job.places.packed() ? std::vector<int>{} : devices_,
          .card_of_device = cards_of_devices(c)};
}

Result<Plan::Inner> Plan::inner_time(model::Collective kind, Bytes bytes, const GroupCosts& group) {
  if (group.members == 1) return Inner{};
  if (const auto made = whole(kind, bytes, group, group.members)) return Inner{.time = made->time};
  const auto key = std::make_pair(kind == model::Collective::AllReduce, bytes.count());
  if (const auto known = inner_.find(key); known != inner_.end()) return known->second;
  COX_TRY(const model::Schedule schedule, this->schedule(spec(kind, bytes, group.members, group.per_node)));
  std::vector<Seconds> times(static_cast<std::size_t>(schedule.ranks()));
  CollectiveOptions options;
  options.protocol = scenario_.protocol;
  const CollectiveOutcome ran = run_collective(schedule, group.links, options, times);
  return inner_[key] = {.time = *std::max_element(times.begin(), times.end()), .messages = ran.messages};
}

Result<Plan::Inner> Plan::tensor_time(Bytes bytes) {
  return inner_time(model::Collective::AllReduce, bytes, tensor_);
}

Result<Plan::Inner> Plan::context_time(Bytes bytes) {
  return inner_time(model::Collective::AllGather, bytes, context_);
}

/// Words about sums of gradients, where nobody is there to sum with.
void Plan::note_single_replica(std::vector<std::string>& notes) const {
  if (layout().data * layout().context > 1) return;
  std::vector<std::string_view> words;
  const model::TrainingJob usual;
  if (job().zero_stage > 0) words.emplace_back("job.zero_stage");
  if (job().bucket != usual.bucket) words.emplace_back("job.bucket");
  if (!job().overlap) words.emplace_back("job.overlap");
  if (layout().tensor == 1 &&
      (job().collective.algorithm != usual.collective.algorithm || job().collective.channels > 1))
    words.emplace_back("job.collective");
  const auto sums = [](const model::Layer& one) { return one.gradients > Bytes{}; };
  const auto fits = [](const model::NodeClass& c) { return c.memory > Bytes{}; };
  const model::Cluster& c = scenario_.cluster;
  if (!scenario_.policy.has_servers() && c.device_memory == Bytes{} &&
      std::ranges::none_of(c.classes, fits) && std::ranges::any_of(job().layers, sums))
    notes.emplace_back(
        "a single replica sums no gradients: job.layers.gradients, or job.model.gradient, changes nothing");
  if (!words.empty())
    notes.push_back(fmt::format("a single replica sums no gradients: {} {} nothing", fmt::join(words, ", "),
                                words.size() == 1 ? "changes" : "change"));
}

/// Words about activations, where nobody is there to pass them to.
void Plan::note_activations(std::vector<std::string>& notes) const {
  const model::Layout& l = layout();
  if (ranks_per_unit() > 1 || l.pipeline > 1 || (l.expert > 1 && job().moe_layers > 0)) return;
  if (std::ranges::none_of(job().layers, [](const model::Layer& one) { return one.activations > Bytes{}; }))
    return;
  notes.emplace_back(
      "nothing passes activations on (one stage, no tensor or context group, no experts elsewhere): "
      "job.layers.activations, or job.model.hidden, changes nothing");
}

/// Of the rounds that max-plus plays, where flow could play them.
void Plan::note_turns(std::vector<std::string>& notes) const {
  if (network_ || server_network_ || scenario_.protocol == model::Protocol::LogGops) return;
  if (scenario_.price != model::CollectivePrice::Rounds || scenario_.policy.has_servers()) return;
  for (const ReplicaGroup of : kDataGroups) {
    if (!uses(of) || costs(of).members == 1) continue;
    const auto made = schedule(model::Collective::AllReduce, Bytes{1}, of);
    if (std::string turns = made ? serves_in_turn_note(*made) : ""; !turns.empty())
      return notes.push_back(std::move(turns));
  }
}

/// Where the job's algorithm is not what carries a collective out.
void Plan::note_collectives(std::vector<std::string>& notes) const {
  const model::CollectiveSpec& asked = job().collective;
  const auto note = [&](std::string_view what, model::Collective kind, const GroupCosts& group) {
    if (group.members == 1) return;
    const model::CollectiveSpec spec = this->spec(kind, Bytes{}, group.members, group.per_node);
    const auto made = model::Schedule::make(spec);
    const bool exchange = kind == model::Collective::AllToAll;
    if (!made && !(exchange && spec.algorithm == model::Algorithm::Ring))
      notes.push_back(fmt::format("{}: {}; carried out by {}", what, made.error().message,
                                  exchange ? "direct" : "one ring"));
    else if (made && asked.channels > 1 && spec.channels == 1 && !exchange)
      notes.push_back(fmt::format(
          "{}: one ring instead of {} channels, as {}", what, asked.channels,
          group.per_node == 1 ? "no two members surely share a node" : "all members are in one node"));
    else if (made && spec.group == 1 && spec.algorithm == model::Algorithm::Hierarchical2)
      notes.push_back(
          fmt::format("{}: hierarchical is one ring, as no two members surely share a node", what));
    else if (std::string one = one_ring_note(spec, group.per_node, scenario_.cluster);
             made && !exchange && !one.empty() && std::ranges::find(notes, one) == notes.end() &&
             may_have_channels(group))
      notes.push_back(std::move(one));
  };
  using enum model::Collective;
  if (scenario_.price == model::CollectivePrice::Nccl) {
    // Of the largest layer: the choice depends on the size.
    Bytes most{};
    for (int i = 0; i < static_cast<int>(job().layers.size()); ++i) most = std::max(most, gradients_of(i));
    if (scenario_.policy.kind == model::PolicyKind::Backup) most = widest_stage();
    for (const ReplicaGroup of : kDataGroups) {
      if (!uses(of) || summing(of) == 1) continue;
      const Bytes whole = of == ReplicaGroup::Copies ? shard_of(most) : most;
      const model::Compressed sum = gradients(whole, of);
      for (const auto& [kind, bytes] : {std::pair(sum.kind, sum.bytes), std::pair(AllGather, whole)})
        if (const auto made = nccl(kind, bytes, costs(of), summing(of));
            made && (kind == sum.kind || gathers(of)))
          notes.push_back(
              nccl_note(fmt::format("{} of {}", name_of(kind), to_string(bytes)), *made, scenario_.nccl));
    }
    return;
  }
  if (scenario_.price == model::CollectivePrice::Table) return note_table(notes);
  for (const ReplicaGroup of : kDataGroups) {
    if (!uses(of)) continue;
    note(of == ReplicaGroup::Copies ? "gradients of a shard" : "gradients", gradients(Bytes{1}, of).kind,
         costs(of));
    if (gathers(of)) note("parameters", AllGather, costs(of));
  }
  if (uses(ReplicaGroup::Experts)) note("experts", AllToAll, costs(ReplicaGroup::Experts));
}

void Plan::note_compression(std::vector<std::string>& notes) const {
  if (job().compression.kind == model::Compressor::None) return;
  const Bytes all = stage_bytes(0);
  if (scenario_.policy.has_servers()) {
    const model::Compressed sent =
        model::packed_message(job().is_hybrid() ? shard_of(all) : all, job().compression);
    notes.push_back(fmt::format(
        "a rank's gradients go to the servers as {}, and parameters come back as they are; packing takes {}, unpacking {}",
        to_string(sent.bytes), to_string(sent.encode), to_string(sent.decode)));
  }
  const ReplicaGroup sums = sharing();
  const bool meets = job().is_hybrid() || !scenario_.policy.has_servers();
  if (meets && costs(sums).members > 1) notes.push_back(compression_note(gradients(all, sums), all));
}

/// Sizes outside of what was measured.
void Plan::note_table(std::vector<std::string>& notes) const {
  Bytes least{}, most{};
  bool below = false, above = false;
  for (const auto& stages : code_)
    for (const StageCode& s : stages)
      for (const DataCollective& c : s.data) {
        const auto found = whole(c.kind, c.bytes, costs(c.of), costs(c.of).members);
        if (!found || found->in == model::InTable::Within) continue;
        if (found->in == model::InTable::Below) least = below ? std::min(least, c.bytes) : c.bytes;
        if (found->in == model::InTable::Above) most = std::max(most, c.bytes);
        below = below || found->in == model::InTable::Below;
        above = above || found->in == model::InTable::Above;
      }
  table_notes(below ? std::optional(least) : std::nullopt, above ? std::optional(most) : std::nullopt, notes);
}

/// Where nothing but the channels of one data collective at a time is on the network, and they have links of their
/// own between nodes, max-plus does the flow engine's work.
Status Plan::find_striped() {
  const model::Layout& l = layout();
  if (inner_on_network_ || !max_plus_may_stand_in(scenario_) || l.pipeline > 1 || job().is_hybrid() ||
      (job().moe_layers > 0 && l.expert > 1))
    return {};
  GroupCosts& all = costs_[static_cast<std::size_t>(ReplicaGroup::All)];
  COX_TRY(const model::Schedule made, schedule(model::Collective::AllReduce, Bytes{}, ReplicaGroup::All));
  std::vector<int> devices;
  for (int t = 0; t < l.tensor; ++t)
    for (int m = 0; m < all.members; ++m) devices.push_back(device_of(m * l.tensor + t));
  const auto costs = striped_costs(*network_, scenario_.fabric, made, devices, l.tensor);
  if (!costs) return {};
  all.links = *costs;
  network_.reset();
  striped_ = true;
  return {};
}

Bytes Plan::in_equal_chunks(Bytes bytes, ReplicaGroup of) const {
  return network() != nullptr || striped_ ? equal_chunks(bytes, costs(of).members) : bytes;
}

Bytes Plan::equal_chunks(Bytes bytes, int members) const {
  constexpr std::int64_t kMany = 64;      // below it every message is computed in no time
  constexpr std::int64_t kLeast = 1'000;  // bytes of a chunk, to which one is added
  const std::int64_t chunks = std::int64_t{members} * std::max(1, job().collective.channels);
  const std::int64_t over = bytes.count() % chunks;
  const bool changes = members >= kMany && over > 0 && bytes.count() / chunks >= kLeast;
  return changes ? bytes + Bytes{chunks - over} : bytes;
}

std::vector<std::string> Plan::notes() const {
  std::vector<std::string> notes;
  const model::Layout& l = layout();
  if (striped_)
    notes.emplace_back(
        "channels meet only at devices' scale-up ports, each with its part of them: by max-plus, within a few per cent of "
        "the flow engine; loads of links are not counted");
  note_collectives(notes);
  note_single_replica(notes);
  note_activations(notes);
  note_turns(notes);
  note_compression(notes);
  if (job().is_hybrid())
    notes.push_back(fmt::format(
        "{} neighbouring replicas hold a set of shards, and each shard has {} copies{}",
        groups_.size(ReplicaGroup::Shards), groups_.size(ReplicaGroup::Copies),
        needs(Meeting::Gradients) ? ", whose gradients are summed after the last micro-batch, beside the rest"
                                  : ""));
  if (ranks_per_unit() > 1)
    notes.emplace_back(
        inner_on_network_
            ? "messages of tensor and context groups share the links; the ranks of a group go on together"
            : "the ranks of a tensor x context group are evaluated together, as they meet in every layer");
  const auto changes = [&](const DataCollective& c) { return in_equal_chunks(c.bytes, c.of) != c.bytes; };
  for (const auto& stages : code_)
    if (std::any_of(stages.begin(), stages.end(),
                    [&](const StageCode& s) { return std::any_of(s.data.begin(), s.data.end(), changes); })) {
      notes.emplace_back("collectives have at most 0.1 % more bytes, for chunks of equal size");
      break;
    }
  if (l.pipeline > 1)
    notes.emplace_back(network_ || workers_on_links_
                           ? "messages between stages are sent beside the computation, and share the links"
                           : "messages between stages are sent beside the computation, one after the other, "
                             "and are received when they arrive");
  if (parts_differ_ && !network_)
    notes.emplace_back(
        "parts of a collective that differ by a byte are taken to end together: within 0.01 % of what the flow engine says");
  if (scenario_.policy.kind == model::PolicyKind::LocalSgd &&
      scenario_.job.steps < scenario_.policy.local_steps)
    notes.push_back(fmt::format(
        "policy.local_steps is {} and job.steps {}: no step averages, so that gradients and what is between workers change nothing",
        scenario_.policy.local_steps, scenario_.job.steps));
  if (own_links_)
    notes.emplace_back("no two messages meet on a link, so max-plus gives what the flow engine would");
  for (std::string& note : class_notes(scenario_.cluster, devices_)) notes.push_back(std::move(note));
  return notes;
}

std::vector<std::string> Plan::not_modelled() const {
  std::vector<std::string> all;
  if (job().moe_layers > 0)
    all.emplace_back(
        "experts that get more tokens than others, and gradients of experts in groups of their own");
  if (exchanges_meet() && !network_ && !server_network_ && scenario_.price != model::CollectivePrice::Table)
    all.push_back(fmt::format(
        "two messages of an exchange that meet in a rank's network card and share it: one goes after the "
        "other{}",
        flow_does_it()));
  const model::Cluster& c = scenario_.cluster;
  if (ranks_per_unit() > 1 && !inner_on_network_ && disturbs_messages(scenario_))
    all.push_back(fmt::format("noise on the messages of a tensor x context group{}",
                              inner_would_meet() ? flow_does_it() : ""));
  const bool leaves = context_.per_node < context_.members || tensor_.per_node < tensor_.members;
  if (leaves && c.nodes > 1 && !inner_on_network_ && scenario_.fabric.timeouts.happen())
    all.emplace_back("time-outs of the messages of a tensor x context group");
  if (std::string met = met_at_ports(); !met.empty()) all.push_back(std::move(met));
  for (std::string& line : unmodelled_among_workers()) all.push_back(std::move(line));
  if (inner_meets_ && !inner_on_network_)
    all.emplace_back(
        "messages of tensor and context groups on links that they share with others: more than can be played soon "
        "(--engine flow does it)");
  if (has_unlike_ways(c) && ranks_per_unit() > c.devices_per_node && !inner_on_network_)
    all.emplace_back("cards that differ, in messages of a tensor x context group across nodes");
  if (shares_links_beyond_loggops(scenario_)) all.emplace_back(kLogGopsSharesNoLinks);
  if (scenario_.price == model::CollectivePrice::Nccl && c.nodes > 1) all.emplace_back(kNcclKnowsNoFabric);
  if (scenario_.price == model::CollectivePrice::Table) all.emplace_back(kTableKnowsNoNeighbours);
  if (meets_unpriced_at_cards())
    all.push_back(fmt::format(
        "{} devices of a node share {} network interface{}; what runs at the same time is not slowed by that{}",
        c.devices_per_node, c.nics_per_node, c.nics_per_node == 1 ? "" : "s", flow_does_it()));
  return all;
}

}  // namespace cox::simulate::training
