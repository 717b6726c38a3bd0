// SPDX-License-Identifier: Apache-2.0
#include "diagnose/operations/operation_what_if_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <unordered_map>

namespace cox::diagnose {
namespace {

/// A transfer that ends so long before its peer began is a fault of the recording, not of a clock. Source:
/// the artifact's value.
constexpr Duration kImpossible{-10'000'000'000};  // -10 ms

/// The replica of the model that a rank is part of, and its stage in it.
struct PlaceOfRank {
  std::uint32_t replica = 0;  ///< number of the data rank, tensor rank and copy
  std::uint32_t column = 0;   ///< number of the tensor rank and copy: whose data ranks reduce together
  int stage = 0;
};

std::vector<PlaceOfRank> place_ranks(const model::Program& program) {
  struct Seat {
    int data;
    int tensor;
    int copy;
    int stage;
  };
  std::vector<Seat> seats;
  std::map<std::tuple<int, int, int>, int> copies;
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    const model::Role& role = program.ranks[r].role;
    const int stage = std::max(0, role.pipeline);
    // Ranks without a place work side by side; of several at one place each has a pipeline of its own.
    const int data = role.data < 0 && role.pipeline < 0 ? static_cast<int>(r) : role.data;
    seats.push_back({data, role.tensor, copies[{data, role.tensor, stage}]++, stage});
  }
  std::map<std::tuple<int, int, int>, std::uint32_t> replicas;
  std::map<std::pair<int, int>, std::uint32_t> columns;
  for (const Seat& s : seats) {
    replicas[{s.tensor, s.copy, s.data}] = 0;
    columns[{s.tensor, s.copy}] = 0;
  }
  std::uint32_t next = 0;
  for (auto& [key, number] : replicas) number = next++;
  next = 0;
  for (auto& [key, number] : columns) number = next++;
  std::vector<PlaceOfRank> places;
  places.reserve(seats.size());
  for (const Seat& s : seats)
    places.push_back({replicas[{s.tensor, s.copy, s.data}], columns[{s.tensor, s.copy}], s.stage});
  return places;
}

/// An operation with what it is sorted by.
struct Item {
  std::int32_t step = 0;
  std::uint32_t replica = 0;
  std::int32_t sequence = 0;
  SliceOperation op;

  [[nodiscard]] auto key() const {
    return std::tuple(step, replica, op.stage, op.role, op.type, sequence, op.begin, op.end, op.index);
  }
};

/// Join of everything of a step, and of one group of operations that transfer together.
class StepBuilder {
 public:
  StepBuilder(OperationModel& model, const std::vector<PlaceOfRank>& places, const model::Program& o)
      : model_(model), places_(places), o_(o) {}

  /// Adds a step; false, and nothing added, where its operations wait for each other in a circle.
  bool add(std::span<const Item> items, const std::vector<std::uint32_t>& slice_begin,
           const std::vector<const Schedule*>& schedules) {
    items_ = items;
    unite(slice_begin, schedules);
    connect(slice_begin, schedules);
    if (!sort()) return false;
    emit();
    return true;
  }

  /// Of all steps that were added: how many collectives there are, and how many lack a member.
  void count_members() {
    for (const auto& [kind, sizes] : sizes_)
      for (const auto& [members, count] : sizes) {
        model_.collectives += count;
        if (members < sizes.rbegin()->first) model_.short_collectives += count;
      }
  }

