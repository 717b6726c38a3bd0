// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "cox/model/collective.hpp"

#include "diagnose/operations/operation_what_if_model.hpp"

namespace cox::diagnose {
namespace {

using enum OperationRole;

/// Clocks of two streams of one rank differ by less. Source: the artifact's value.
constexpr Duration kTolerance{50'000'000};  // 50 us

constexpr std::array kRules{
    OperationRule{"forward-compute", "forward-compute", ForwardCompute, false},
    OperationRule{"backward-compute", "backward-compute", BackwardCompute, false},
    OperationRule{"forward-send", "forward-pp-comm", ForwardSend, true},
    OperationRule{"forward-recv", "forward-pp-comm", ForwardReceive, true},
    OperationRule{"backward-send", "backward-pp-comm", BackwardSend, true},
    OperationRule{"backward-recv", "backward-pp-comm", BackwardReceive, true},
    OperationRule{"params-all-gather", "params-all-gather", ParamsGather, true},
    OperationRule{"grads-reduce-scatter", "grads-reduce-scatter", GradsScatter, true},
    OperationRule{"layernorm-grads-all-reduce", "layernorm-grads-all-reduce", NormReduce, true},
    OperationRule{"embedding-grads-all-reduce", "embedding-grads-all-reduce", EmbeddingReduce, true},
    OperationRule{"separate-grads-all-reduce", "separate-grads-all-reduce", SeparateReduce, true},
    OperationRule{"optimizer-clip-main-grad", "optimizer-clip-main-grad", ClipGrads, true},
    OperationRule{"optimizer", "optimizer", Optimizer, false},
    OperationRule{"gc", "gc", Collection, false},
};

/// One direction of the pipeline on one rank: compute, and the messages to and from the neighbours.
struct Direction {
  OperationRole compute;
  OperationRole send;
  OperationRole receive;
  int towards;  ///< stage of the receiver minus stage of the sender
};
constexpr std::array kDirections{Direction{ForwardCompute, ForwardSend, ForwardReceive, 1},
                                 Direction{BackwardCompute, BackwardSend, BackwardReceive, -1}};

/// Learns the schedule of one slice, stage by stage.
class Learner {
 public:
  Learner(const std::vector<SliceOperation>& slice, const ScheduleShape& shape)
      : slice_(slice), shape_(shape) {
    out_.before.resize(slice.size());
    out_.pair.resize(slice.size(), kNoPair);
  }

  Schedule learn() {
    for (std::size_t begin = 0; begin < slice_.size();) {
      std::size_t end = begin;
      while (end < slice_.size() && slice_[end].stage == slice_[begin].stage) ++end;
      stage_ = slice_[begin].stage;
      sort_stage(begin, end);
      order_main_stream();
      for (const Direction& d : kDirections) match(d);
      order_messages();
      order_data_collectives();
      order_end_of_step();
      begin = end;
    }
    pair_messages();
    pair_embeddings();
    return std::move(out_);
  }

 private:
  using List = std::vector<std::uint32_t>;

  [[nodiscard]] List& of(OperationRole r) { return by_role_[static_cast<std::size_t>(r)]; }
  void wait_for(std::uint32_t op, std::uint32_t other) { out_.before[op].push_back(other); }
  void chain(const List& list) {
    for (std::size_t k = 1; k < list.size(); ++k) wait_for(list[k], list[k - 1]);
  }
  [[nodiscard]] auto start_key(std::uint32_t i) const {
    return std::tuple(slice_[i].begin, slice_[i].ordinal, slice_[i].type);
  }
  void sort_by_start(List& list) const {
    std::sort(list.begin(), list.end(),
              [&](std::uint32_t a, std::uint32_t b) { return start_key(a) < start_key(b); });
  }
  [[nodiscard]] std::uint32_t last_to_end(const List& list) const {
    return *std::max_element(list.begin(), list.end(),
                             [&](std::uint32_t a, std::uint32_t b) { return slice_[a].end < slice_[b].end; });
  }

  /// Operations of the stage by role, in the order in which they are numbered; messages by start.
  void sort_stage(std::size_t begin, std::size_t end) {
    for (List& list : by_role_) list.clear();
    for (std::size_t i = begin; i < end; ++i) of(slice_[i].role).push_back(static_cast<std::uint32_t>(i));
    for (const Direction& d : kDirections) {
      sort_by_start(of(d.send));
      sort_by_start(of(d.receive));
    }
  }

