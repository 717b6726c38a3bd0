// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>

#include "simulate/training/plan.hpp"

namespace cox::simulate::training {
namespace {

using Code = Instruction::Code;

/// Writes the program of one stage, pass by pass.
class Writer {
 public:
  Writer(Plan& plan, int stage, Meeting meeting)
      : plan_(plan), job_(plan.job()), stage_(stage), meeting_(meeting) {
    shared_ = plan.data_group().members > 1 && meeting != Meeting::None;
    sums_ = shared_ && meeting == Meeting::Gradients;
    zero_ = sums_ ? job_.zero_stage : 0;
  }

  Result<StageProgram> write() {
    const auto order =
        pipeline_order(job_.schedule, plan_.stages(), stage_, job_.micro_batches, plan_.chunks());
    for (std::size_t k = 0; k < order.size(); ++k) COX_CHECK(pass(order[k], k + 1 == order.size()));
    finish();
    for (const Instruction& i : out_.code) out_.work += i.work;
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

  Instruction& emit(Code code, const StageOp& op) {
    Instruction i;
    i.code = code;
    i.part = op.kind == Kind::Forward ? StepPart::Forward : StepPart::Backward;
    i.micro_batch = op.micro_batch;
    i.chunk = op.chunk;
    return out_.code.emplace_back(i);
  }

  int slot(bool forward, int chunk, int micro_batch) const {
    return ((forward ? 0 : plan_.chunks()) + chunk) * job_.micro_batches + micro_batch;
  }

  void issue(model::Collective kind, Bytes bytes, const StageOp& op) {
    emit(Code::Issue, op).slot = static_cast<int>(out_.data.size());
    out_.data.push_back({.kind = kind, .bytes = bytes});
  }

  void await_last(const StageOp& op) {
    if (!out_.data.empty()) emit(Code::Await, op).slot = static_cast<int>(out_.data.size()) - 1;
  }

  void exchange(int l, const StageOp& op) {
    if (plan_.layout().expert == 1) return;
    emit(Code::Exchange, op).slot = static_cast<int>(out_.exchanges.size());
    out_.exchanges.push_back(plan_.activations_of(l));
  }

  void receive(const StageOp& op, bool forward) {
    emit(Code::Receive, op).slot = slot(forward, op.chunk, op.micro_batch);
  }

  void send(const StageOp& op, bool forward, int place, int last_layer) {
    Instruction& i = emit(Code::Send, op);
    i.stage = place % plan_.stages();
    i.slot = slot(forward, place / plan_.stages(), op.micro_batch);
    i.bytes = plan_.activations_of(last_layer);
  }

  /// Computation of a layer on a device, as split as it is. Joined with the one before where nothing can
  /// happen in between.
  Status compute(int l, Seconds time, int tensor, int context, const StageOp& op) {
    const Bytes bytes = plan_.activations_of(l);
    COX_TRY(const Plan::Inner reduce, plan_.tensor_time(bytes));
    COX_TRY(const Plan::Inner ring, plan_.context_time(2 * plan_.layer(l).activations));
    const bool join = out_.code.size() > pass_begin_ && out_.code.back().code == Code::Compute;
    Instruction& i = join ? out_.code.back() : emit(Code::Compute, op);
    i.work += time;
    i.tensor += reduce.time * tensor;
    i.context += ring.time * context;
    i.bytes += plan_.layout().tensor > 1 ? bytes * tensor : Bytes{};
    i.context_bytes += plan_.layout().context > 1 ? 2 * plan_.layer(l).activations * context : Bytes{};
    out_.tensor_messages +=
        reduce.messages * tensor * plan_.layout().context + ring.messages * context * plan_.layout().tensor;
    return {};
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
      issue(zero_ > 0 ? model::Collective::ReduceScatter : model::Collective::AllReduce, bucket_, op);
    else
      held_.push_back(bucket_);
    bucket_ = Bytes{};
  }
  /// What was held back until nothing computes; whether there was any.
  bool release(const StageOp& op) {
    const bool any = !held_.empty();
    for (const Bytes b : held_)
      issue(zero_ > 0 ? model::Collective::ReduceScatter : model::Collective::AllReduce, b, op);
    held_.clear();
    return any;
  }

  /// Whether the gradients of this pass leave: all of them where only shards are kept, else the last ones.
  bool completes(const StageOp& op) {
    if (!sums_ || op.kind == Kind::Forward || op.kind == Kind::BackwardInput) return false;
    if (zero_ >= 2) return true;
    auto& done = done_[op.chunk];
    return ++done == job_.micro_batches;
  }

  Status layers(const StageOp& op, const std::vector<int>& order, bool completes) {
    const bool gathers = zero_ == 3 && op.kind != Kind::BackwardWeight;
    std::vector<int> gather(order.size());
    const auto fetch = [&](std::size_t k) {
      if (!gathers || k >= order.size()) return;
      gather[k] = static_cast<int>(out_.data.size());
      issue(model::Collective::AllGather, plan_.gradients_of(order[k]), op);
    };
    fetch(0);
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (gathers) emit(Code::Await, op).slot = gather[k];
      if (job_.overlap) fetch(k + 1);
      COX_CHECK(layer(order[k], op));
      if (!job_.overlap) fetch(k + 1);
      if (completes) reduce(order[k], op);
    }
    return {};
  }