 private:
  /// Gives every operation its party: those that transfer together, or itself alone.
  void unite(const std::vector<std::uint32_t>& slice_begin, const std::vector<const Schedule*>& schedules) {
    party_.assign(items_.size(), kNoPair);
    std::uint32_t next = 0;
    std::map<std::tuple<OperationRole, std::uint32_t, std::uint32_t, int, std::uint32_t>, std::uint32_t>
        shared;
    for (std::size_t s = 0; s + 1 < slice_begin.size(); ++s) {
      const std::uint32_t base = next;
      next += schedules[s]->pairs;
      for (std::uint32_t i = slice_begin[s]; i < slice_begin[s + 1]; ++i) {
        const SliceOperation& op = items_[i].op;
        const std::uint32_t pair = schedules[s]->pair[i - slice_begin[s]];
        if (pair != kNoPair) {
          party_[i] = base + pair;
        } else if (is_data_collective(op.role) || op.role == OperationRole::Synchronization ||
                   op.role == OperationRole::ClipGrads) {
          // Clipping needs the norm over all ranks; the others reduce over the data ranks of a stage.
          const bool is_clip = op.role == OperationRole::ClipGrads;
          const std::uint32_t column = is_clip ? 0 : places_[o_.rank[op.index]].column;
          const auto [at, is_new] =
              shared.try_emplace({op.role, op.type, column, is_clip ? 0 : op.stage, op.ordinal}, next);
          if (is_new) ++next;
          party_[i] = at->second;
        } else {
          party_[i] = next++;
        }
      }
    }
    first_member_.assign(std::size_t{next} + 1, 0);
    for (const std::uint32_t p : party_) ++first_member_[p + 1];
    std::partial_sum(first_member_.begin(), first_member_.end(), first_member_.begin());
    members_.resize(items_.size());
    std::vector<std::uint32_t> fill(first_member_.begin(), first_member_.end() - 1);
    for (std::uint32_t i = 0; i < party_.size(); ++i) members_[fill[party_[i]]++] = i;
    for (const auto& [key, party] : shared) {
      const auto& [role, type, column, stage, ordinal] = key;
      ++sizes_[{role, type, column, stage}][first_member_[party + 1] - first_member_[party]];
    }
  }

  /// Successors of each party, from who waits for whom.
  void connect(const std::vector<std::uint32_t>& slice_begin, const std::vector<const Schedule*>& schedules) {
    waits_.clear();
    for (std::size_t s = 0; s + 1 < slice_begin.size(); ++s)
      for (std::uint32_t i = slice_begin[s]; i < slice_begin[s + 1]; ++i)
        for (const std::uint32_t b : schedules[s]->before[i - slice_begin[s]])
          waits_.push_back({slice_begin[s] + b, i});
    const std::size_t parties = first_member_.size() - 1;
    pending_.assign(parties, 0);
    first_after_.assign(parties + 1, 0);
    has_after_.assign(items_.size(), 0);
    for (const auto& [before, op] : waits_) {
      ++pending_[party_[op]];
      ++first_after_[party_[before] + 1];
      has_after_[before] = 1;
    }
    std::partial_sum(first_after_.begin(), first_after_.end(), first_after_.begin());
    after_.resize(waits_.size());
    std::vector<std::uint32_t> fill(first_after_.begin(), first_after_.end() - 1);
    for (const auto& [before, op] : waits_) after_[fill[party_[before]]++] = party_[op];
    std::sort(waits_.begin(), waits_.end(), [](const Wait& a, const Wait& b) {
      return std::tie(a.op, a.before) < std::tie(b.op, b.before);
    });
  }

  /// Order in which every party comes after those it waits for (Kahn 1962).
  bool sort() {
    order_.clear();
    const std::size_t parties = pending_.size();
    for (std::uint32_t p = 0; p < parties; ++p)
      if (pending_[p] == 0) order_.push_back(p);
    for (std::size_t k = 0; k < order_.size(); ++k)
      for (std::uint32_t a = first_after_[order_[k]]; a < first_after_[order_[k] + 1]; ++a)
        if (--pending_[after_[a]] == 0) order_.push_back(after_[a]);
    return order_.size() == parties;
  }

  void emit() {
    const model::OperationIndex start =
        model_.step_end.empty() ? model::kNoOperation : model_.step_end.back();
    node_.assign(items_.size(), model::kNoOperation);
    std::vector<model::OperationIndex> ends;
    for (const std::uint32_t p : order_) {
      const std::span<const std::uint32_t> members(members_.data() + first_member_[p],
                                                   first_member_[p + 1] - first_member_[p]);
      if (members.empty()) continue;
      std::vector<model::OperationIndex> before;
      Duration begin = Duration::min();
      for (const std::uint32_t i : members) {
        collect(i, before);
        begin = std::max(begin, items_[i].op.begin);
      }
      std::sort(before.begin(), before.end());
      before.erase(std::unique(before.begin(), before.end()), before.end());
      if (before.empty() && start != model::kNoOperation) before.push_back(start);
      if (members.size() > 1) {
        ++model_.meetings;
        before.assign(1, add_node(before, Duration::zero(), kNoType, kNoType, 0));
      }
      for (const std::uint32_t i : members) {
        const SliceOperation& op = items_[i].op;
        const Duration transfer = op.end - begin;
        node_[i] = add_node(before, transfer <= kImpossible ? Duration::zero() : transfer, op.type,
                            o_.rank[op.index], op.ordinal);
        if (has_after_[i] == 0) ends.push_back(node_[i]);
      }
    }
    model_.step_end.push_back(add_node(ends, Duration::zero(), kNoType, kNoType, 0));
    model_.operations += static_cast<std::int64_t>(items_.size());
  }

