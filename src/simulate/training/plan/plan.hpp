// SPDX-License-Identifier: Apache-2.0
/// \file
/// A training job as programs: what each stage does in a step, and what its communication costs.
///
/// A *unit* is the tensor x context group of one replica's stage. Its ranks meet in every layer, so they are
/// evaluated as one; docs/concepts/training-steps.md says when that is exact.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/program.hpp"
#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/max_plus.hpp"
#include "cox/simulate/network.hpp"
#include "cox/simulate/training.hpp"

#include "simulate/training/plan/replica_groups.hpp"

namespace cox::simulate::training {

/// Groups of a stage's program: replicas that reduce and gather, and replicas whose experts exchange.
inline constexpr CommId kDataGroup{0};
inline constexpr CommId kExpertGroup{1};
/// Among the ranks of a unit, where their messages meet others.
inline constexpr CommId kTensorGroup{2};
inline constexpr CommId kContextGroup{3};
/// Hybrid sharding: replicas that hold a set of shards among them, and those that hold the same shard.
inline constexpr CommId kShardGroup{4};
inline constexpr CommId kCopyGroup{5};

/// What an operation of a stage's program takes on the scenario's cluster, and which part of the step it is.
struct Price {
  StepPart part = StepPart::Forward;  ///< of a Compute
  bool opens = false;                 ///< begins a pass of a micro-batch, or the optimizer
  bool closes = false;                ///< and ends it
  Seconds work{};
  Seconds tensor{};
  Seconds context{};
  Bytes context_bytes{};
  Seconds encode{};  ///< of a data collective: before and after it, on its stream
  Seconds decode{};
};

/// Collectives of a unit's tensor groups (or context groups) behind a computation, one after the other, whose measured time
/// has dips.
struct InnerDips {
  bool tensor = false;
  int first = 0;  ///< of all that the unit has in a step
  int count = 1;
  model::LookedUp time;
};

/// A stage's program and its prices, one per operation. The program says what a unit does and what waits for
/// what: computations, sends and receives of micro-batches (`peer` is the other stage, `tag` the mailbox),
/// data collectives beside the rest, exchanges of experts, and `Other` where the unit stands still until a
/// data collective is done.
struct PricedProgram {
  model::Program program;
  std::vector<Price> prices;
  std::map<model::OperationIndex, std::vector<InnerDips>> dips;  ///< of computations
  std::int64_t tensor_messages = 0;                              ///< of one unit
};

/// One operation as the step engine plays it, all that it needs side by side.
struct Instruction {
  enum class Code : std::uint8_t {
    Compute,   ///< `work`, then `tensor` and `context`, among the unit's own ranks
    Receive,   ///< stands still until mailbox `slot` is filled
    Send,      ///< fills mailbox `slot` of stage `stage`
    Issue,     ///< data collective `slot` joins its stream
    Await,     ///< stands still until data collective `slot` is done
    Exchange,  ///< expert all-to-all `slot`, from arrival to departure
    Inner,     ///< collective `slot` among the unit's own ranks, on the network
  };
  Code code = Code::Compute;
  StepPart part = StepPart::Forward;    ///< of a Compute
  ReplicaGroup of = ReplicaGroup::All;  ///< of an Issue or Await
  int micro_batch = -1;
  int chunk = 0;
  int slot = 0;  ///< Compute: 1 + that of its groups' dips; 0 = none
  int stage = 0;
  bool opens = false;   ///< begins a pass of a micro-batch, or the optimizer
  bool closes = false;  ///< and ends it
  Seconds work{};
  Seconds tensor{};
  Seconds context{};
  Bytes bytes{};          ///< Send: from each rank; Compute: of its tensor all-reduces together
  Bytes context_bytes{};  ///< of its context exchanges together
};

/// Collectives among copies of a shard have a stream of their own, beside that of all others; each begins in order.
struct DataCollective {
  model::Collective kind = model::Collective::AllReduce;
  Bytes bytes{};
  ReplicaGroup of = ReplicaGroup::All;
  int after = -1;    ///< slot of the one before on its stream; -1 = it is the first
  int needs = -1;    ///< slot of the one on the other stream whose result it takes; -1 = of the computation
  int next = -1;     ///< slot of the one behind it
  int feeds = -1;    ///< slot of the one that takes its result
  Seconds encode{};  ///< of each member, from when it could join until it does
  Seconds decode{};  ///< from when it leaves until it has the result
};

/// Of the unit's tensor groups (all-reduce), or of its context groups (all-gather).
struct InnerCollective {
  model::Collective kind = model::Collective::AllReduce;
  Bytes bytes{};
};

/// A stage's program made ready for the step engine.
struct StageCode {
  std::vector<Instruction> code;
  std::vector<DataCollective> data;    ///< by slot
  std::vector<Bytes> exchanges;        ///< by slot
  std::vector<InnerCollective> inner;  ///< by slot
  std::vector<std::vector<InnerDips>> dips;
  Seconds work{};                    ///< sum over `code`: what noise disturbs
  std::int64_t tensor_messages = 0;  ///< of one unit
};
[[nodiscard]] StageCode compile(const PricedProgram& stage);

/// How a step ends.
enum class Meeting : std::uint8_t {
  Gradients,   ///< gradients are summed: the ordinary synchronous step
  Parameters,  ///< parameters are averaged after the optimizer: the last of several local steps
  None,        ///< a local step, or one whose updates a policy handles
};

/// Costs of messages among the members of one kind of group.
struct GroupCosts {
  LinkCosts links;
  int members = 1;
  int per_node = 1;  ///< neighbours in the group that share a node
};

/// Whether devices of a node reach each other by the way to their cards (PCIe, and nothing else).
[[nodiscard]] bool has_one_way(const model::Cluster& cluster);

[[nodiscard]] inline bool leaves_node(const GroupCosts& g) {
  return g.members > 1 && g.per_node < g.members;
}

/// Of fewer members than the group has, as many in each of its nodes: how many share one.
[[nodiscard]] int spread_per_node(const GroupCosts& group, int members);

class Cards;

/// Rank r = ((data * pipeline + stage) * context + c) * tensor + t: tensor innermost, so that it stays inside
/// a node, and data outermost. Immutable after `make`; const calls from any thread.
class Plan {
 public:
  /// Errors: simulate-001, simulate-003.
  [[nodiscard]] static Result<Plan> make(const model::Scenario& scenario);