  /// Compute follows compute as it did; unknown types are compute, and collectives by their usual names stand among it. What begins after the end of the step
  /// began (unknown types only) is left for there.
  void order_main_stream() {
    main_ = of(ForwardCompute);
    main_.insert(main_.end(), of(BackwardCompute).begin(), of(BackwardCompute).end());
    late_.clear();
    Duration end_begins = Duration::max();
    for (const OperationRole r :
         {Collection, NormReduce, EmbeddingReduce, SeparateReduce, ClipGrads, Optimizer})
      for (const std::uint32_t i : of(r)) end_begins = std::min(end_begins, slice_[i].begin);
    for (const OperationRole r : {Unknown, Synchronization})
      for (const std::uint32_t i : of(r)) (slice_[i].begin < end_begins ? main_ : late_).push_back(i);
    sort_by_start(main_);
    sort_by_start(late_);
    chain(main_);
  }

  /// The other end of a message would be beyond the first or the last chunk of the model.
  [[nodiscard]] bool leaves_the_model(std::uint32_t compute, int towards) const {
    const std::int64_t place = std::int64_t{slice_[compute].chunk} * shape_.stages + stage_ + towards;
    return place < 0 || place >= std::int64_t{shape_.stages} * shape_.chunks;
  }

  /// The k-th message of a direction belongs to its k-th compute. Recorders also write messages before the
  /// first or after the last compute that were never sent; they stand alone.
  void match(const Direction& d) {
    const List& computes = of(d.compute);
    if (computes.empty()) return;
    Duration last_begin = slice_[computes[0]].begin;
    Duration first_end = slice_[computes[0]].end;
    for (const std::uint32_t c : computes) {
      last_begin = std::max(last_begin, slice_[c].begin);
      first_end = std::min(first_end, slice_[c].end);
    }
    for (const OperationRole role : {d.send, d.receive}) {
      const bool is_send = role == d.send;
      List real;
      for (const std::uint32_t i : of(role)) {
        const bool has_compute =
            is_send ? slice_[i].end >= first_end - kTolerance : slice_[i].begin <= last_begin + kTolerance;
        if (has_compute) real.push_back(i);
      }
      // Where one is missing it is the first receive of the first stage.
      std::size_t first = !is_send && real.size() < computes.size() ? computes.size() - real.size() : 0;
      List& valid = valid_[{stage_, role}];
      for (const std::uint32_t i : real) {
        if (first >= computes.size()) {
          ++out_.unmatched;
          continue;
        }
        const std::size_t k = first++;
        if (is_send) {
          wait_for(i, computes[k]);
        } else {
          wait_for(computes[k], i);
          if (k > 0) wait_for(i, computes[k - 1]);
        }
        if (!leaves_the_model(computes[k], is_send ? d.towards : -d.towards)) valid.push_back(i);
      }
    }
  }

  /// Messages of one kind follow each other. The first backward ones are launched together with the last
  /// forward ones before the first backward compute: they wait for the compute before last.
  void order_messages() {
    for (const Direction& d : kDirections) {
      chain(of(d.send));
      chain(of(d.receive));
    }
    const auto first = std::find_if(main_.begin(), main_.end(),
                                    [&](std::uint32_t i) { return slice_[i].role == BackwardCompute; });
    if (first - main_.begin() < 2 || first == main_.end()) return;
    for (const OperationRole r : {BackwardReceive, BackwardSend})
      for (const std::uint32_t i : of(r))
        if (slice_[i].ordinal == 0) wait_for(i, *(first - 2));
  }

  void order_data_collectives() {
    List stream = of(ParamsGather);
    stream.insert(stream.end(), of(GradsScatter).begin(), of(GradsScatter).end());
    sort_by_start(stream);
    chain(stream);
    // Of several gathers of one chunk the last one completes it.
    std::map<int, std::uint32_t> gathered;
    for (const std::uint32_t i : of(ParamsGather)) gathered[slice_[i].chunk] = i;
    std::map<int, std::uint32_t> first_forward;
    for (const std::uint32_t i : of(ForwardCompute)) {
      const auto [at, is_new] = first_forward.try_emplace(slice_[i].chunk, i);
      if (!is_new && start_key(i) < start_key(at->second)) at->second = i;
    }
    for (const auto& [chunk, gather] : gathered)
      if (const auto at = first_forward.find(chunk); at != first_forward.end()) wait_for(at->second, gather);
    if (shape_.overlaps_data) scatter_after_backward();
  }