  Status pass(const StageOp& op, bool last) {
    pass_begin_ = out_.code.size();
    const bool forward = op.kind == Kind::Forward;
    const int place = op.chunk * plan_.stages() + stage_;
    const int places = plan_.stages() * plan_.chunks();
    const auto [first, end] = plan_.layers_of(stage_, op.chunk);
    std::vector<int> order;
    for (int l = first; l < end; ++l) order.push_back(forward ? l : first + end - 1 - l);
    if (forward && place > 0) receive(op, true);
    if (op.kind != Kind::Forward && op.kind != Kind::BackwardWeight && place + 1 < places) receive(op, false);
    const std::size_t begin = out_.code.size();
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

  /// First and last computation of a pass.
  void mark(std::size_t begin) {
    Instruction* last = nullptr;
    for (std::size_t i = begin; i < out_.code.size(); ++i) {
      if (out_.code[i].code != Code::Compute) continue;
      if (last == nullptr) out_.code[i].opens = true;
      last = &out_.code[i];
    }
    if (last != nullptr) last->closes = true;
  }

  void finish() {
    const StageOp end{.kind = Kind::Backward, .micro_batch = -1, .chunk = 0};
    flush(end);
    static_cast<void>(release(end));
    await_last(end);
    Instruction& step = emit(Code::Compute, end);
    step.part = StepPart::Optimizer;
    step.opens = step.closes = true;
    step.work = job_.optimizer / (zero_ > 0 ? plan_.data_group().members : 1);
    const std::size_t before = out_.data.size();
    if (shared_ && meeting_ == Meeting::Parameters) {
      for (const Bytes b : parameter_buckets()) issue(model::Collective::AllReduce, b, end);
    } else if (zero_ == 1 || zero_ == 2) {
      for (const Bytes b : parameter_buckets()) issue(model::Collective::AllGather, b, end);
    }
    if (out_.data.size() > before) await_last(end);
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
  bool shared_ = false;  ///< replicas communicate in this step
  bool sums_ = false;    ///< gradients
  int zero_ = 0;
  std::size_t pass_begin_ = 0;
  Bytes bucket_{};
  std::vector<Bytes> held_;
  std::map<int, int> done_;  ///< backward passes by chunk
  StageProgram out_;
};

}  // namespace

Result<StageProgram> make_program(Plan& plan, int stage, Meeting meeting) {
  return Writer(plan, stage, meeting).write();
}

}  // namespace cox::simulate::training