  [[nodiscard]] const model::Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const model::TrainingJob& job() const { return scenario_.job.as<model::TrainingJob>(); }
  [[nodiscard]] const model::Layout& layout() const { return job().layout; }
  [[nodiscard]] int stages() const { return layout().pipeline; }
  [[nodiscard]] int chunks() const { return chunks_; }
  [[nodiscard]] int ranks_per_unit() const { return layout().tensor * layout().context; }
  [[nodiscard]] int units() const { return layout().data * stages(); }
  [[nodiscard]] const ReplicaGroups& groups() const { return groups_; }
  /// Who holds a set of shards among them, or sums gradients where there are none.
  [[nodiscard]] ReplicaGroup sharing() const {
    return job().is_hybrid() ? ReplicaGroup::Shards : ReplicaGroup::All;
  }
  [[nodiscard]] int ranks() const { return units() * ranks_per_unit(); }
  /// Of place `inner` = context * tensor ways + tensor of a unit.
  [[nodiscard]] int rank_of(int replica, int stage, int inner) const {
    return (replica * stages() + stage) * ranks_per_unit() + inner;
  }
  [[nodiscard]] int mailboxes() const { return 2 * chunks_ * job().micro_batches; }
  /// One per stage; empty where the policy has no such steps.
  [[nodiscard]] const std::vector<StageCode>& code(Meeting m) const {
    return code_[static_cast<std::size_t>(m)];
  }
  /// What one message between neighbouring stages costs.
  [[nodiscard]] const model::MessageCost& between(int from_unit, int to_unit) const;
  /// The same as the scenario says it, with what it does to processors and ports.
  [[nodiscard]] const model::MessageCost& said_between(int from_unit, int to_unit) const {
    return goes_inside(from_unit, to_unit) ? scenario_.inside : scenario_.across;
  }
  /// Whether mailbox `slot` is of what comes from the stage in front.
  [[nodiscard]] bool is_forward(int slot) const { return slot < chunks_ * job().micro_batches; }
  [[nodiscard]] const GroupCosts& costs(ReplicaGroup of) const {
    return costs_[static_cast<std::size_t>(of)];
  }
  /// Whether the messages of tensor and context groups meet others on the network, and are played there.
  [[nodiscard]] bool inner_on_network() const { return inner_on_network_; }
  [[nodiscard]] Result<model::Schedule> inner_schedule(const InnerCollective& c) const;
  /// The schedule of a collective of a group, by the job's algorithm where it does this one for these members, else by
  /// ring (all-to-all: direct). Fewer `members` than the group has: it is not known which share a node.
  [[nodiscard]] Result<model::Schedule> schedule(model::Collective kind, Bytes bytes, ReplicaGroup of,
                                                 int members) const;
  [[nodiscard]] Result<model::Schedule> schedule(model::Collective kind, Bytes bytes, ReplicaGroup of) const {
    return schedule(kind, bytes, of, costs(of).members);
  }
  /// How long a collective takes from its last arrival on, where the scenario's price says just that; nothing where
  /// its rounds are played, and for what NCCL does not have (all-to-all). Fewer `members` than the group has: evenly
  /// spread over its nodes.
  [[nodiscard]] std::optional<model::LookedUp> whole_time(model::Collective kind, Bytes bytes,
                                                          ReplicaGroup of, int members) const {
    return whole(kind, bytes, costs(of), members);
  }
  [[nodiscard]] std::optional<model::LookedUp> whole_time(model::Collective kind, Bytes bytes,
                                                          ReplicaGroup of) const {
    return whole_time(kind, bytes, of, costs(of).members);
  }
  /// Ranks of a group whose gradients are summed: all, or those of the workers that are waited for.
  [[nodiscard]] int summing(ReplicaGroup of) const;
  /// Whether measured times have dips, which are drawn.
  [[nodiscard]] bool dips() const {
    return scenario_.price == model::CollectivePrice::Table && scenario_.table.dips();
  }
  /// How gradients are summed in a group (or what local steps changed is averaged), or among `members` of it, as `bytes` of
  /// each rank. Asserted: there is such a collective.
  [[nodiscard]] model::Compressed gradients(Bytes bytes, ReplicaGroup of, int members) const;
  [[nodiscard]] model::Compressed gradients(Bytes bytes, ReplicaGroup of) const {
    return gradients(bytes, of, summing(of));
  }
  /// All gradients (parameters) of one rank of a stage.
  [[nodiscard]] Bytes stage_bytes(int stage) const;
  [[nodiscard]] Bytes widest_stage() const;
  [[nodiscard]] SharedPlaces placement() const;
  /// Device that a rank sits on.
  [[nodiscard]] int device_of(int rank) const { return devices_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const std::vector<int>& devices() const { return devices_; }
  /// How much longer than elsewhere each rank computes; empty = as long.
  [[nodiscard]] const std::vector<double>& slowness() const { return slowness_; }
  /// Of messages between stages into mailbox `slot`, for the draws of noise; unlike those of collectives.
  [[nodiscard]] std::int64_t message_number(int slot) const {
    return -2 * std::int64_t{ranks_per_unit()} * (1 + std::int64_t{slot});
  }
  /// What the step's collectives and messages share; null where they are priced alone.
  [[nodiscard]] const Network* network() const { return own_links_ ? nullptr : network_.get(); }
  /// What workers and servers share, or backup workers that are in time; null where their messages are priced alone.
  [[nodiscard]] const Network* server_network() const { return server_network_.get(); }
  /// What the messages of one worker's step share among themselves, and with those of others only where `workers_together`: between
  /// its stages, exchanges of its experts, sums in its group. Null where they are priced alone.
  [[nodiscard]] const Network* worker_network() const {
    return workers_on_links_ ? server_network_.get() : nullptr;
  }
  /// Steps of all workers, and what goes to servers and comes back, are played on it at the same time.
  [[nodiscard]] bool workers_together() const { return workers_together_; }
  /// Where the servers sit: beside ranks, evenly spread.
  [[nodiscard]] std::vector<int> server_devices() const;
  /// The network on which no two of them ever meet, so that they are priced alone and it is exact; or null.
  [[nodiscard]] const Network* own_network() const { return own_links_ ? network_.get() : nullptr; }
  /// What a step carries over each link of the latter; empty where there is none.
  [[nodiscard]] const std::vector<double>& own_link_bytes(Meeting m) const {
    return own_link_bytes_[static_cast<std::size_t>(m)];
  }
  /// The channels of the data group meet only at devices' ports, and max-plus prices them.
  [[nodiscard]] bool is_striped() const { return striped_; }
  /// At most 1e-3 more than `bytes`: whole chunks for each of the group's members, where these are many.
  [[nodiscard]] Bytes in_equal_chunks(Bytes bytes, ReplicaGroup of) const;
  [[nodiscard]] Bytes equal_chunks(Bytes bytes, int members) const;
  /// Messages may meet at ports, and are too many to be played there.
  [[nodiscard]] bool misses_ports() const {
    return misses_links_ ||
           (scenario_.policy.in_step() && network_ == nullptr && !striped_ && may_meet_at_ports());
  }
  /// What a message between workers costs where no links are played: inside the node if it is the only one and has several devices.
  [[nodiscard]] const model::MessageCost& among_workers() const;
  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] std::vector<std::string> not_modelled() const;

