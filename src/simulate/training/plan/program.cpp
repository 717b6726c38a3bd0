// SPDX-License-Identifier: Apache-2.0
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {
namespace {

using model::OperationIndex;
using model::OperationKind;

/// Writes the program of one stage, pass by pass.
class Writer {
 public:
  Writer(Plan& plan, int stage, Meeting meeting)
      : plan_(plan), job_(plan.job()), stage_(stage), meeting_(meeting) {
    hybrid_ = job_.is_hybrid();
    sharing_ = plan.sharing();
    meets_all_ = plan.costs(ReplicaGroup::All).members > 1 && meeting != Meeting::None;
    sums_ = hybrid_ || (meets_all_ && meeting == Meeting::Gradients);
    zero_ = sums_ ? job_.zero_stage : 0;
  }

  Result<PricedProgram> write() {
    const auto order =
        pipeline_order(job_.schedule, plan_.stages(), stage_, job_.micro_batches, plan_.chunks());
    for (std::size_t k = 0; k < order.size(); ++k) COX_CHECK(pass(order[k], k + 1 == order.size()));
    finish();
    model::Program& p = out_.program;
    for (int s = 0; s < plan_.stages(); ++s) p.ranks.push_back({.rank = Rank(s), .role = {.pipeline = s}});
    p.groups = {{.name = "data", .size = plan_.costs(ReplicaGroup::All).members},
                {.name = "expert", .size = plan_.costs(ReplicaGroup::Experts).members},
                {.name = "tensor", .size = plan_.layout().tensor},
                {.name = "context", .size = plan_.layout().context},
                {.name = "shard", .size = plan_.costs(ReplicaGroup::Shards).members},
                {.name = "copy", .size = plan_.costs(ReplicaGroup::Copies).members}};
    return std::move(out_);
  }

 private:
  using Kind = StageOp::Kind;
  /// What a layer does in a pass.
  struct Share {
    double work = 1;  ///< of the layer's own time in this direction
    int tensor = 0;   ///< all-reduces
    int context = 0;  ///< exchanges
    bool experts = false;
  };

  /// Adds an operation behind the last one; what comes next waits for it unless `beside` is asked for.
  enum class Place : std::uint8_t { Next, Beside };
  OperationIndex add(OperationKind kind, const StageOp& op, Place place = Place::Next,
                     std::initializer_list<OperationIndex> also = {}) {
    model::Program& p = out_.program;
    std::vector<OperationIndex> before = {last_};
    before.insert(before.end(), also.begin(), also.end());
    std::erase(before, model::kNoOperation);
    const OperationIndex i = p.needs.add(before);
    p.rank.push_back(static_cast<std::uint32_t>(stage_));
    p.kind.push_back(kind);
    p.bytes.emplace_back();
    p.comm.push_back(model::kNoComm);
    p.collective.push_back(model::Collective::Other);
    p.peer.push_back(model::kAnyPeer);
    p.tag.push_back(model::kAnyTag);
    p.micro_batch.push_back(op.micro_batch);
    p.chunk.push_back(op.chunk);
    out_.prices.push_back({.part = op.kind == Kind::Forward ? StepPart::Forward : StepPart::Backward});
    if (place == Place::Next) last_ = i;
    return i;
  }

  int slot(bool forward, int chunk, int micro_batch) const {
    return ((forward ? 0 : plan_.chunks()) + chunk) * job_.micro_batches + micro_batch;
  }

  /// A collective on the stream of its groups, which begin in order; `result` of the other stream comes before it.
  OperationIndex issue(model::Collective kind, Bytes bytes, ReplicaGroup of, const StageOp& op,
                       OperationIndex result = model::kNoOperation) {
    const bool copies = of == ReplicaGroup::Copies;
    OperationIndex& last = copies ? last_copies_ : last_data_;
    last = add(OperationKind::Collective, op, Place::Beside, {last, result});
    out_.program.comm[last] = copies ? kCopyGroup : of == ReplicaGroup::Shards ? kShardGroup : kDataGroup;
    out_.program.collective[last] = kind;
    out_.program.bytes[last] = bytes;
    return last;
  }

  /// Packed where the job says so.
  OperationIndex issue_sum(Bytes bytes, ReplicaGroup of, const StageOp& op,
                           OperationIndex result = model::kNoOperation) {
    const model::Compressed sum = plan_.gradients(bytes, of);
    const OperationIndex i = issue(sum.kind, sum.bytes, of, op, result);
    out_.prices[i].encode = sum.encode;
    out_.prices[i].decode = sum.decode;
    return i;
  }

  /// Gradients are summed; of several sets of shards within each, and after the last micro-batch among copies.
  void issue_gradients(Bytes bytes, const StageOp& op) {
    const OperationIndex sum = issue_sum(bytes, sharing_, op);
    if (hybrid_ && meeting_ == Meeting::Gradients && all_passes_)
      issue_sum(plan_.shard_of(bytes), ReplicaGroup::Copies, op, sum);
  }

  void await(OperationIndex i, const StageOp& op) { add(OperationKind::Other, op, Place::Next, {i}); }
  void await_last(const StageOp& op) {
    if (last_data_ != model::kNoOperation) await(last_data_, op);
    if (last_copies_ != model::kNoOperation) await(last_copies_, op);
  }

  void exchange(int l, const StageOp& op) {
    if (plan_.layout().expert == 1) return;
    const OperationIndex i = add(OperationKind::Collective, op);
    out_.program.comm[i] = kExpertGroup;
    out_.program.collective[i] = model::Collective::AllToAll;
    out_.program.bytes[i] = plan_.activations_of(l);
  }

  void receive(const StageOp& op, bool forward, int place) {
    const OperationIndex i = add(OperationKind::Receive, op);
    out_.program.peer[i] = static_cast<std::uint32_t>(place % plan_.stages());
    out_.program.tag[i] = static_cast<std::uint32_t>(slot(forward, op.chunk, op.micro_batch));
  }

  void send(const StageOp& op, bool forward, int place, int last_layer) {
    const OperationIndex i = add(OperationKind::Send, op);
    out_.program.peer[i] = static_cast<std::uint32_t>(place % plan_.stages());
    out_.program.tag[i] = static_cast<std::uint32_t>(slot(forward, place / plan_.stages(), op.micro_batch));
    out_.program.bytes[i] = plan_.activations_of(last_layer);
  }

  void inner(CommId group, Bytes bytes, const StageOp& op) {
    const OperationIndex i = add(OperationKind::Collective, op);
    out_.program.comm[i] = group;
    out_.program.collective[i] =
        group == kTensorGroup ? model::Collective::AllReduce : model::Collective::AllGather;
    out_.program.bytes[i] = bytes;
  }

  /// Computation of a layer on a device, as split as it is. Joined with the one before where nothing can
  /// happen in between.
  Status compute(int l, Seconds time, int tensor, int context, const StageOp& op) {
    const Bytes bytes = plan_.activations_of(l);
    COX_TRY(const Plan::Inner reduce, plan_.tensor_time(bytes));
    COX_TRY(const Plan::Inner ring, plan_.context_time(2 * plan_.layer(l).activations));
    const std::vector<OperationKind>& kinds = out_.program.kind;
    const bool join = kinds.size() > pass_begin_ && kinds.back() == OperationKind::Compute;
    if (plan_.inner_on_network()) {
      out_.prices[add(OperationKind::Compute, op)].work = time;
      for (int k = 0; plan_.layout().tensor > 1 && k < tensor; ++k) inner(kTensorGroup, bytes, op);
      for (int k = 0; plan_.layout().context > 1 && k < context; ++k)
        inner(kContextGroup, 2 * plan_.layer(l).activations, op);
      return {};
    }
    const OperationIndex i =
        join ? static_cast<OperationIndex>(kinds.size() - 1) : add(OperationKind::Compute, op);
    Price& price = out_.prices[i];
    price.work += time;
    price.tensor += reduce.time * tensor;
    price.context += ring.time * context;
    out_.program.bytes[i] += plan_.layout().tensor > 1 ? bytes * tensor : Bytes{};
    price.context_bytes += plan_.layout().context > 1 ? 2 * plan_.layer(l).activations * context : Bytes{};
    add_dips(i, true, bytes, tensor);
    add_dips(i, false, 2 * plan_.layer(l).activations, context);
    out_.tensor_messages +=
        reduce.messages * tensor * plan_.layout().context + ring.messages * context * plan_.layout().tensor;
    return {};
  }

  void add_dips(OperationIndex behind, bool tensor, Bytes bytes, int count) {
    const auto time = plan_.inner_dips(tensor, bytes);
    if (!time || count == 0) return;
    out_.dips[behind].push_back({.tensor = tensor, .first = dips_, .count = count, .time = *time});
    dips_ += count;
  }

  Status layer(int l, const StageOp& op) {
    const bool forward = op.kind == Kind::Forward;
    const model::Layer& layer = plan_.layer(l);
    const bool half = op.kind == Kind::BackwardInput || op.kind == Kind::BackwardWeight;
    const Seconds time = forward ? layer.forward : half ? layer.backward / 2 : layer.backward;
    // Gradients of the weights need no other rank's activations.
    const bool meets = op.kind != Kind::BackwardWeight;
    const int rings = meets ? (forward ? 1 : 2) : 0;
    if (!meets || !plan_.is_expert_layer(l)) return compute(l, time, meets ? 2 : 0, rings, op);
    COX_CHECK(compute(l, time / 2, 1, rings, op));
    exchange(l, op);
    COX_CHECK(compute(l, time / 2, 1, 0, op));
    exchange(l, op);
    return {};
  }

  /// Gradients of a layer are complete: they join the bucket, and a full bucket leaves.
  void reduce(int l, const StageOp& op) {
    bucket_ += plan_.gradients_of(l);
    if (bucket_ >= job_.bucket) flush(op);
  }
  void flush(const StageOp& op) {
    if (bucket_ == Bytes{}) return;
    if (job_.overlap)
      issue_gradients(bucket_, op);
    else
      held_.push_back(bucket_);
    bucket_ = Bytes{};
  }
  /// What was held back until nothing computes; whether there was any.
  bool release(const StageOp& op) {
    const bool any = !held_.empty();
    for (const Bytes b : held_) issue_gradients(b, op);
    held_.clear();
    return any;
  }

  /// Whether the gradients of this pass leave: all of them where only shards are kept, else the last ones.
  bool completes(const StageOp& op) {
    if (!sums_ || op.kind == Kind::Forward || op.kind == Kind::BackwardInput) return false;
    all_passes_ = ++done_[op.chunk] == job_.micro_batches;
    return zero_ >= 2 || all_passes_;
  }

  Status layers(const StageOp& op, const std::vector<int>& order, bool completes) {
    const bool gathers = zero_ == 3 && op.kind != Kind::BackwardWeight;
    std::vector<OperationIndex> gather(order.size());
    const auto fetch = [&](std::size_t k) {
      if (!gathers || k >= order.size()) return;
      gather[k] = issue(model::Collective::AllGather, plan_.gradients_of(order[k]), sharing_, op);
    };
    fetch(0);
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (gathers) await(gather[k], op);
      if (job_.overlap) fetch(k + 1);
      COX_CHECK(layer(order[k], op));
      if (!job_.overlap) fetch(k + 1);
      if (completes) reduce(order[k], op);
    }
    return {};
  }

  Status pass(const StageOp& op, bool last) {
    pass_begin_ = out_.program.size();
    const bool forward = op.kind == Kind::Forward;
    const int place = op.chunk * plan_.stages() + stage_;
    const int places = plan_.stages() * plan_.chunks();
    const auto [first, end] = plan_.layers_of(stage_, op.chunk);
    std::vector<int> order;
    for (int l = first; l < end; ++l) order.push_back(forward ? l : first + end - 1 - l);
    if (forward && place > 0) receive(op, true, place - 1);
    if (op.kind != Kind::Forward && op.kind != Kind::BackwardWeight && place + 1 < places)
      receive(op, false, place + 1);
    const std::size_t begin = out_.program.size();
    const bool all = completes(op);
    COX_CHECK(layers(op, order, all));
    if (all && (zero_ >= 2 || last)) flush(op);
    mark(begin);
    if (forward && place + 1 < places) send(op, true, place + 1, end - 1);
    if (op.kind != Kind::Forward && op.kind != Kind::BackwardWeight && place > 0)
      send(op, false, place - 1, first - 1);
    if (zero_ >= 2 && release(op)) await_last(op);
    return {};
  }

  /// First and last computation of a pass, or collective of a unit that goes with one.
  void mark(std::size_t begin) {
    Price* last = nullptr;
    for (std::size_t i = begin; i < out_.program.size(); ++i) {
      const CommId group = out_.program.comm[i];
      const bool inner = group == kTensorGroup || group == kContextGroup;
      if (out_.program.kind[i] != OperationKind::Compute && !inner) continue;
      if (last == nullptr) out_.prices[i].opens = true;
      last = &out_.prices[i];
    }
    if (last != nullptr) last->closes = true;
  }

  void finish() {
    const StageOp end{.kind = Kind::Backward, .micro_batch = -1, .chunk = 0};
    all_passes_ = true;
    flush(end);
    static_cast<void>(release(end));
    await_last(end);
    Price& step = out_.prices[add(OperationKind::Compute, end)];
    step.part = StepPart::Optimizer;
    step.opens = step.closes = true;
    step.work = job_.optimizer / (zero_ > 0 ? plan_.costs(sharing_).members : 1);
    const std::vector<Bytes> buckets = parameter_buckets();
    if (meets_all_ && meeting_ == Meeting::Parameters) {
      const ReplicaGroup of = hybrid_ ? ReplicaGroup::Copies : ReplicaGroup::All;
      for (const Bytes b : buckets) issue_sum(hybrid_ ? plan_.shard_of(b) : b, of, end);
      if (!buckets.empty()) await(hybrid_ ? last_copies_ : last_data_, end);
    }
    if (zero_ == 1 || zero_ == 2) {
      for (const Bytes b : buckets) issue(model::Collective::AllGather, b, sharing_, end);
      if (!buckets.empty()) await(last_data_, end);
    }
  }

  std::vector<Bytes> parameter_buckets() const {
    std::vector<Bytes> buckets;
    Bytes bucket{};
    for (int c = 0; c < plan_.chunks(); ++c)
      for (int l = plan_.layers_of(stage_, c).first; l < plan_.layers_of(stage_, c).second; ++l) {
        bucket += plan_.gradients_of(l);
        if (bucket >= job_.bucket) buckets.push_back(std::exchange(bucket, Bytes{}));
      }
    if (bucket > Bytes{}) buckets.push_back(bucket);
    return buckets;
  }

  Plan& plan_;
  const model::TrainingJob& job_;
  int stage_;
  Meeting meeting_;
  bool hybrid_ = false;  ///< several sets of shards
  ReplicaGroup sharing_ = ReplicaGroup::All;
  bool meets_all_ = false;   ///< all replicas communicate in this step
  bool sums_ = false;        ///< gradients
  bool all_passes_ = false;  ///< the chunk's last micro-batch goes backward
  int zero_ = 0;
  std::size_t pass_begin_ = 0;
  int dips_ = 0;  ///< collectives inside the unit that have some
  Bytes bucket_{};
  std::vector<Bytes> held_;
  std::map<int, int> done_;                           ///< backward passes by chunk
  OperationIndex last_ = model::kNoOperation;         ///< what the next operation waits for
  OperationIndex last_data_ = model::kNoOperation;    ///< of its stream
  OperationIndex last_copies_ = model::kNoOperation;  ///< of theirs
  PricedProgram out_;
};

std::optional<ReplicaGroup> data_group_of(CommId comm) {
  if (comm == kDataGroup) return ReplicaGroup::All;
  if (comm == kShardGroup) return ReplicaGroup::Shards;
  if (comm == kCopyGroup) return ReplicaGroup::Copies;
  return std::nullopt;
}

/// What operation `i`, a data collective, waits for of the streams.
DataCollective data_collective(const PricedProgram& stage, OperationIndex i,
                               const std::vector<int>& slot_of) {
  const model::Program& p = stage.program;
  DataCollective c{.kind = p.collective[i],
                   .bytes = p.bytes[i],
                   .of = *data_group_of(p.comm[i]),
                   .encode = stage.prices[i].encode,
                   .decode = stage.prices[i].decode};
  const auto is_copies = [&](OperationIndex k) { return p.comm[k] == kCopyGroup; };
  for (const OperationIndex b : p.needs.before(i))
    if (p.kind[b] == OperationKind::Collective && data_group_of(p.comm[b]))
      (is_copies(b) == is_copies(i) ? c.after : c.needs) = slot_of[b];
  return c;
}

}  // namespace