  void collect(std::uint32_t i, std::vector<model::OperationIndex>& before) const {
    auto w = std::lower_bound(waits_.begin(), waits_.end(), i,
                              [](const Wait& a, std::uint32_t op) { return a.op < op; });
    for (; w != waits_.end() && w->op == i; ++w) before.push_back(node_[w->before]);
  }

  model::OperationIndex add_node(std::span<const model::OperationIndex> before, Duration d,
                                 std::uint32_t type, std::uint32_t rank, std::uint32_t ordinal) {
    model_.original.push_back(d);
    model_.type.push_back(type);
    model_.rank.push_back(rank);
    model_.ordinal.push_back(ordinal);
    return model_.graph.add(before);
  }

  struct Wait {
    std::uint32_t before;
    std::uint32_t op;
  };
  /// Collectives of one kind by how many took part.
  std::map<std::tuple<OperationRole, std::uint32_t, std::uint32_t, int>,
           std::map<std::uint32_t, std::int64_t>>
      sizes_;
  OperationModel& model_;
  const std::vector<PlaceOfRank>& places_;
  const model::Program& o_;
  std::span<const Item> items_;
  std::vector<std::uint32_t> party_, first_member_, members_;
  std::vector<Wait> waits_;
  std::vector<std::uint32_t> pending_, first_after_, after_, order_;
  std::vector<std::uint8_t> has_after_;
  std::vector<model::OperationIndex> node_;
};

/// Schedules by the operations that a slice is made of. The first slice of a kind, that of the first step and
/// the first data rank, teaches all its like: one recording's jitter must not decide who waits for whom.
class Schedules {
 public:
  explicit Schedules(ScheduleShape shape) : shape_(shape) {}
  const Schedule& of(std::span<const Item> slice) {
    std::vector<std::uint64_t> kind;
    kind.reserve(2 * slice.size());
    for (const Item& i : slice) {
      kind.push_back((std::uint64_t{static_cast<std::uint32_t>(i.op.stage)} << 32) | i.op.type);
      kind.push_back((std::uint64_t{static_cast<std::uint32_t>(i.op.chunk)} << 32) | i.op.ordinal);
    }
    const auto at = known_.find(kind);
    if (at != known_.end()) return at->second;
    std::vector<SliceOperation> operations;
    operations.reserve(slice.size());
    for (const Item& i : slice) operations.push_back(i.op);
    const Schedule& learnt =
        known_.emplace(std::move(kind), learn_schedule(operations, shape_)).first->second;
    unmatched_ += learnt.unmatched;
    return learnt;
  }
  [[nodiscard]] std::uint64_t unmatched() const { return unmatched_; }

 private:
  ScheduleShape shape_;
  std::map<std::vector<std::uint64_t>, Schedule> known_;
  std::uint64_t unmatched_ = 0;
};

void name_types(const model::Program& program, OperationModel& model) {
  std::map<std::string, std::uint32_t> merged;
  std::vector<std::string> unknown;
  for (const std::string& name : program.names) {
    const OperationRule rule = rule_of(name);
    const auto [at, is_new] =
        merged.try_emplace(std::string(rule.merged), static_cast<std::uint32_t>(model.merged.size()));
    if (is_new) model.merged.emplace_back(rule.merged);
    model.types.push_back({name, rule.role, rule.is_communication, at->second});
  }
}

void note_unknown_types(const model::Program& o, OperationModel& model) {
  std::vector<std::int64_t> count(model.types.size(), 0);
  for (const std::uint32_t n : o.name) ++count[n];
  for (std::size_t t = 0; t < count.size(); ++t)
    if (count[t] > 0 && model.types[t].role == OperationRole::Unknown)
      model.notes.push_back(fmt::format("{} operation{} of unknown type {}: taken as compute of their rank",
                                        count[t], count[t] == 1 ? "" : "s", model.types[t].name));
}

tl::unexpected<Error> refuse(std::string message) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "diagnose-002",
                    .message = std::move(message),
                    .hint = "a table of operations (CSV or Parquet) with start and duration is needed",
                    .where = {}});
}

/// Stops at the range of times, which other readers than ours may come near.
Duration end_of(const model::Program& o, std::size_t i) {
  const Duration d = std::max(Duration::zero(), o.duration[i]);
  return o.begin[i] > Duration::max() - d ? Duration::max() : o.begin[i] + d;
}