  // For the programs:
  [[nodiscard]] const model::Layer& layer(int l) const { return job().layers[static_cast<std::size_t>(l)]; }
  [[nodiscard]] std::pair<int, int> layers_of(int stage, int chunk) const;  ///< [first, last)
  [[nodiscard]] Bytes gradients_of(int l) const;
  [[nodiscard]] Bytes activations_of(int l) const;
  [[nodiscard]] bool is_expert_layer(int l) const;
  /// What one member of a set of shards has of `bytes`.
  [[nodiscard]] Bytes shard_of(Bytes bytes) const;
  struct Inner {
    Seconds time{};
    std::int64_t messages = 0;
  };
  /// Its measured time where that has dips.
  [[nodiscard]] std::optional<model::LookedUp> inner_dips(bool tensor, Bytes bytes) const;
  /// One all-reduce of a layer's activations among the tensor ranks; one exchange among the context ranks.
  [[nodiscard]] Result<Inner> tensor_time(Bytes bytes);
  [[nodiscard]] Result<Inner> context_time(Bytes bytes);

 private:
  [[nodiscard]] bool needs(Meeting m) const;
  [[nodiscard]] Status check() const;
  void set_groups();
  [[nodiscard]] int packed_per_node(ReplicaGroup of) const;
  [[nodiscard]] std::vector<int> members_of(ReplicaGroup of, int group, int stage, int c) const;
  [[nodiscard]] bool uses(ReplicaGroup of) const;
  [[nodiscard]] bool gathers(ReplicaGroup of) const;
  [[nodiscard]] int node_of(int rank) const {
    return device_of(rank) / std::max(1, scenario_.cluster.devices_per_node);
  }
  [[nodiscard]] bool goes_inside(int from_unit, int to_unit) const {
    return node_of(from_unit * ranks_per_unit()) == node_of(to_unit * ranks_per_unit());
  }
  [[nodiscard]] bool inner_spans_nodes() const;
  [[nodiscard]] bool inner_would_meet() const;
  [[nodiscard]] bool inner_meets_others() const;
  [[nodiscard]] double inner_messages() const;
  [[nodiscard]] Status set_places();
  [[nodiscard]] int sharing_a_node(const std::vector<std::vector<int>>& groups) const;
  [[nodiscard]] Status find_own_links();
  [[nodiscard]] bool may_own_links() const;
  [[nodiscard]] Status share_ports();
  [[nodiscard]] bool asks_who_meets() const;
  [[nodiscard]] bool come_together() const;
  [[nodiscard]] bool meet(GroupCosts& group, const std::vector<model::Schedule>& schedules,
                          const std::vector<int>& devices, bool together);
  [[nodiscard]] Status find_who_meets_inside();
  [[nodiscard]] Status find_who_meets();
  [[nodiscard]] model::CollectiveSpec spec(model::Collective kind, Bytes bytes, int members,
                                           int per_node) const;
  [[nodiscard]] Result<model::Schedule> schedule(const model::CollectiveSpec& asked) const;
  [[nodiscard]] Result<Inner> inner_time(model::Collective kind, Bytes bytes, const GroupCosts& group);
  [[nodiscard]] std::optional<model::LookedUp> whole(model::Collective kind, Bytes bytes,
                                                     const GroupCosts& group, int members) const;
  enum class Way : std::uint8_t { Across, Inside };  ///< between nodes, or between devices of one
  [[nodiscard]] bool stages_leave_nodes() const;
  [[nodiscard]] bool stages_share_nodes() const;
  /// What goes this way in a step, by streams that do not wait for each other.
  [[nodiscard]] std::vector<std::string_view> streams(Way way) const;
  [[nodiscard]] bool groups_share_cards() const;
  [[nodiscard]] bool lanes_share_ports() const;
  [[nodiscard]] bool exchanges_meet() const;
  [[nodiscard]] bool may_meet_at_ports() const;
  [[nodiscard]] Result<double> messages_of_step() const;
  [[nodiscard]] Status play_ports();
  [[nodiscard]] Result<bool> too_many_for_backups() const;
  [[nodiscard]] Result<double> messages_among_workers() const;
  [[nodiscard]] int senders_of_replica() const;
  [[nodiscard]] bool workers_share_nodes() const;
  [[nodiscard]] bool workers_share_links() const;
  [[nodiscard]] bool servers_have_ranks_beside() const;
  [[nodiscard]] bool sums_have_ranks_of_a_node() const;
  [[nodiscard]] bool sums_meet_in_cards() const;
  [[nodiscard]] bool sums_share_cards_both_ways() const;
  [[nodiscard]] bool workers_meet() const;
  [[nodiscard]] Status play_workers();
  [[nodiscard]] bool workers_send_inside() const;
  [[nodiscard]] Status play_inside_workers();
  [[nodiscard]] std::vector<std::string> unmodelled_among_workers() const;
  /// For `not_modelled`: what meets and is priced as if it had the port to itself; empty = nothing.
  [[nodiscard]] std::string met_at_ports() const;
  [[nodiscard]] Status write_programs();
  void take_network(std::shared_ptr<const Network> network);
  [[nodiscard]] bool meets_unpriced_at_cards() const;
  [[nodiscard]] bool stages_meet_at_cards() const;
  void use_cards(ReplicaGroup of, Cards& cards) const;
  [[nodiscard]] std::string flow_does_it() const;
  [[nodiscard]] bool may_have_channels(const GroupCosts& group) const;
  void note_table(std::vector<std::string>& notes) const;
  [[nodiscard]] std::optional<model::NcclEstimate> nccl(model::Collective kind, Bytes bytes,
                                                        const GroupCosts& group, int members) const;
  [[nodiscard]] Status check_whole() const;
  [[nodiscard]] Status find_striped();
  void note_single_replica(std::vector<std::string>& notes) const;
  void note_activations(std::vector<std::string>& notes) const;
  void note_turns(std::vector<std::string>& notes) const;
  void note_collectives(std::vector<std::string>& notes) const;
  void note_compression(std::vector<std::string>& notes) const;