StageCode compile(const PricedProgram& stage) {
  using Code = Instruction::Code;
  const model::Program& p = stage.program;
  StageCode out;
  out.tensor_messages = stage.tensor_messages;
  std::vector<int> slot_of(p.size());
  out.code.reserve(p.size());
  for (OperationIndex i = 0; i < p.size(); ++i) {
    const Price& price = stage.prices[i];
    Instruction to{.part = price.part,
                   .micro_batch = p.micro_batch[i],
                   .chunk = p.chunk[i],
                   .opens = price.opens,
                   .closes = price.closes,
                   .work = price.work,
                   .tensor = price.tensor,
                   .context = price.context,
                   .context_bytes = price.context_bytes};
    switch (p.kind[i]) {
      case OperationKind::Send:
        to.code = Code::Send;
        to.stage = static_cast<int>(p.peer[i]);
        to.slot = static_cast<int>(p.tag[i]);
        to.bytes = p.bytes[i];
        break;
      case OperationKind::Receive:
        to.code = Code::Receive;
        to.slot = static_cast<int>(p.tag[i]);
        break;
      case OperationKind::Collective:
        if (p.comm[i] == kTensorGroup || p.comm[i] == kContextGroup) {
          to.code = Code::Inner;
          to.slot = static_cast<int>(out.inner.size());
          out.inner.push_back({.kind = p.collective[i], .bytes = p.bytes[i]});
        } else if (data_group_of(p.comm[i])) {
          to.code = Code::Issue;
          to.slot = static_cast<int>(out.data.size());
          const DataCollective& c = out.data.emplace_back(data_collective(stage, i, slot_of));
          to.of = c.of;
          if (c.after >= 0) out.data[static_cast<std::size_t>(c.after)].next = to.slot;
          if (c.needs >= 0) out.data[static_cast<std::size_t>(c.needs)].feeds = to.slot;
        } else {
          to.code = Code::Exchange;
          to.slot = static_cast<int>(out.exchanges.size());
          out.exchanges.push_back(p.bytes[i]);
        }
        slot_of[i] = to.slot;
        break;
      case OperationKind::Other:
        to.code = Code::Await;
        to.slot = slot_of[p.needs.before(i).back()];  // the collective stands behind what comes before
        to.of = out.data[static_cast<std::size_t>(to.slot)].of;
        break;
      default:
        to.code = Code::Compute;
        to.bytes = p.bytes[i];
        if (const auto dips = stage.dips.find(i); dips != stage.dips.end()) {
          out.dips.push_back(dips->second);
          to.slot = static_cast<int>(out.dips.size());
        }
    }
    out.work += to.work;
    out.code.push_back(to);
  }
  return out;
}

Result<PricedProgram> make_program(Plan& plan, int stage, Meeting meeting) {
  return Writer(plan, stage, meeting).write();
}

}  // namespace cox::simulate::training