  /// In an overlapping schedule the first scatter of a chunk waits for its last backward compute.
  void scatter_after_backward() {
    std::map<int, std::uint32_t> scattered;
    for (const std::uint32_t i : of(GradsScatter)) scattered.try_emplace(slice_[i].chunk, i);
    std::map<int, std::uint32_t> last_backward;
    for (const std::uint32_t i : of(BackwardCompute)) {
      const auto [at, is_new] = last_backward.try_emplace(slice_[i].chunk, i);
      if (!is_new && slice_[i].end > slice_[at->second].end) at->second = i;
    }
    for (const auto& [chunk, scatter] : scattered)
      if (const auto at = last_backward.find(chunk); at != last_backward.end()) wait_for(scatter, at->second);
  }

  /// After the last compute everything follows in one line: collection of garbage, reductions, clipping,
  /// optimizer. Gradients are scattered before in an overlapping schedule, and in this line otherwise.
  void order_end_of_step() {
    List line = of(Collection);
    const auto append = [&](OperationRole r) { line.insert(line.end(), of(r).begin(), of(r).end()); };
    append(NormReduce);
    append(EmbeddingReduce);
    append(shape_.overlaps_data ? SeparateReduce : GradsScatter);
    append(ClipGrads);
    append(Optimizer);
    line = with_late_ones(line);
    if (line.empty()) return;
    if (!main_.empty()) wait_for(line[0], last_to_end(main_));
    chain(line);
    if (!shape_.overlaps_data || of(GradsScatter).empty()) return;
    const auto after =
        std::find_if(line.begin(), line.end(), [&](std::uint32_t i) { return slice_[i].role != Collection; });
    if (after != line.end()) wait_for(*after, of(GradsScatter).back());
  }

  /// Each operation of unknown type stands before the first of the line that began after it.
  [[nodiscard]] List with_late_ones(const List& line) const {
    List out;
    std::size_t next = 0;
    for (const std::uint32_t i : late_) {
      while (next < line.size() && slice_[line[next]].begin <= slice_[i].begin) out.push_back(line[next++]);
      out.push_back(i);
    }
    out.insert(out.end(), line.begin() + static_cast<std::ptrdiff_t>(next), line.end());
    return out;
  }

  /// The k-th message to a neighbour is the k-th that the neighbour receives.
  void pair_messages() {
    for (const Direction& d : kDirections) {
      for (const auto& [key, sends] : valid_) {
        const auto& [stage, role] = key;
        if (role != d.send) continue;
        const auto peer = valid_.find({(stage + d.towards + shape_.stages) % shape_.stages, d.receive});
        const std::size_t matched = peer == valid_.end() ? 0 : std::min(sends.size(), peer->second.size());
        for (std::size_t k = 0; k < matched; ++k)
          out_.pair[sends[k]] = out_.pair[peer->second[k]] = out_.pairs++;
      }
      for (const auto& [key, list] : valid_)
        if (key.second == d.send || key.second == d.receive)
          for (const std::uint32_t i : list) out_.unmatched += out_.pair[i] == kNoPair ? 1 : 0;
    }
  }

  /// First and last stage hold the same embedding and add up its gradients.
  void pair_embeddings() {
    std::map<std::uint32_t, std::uint32_t> number;
    for (std::size_t i = 0; i < slice_.size(); ++i) {
      if (slice_[i].role != EmbeddingReduce) continue;
      const auto [at, is_new] = number.try_emplace(slice_[i].ordinal, out_.pairs);
      if (is_new) ++out_.pairs;
      out_.pair[i] = at->second;
    }
  }

  const std::vector<SliceOperation>& slice_;
  const ScheduleShape& shape_;
  Schedule out_;
  int stage_ = 0;
  std::array<List, static_cast<std::size_t>(Unknown) + 1> by_role_;
  List main_;
  List late_;
  std::map<std::pair<int, OperationRole>, List> valid_;  ///< messages that have a peer
};

}  // namespace

OperationRule rule_of(std::string_view type) {
  for (const OperationRule& r : kRules)
    if (r.type == type) return r;
  if (model::synchronization_from_spelling(type)) return {type, type, Synchronization, true};
  return {.type = type, .merged = type};
}

bool is_pipeline_message(OperationRole r) {
  return r == ForwardSend || r == ForwardReceive || r == BackwardSend || r == BackwardReceive;
}

bool is_data_collective(OperationRole r) {
  return r == ParamsGather || r == GradsScatter || r == SeparateReduce;
}

Schedule learn_schedule(const std::vector<SliceOperation>& slice, const ScheduleShape& shape) {
  return Learner(slice, shape).learn();
}

}  // namespace cox::diagnose