std::vector<Item> sorted_items(const model::Program& o, const std::vector<PlaceOfRank>& places,
                               OperationModel& model) {
  std::vector<Item> items;
  items.reserve(o.size());
  for (std::size_t i = 0; i < o.size(); ++i) {
    if (o.begin[i] == model::kNoDuration || o.duration[i] == model::kNoDuration) continue;
    const PlaceOfRank& p = places[o.rank[i]];
    items.push_back({.step = o.step[i],
                     .replica = p.replica,
                     .sequence = o.sequence[i],
                     .op = {.index = static_cast<std::uint32_t>(i),
                            .stage = p.stage,
                            .role = model.types[o.name[i]].role,
                            .type = o.name[i],
                            .chunk = std::max(0, o.chunk[i]),
                            .begin = o.begin[i],
                            .end = end_of(o, i)}});
  }
  if (items.size() < o.size())
    model.notes.push_back(fmt::format("{} operations without a time are left out", o.size() - items.size()));
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.key() < b.key(); });
  for (std::size_t i = 1; i < items.size(); ++i) {
    const Item& a = items[i - 1];
    Item& b = items[i];
    const bool is_next =
        a.step == b.step && a.replica == b.replica && a.op.stage == b.op.stage && a.op.type == b.op.type;
    b.op.ordinal = is_next ? a.op.ordinal + 1 : 0;
  }
  return items;
}

ScheduleShape shape_of(const std::vector<Item>& items) {
  ScheduleShape shape;
  for (const Item& i : items) {
    shape.stages = std::max(shape.stages, i.op.stage + 1);
    shape.chunks = std::max(shape.chunks, i.op.chunk == INT32_MAX ? i.op.chunk : i.op.chunk + 1);
    shape.overlaps_data |= i.op.role == OperationRole::SeparateReduce;
  }
  return shape;
}

Duration length_of(std::span<const Item> items) {
  Duration begin = Duration::max();
  Duration end = Duration::min();
  for (const Item& i : items) {
    begin = std::min(begin, i.op.begin);
    end = std::max(end, i.op.end);
  }
  return end - begin;
}

}  // namespace

Result<OperationModel> build_operation_model(const model::Program& program) {
  if (program.is_empty()) return refuse("the Run has no operations");
  if (!program.is_table())
    return refuse("the operations of the Run are a graph with edges, expected a table with times");
  OperationModel model;
  name_types(program, model);
  note_unknown_types(program, model);
  const std::vector<PlaceOfRank> places = place_ranks(program);
  const std::vector<Item> items = sorted_items(program, places, model);
  if (items.empty()) return refuse("no operation of the Run has a begin and a duration");

  Schedules schedules(shape_of(items));
  StepBuilder builder(model, places, program);
  model.graph.reserve(items.size() * 2, items.size() * 3);
  std::size_t circles = 0;
  for (std::size_t begin = 0; begin < items.size();) {
    std::vector<std::uint32_t> slice_begin;
    std::vector<const Schedule*> of_slice;
    std::size_t end = begin;
    while (end < items.size() && items[end].step == items[begin].step) {
      const std::size_t first = end;
      while (end < items.size() && items[end].step == items[begin].step &&
             items[end].replica == items[first].replica)
        ++end;
      slice_begin.push_back(static_cast<std::uint32_t>(first - begin));
      of_slice.push_back(&schedules.of(std::span(items).subspan(first, end - first)));
    }
    slice_begin.push_back(static_cast<std::uint32_t>(end - begin));
    const std::span<const Item> step = std::span(items).subspan(begin, end - begin);
    if (builder.add(step, slice_begin, of_slice)) {
      model.steps.push_back(items[begin].step);
      model.measured.push_back(length_of(step));
    } else {
      ++circles;
    }
    begin = end;
  }
  builder.count_members();
  if (model.steps.empty()) return refuse("the recorded order of operations is a circle in every step");
  if (circles > 0)
    model.notes.push_back(
        fmt::format("{}: the operations wait for each other in a circle",
                    circles == 1 ? "a step is left out" : fmt::format("{} steps are left out", circles)));
  if (schedules.unmatched() > 0)
    model.notes.push_back(schedules.unmatched() == 1
                              ? "a send or receive has no peer; it is taken as it is"
                              : fmt::format("{} sends and receives have no peer; they are taken as they are",
                                            schedules.unmatched()));
  return model;
}

}  // namespace cox::diagnose