  [[nodiscard]] model::MessageCost beside_computation(const model::MessageCost& cost) const;

  model::Scenario scenario_;
  model::MessageCost between_inside_;  ///< of messages between stages
  model::MessageCost between_across_;
  int chunks_ = 1;
  std::vector<int> devices_;      ///< of the ranks
  std::vector<double> slowness_;  ///< of the ranks
  ReplicaGroups groups_;
  GroupCosts costs_[std::size(kAllReplicaGroups)];  ///< by kind
  GroupCosts tensor_;
  GroupCosts context_;
  std::vector<StageCode> code_[3];
  std::shared_ptr<const Network> network_;
  std::shared_ptr<const Network> server_network_;
  /// the channels of the data group meet only at devices' ports: see striped_ring.hpp
  bool striped_ = false;
  bool own_links_ = false;
  bool workers_on_links_ = false;  ///< each one's own step is played there
  bool workers_together_ = false;  ///< and the others' at the same time
  bool misses_links_ = false;      ///< workers without a common step have too many messages for them
  bool lists_meet_ = false;        ///< messages of one group's collectives, in a port or card
  bool parts_differ_ = false;      ///< by a byte, in rounds that are taken to end together
  bool inner_lists_meet_ = false;  ///< the same of tensor and context groups
  bool inner_meets_ = false;       ///< messages inside a unit meet others on links
  bool inner_on_network_ = false;  ///< and are played there
  std::vector<double> own_link_bytes_[3];
  std::map<std::pair<bool, std::int64_t>, Inner> inner_;
};

/// The program of one stage. Errors: those of the plan's schedules.
[[nodiscard]] Result<PricedProgram> make_program(Plan& plan, int stage, Meeting meeting);

}  // namespace cox::simulate::training
