// SPDX-License-Identifier: Apache-2.0
#include "diagnose/stall/mismatch.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "diagnose/match/said.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kMostMismatches = 256;
constexpr std::size_t kMostSides = 8;
/// Operations whose members are put side by side.
constexpr std::size_t kMostOperations = 65536;

/// The part of what was said that a kind of mismatch is about.
std::int64_t value_of(const Said& said, MismatchKind kind) {
  switch (kind) {
    case MismatchKind::Operation:
    case MismatchKind::Order:
      return static_cast<std::int64_t>(said.kind);
    case MismatchKind::Root:
      return said.root().value_or(0xffffffff);
    case MismatchKind::Count:
      return said.bytes;
    case MismatchKind::TypeSize:
      return said.element().value_or(0);
  }
  return 0;
}

struct Member {
  Rank rank;
  Said said;
};

/// One operation on which members disagree, with what each of them said.
struct Dispute {
  std::size_t group = 0;
  std::int64_t op = 0;
  std::vector<Member> members;
};

class MismatchFinder {
 public:
  explicit MismatchFinder(const Matched& matched) : matched_(matched), m_(matched.operations()) {}

  Mismatches find() {
    out_.operations = m_.disputed_ops;
    if (out_.operations == 0) return std::move(out_);
    gather();
    tell();
    return std::move(out_);
  }

 private:
  template <class F>
  void each_call(const F& f) {
    for (std::size_t r = 0; r < matched_.ranks(); ++r) {
      const trace::EventColumns& e = matched_.track(r).events;
      SyncCursor cursor = matched_.walk(r);
      SyncPoint point;
      const auto on_call = [&](const Call& call) {
        if (call.op < 0) return;
        const std::size_t i = call.event;
        const Said said = said_by(e, i);
        f(r, m_.groups[static_cast<std::size_t>(call.group)].first_op + static_cast<std::size_t>(call.op),
          call, said);
      };
      while (cursor.next(point, on_call)) {
      }
    }
  }

  void gather() {
    each_call([&](std::size_t r, std::size_t op, const Call& call, const Said& said) {
      if (!m_.ops[op].disputed) return;
      const auto at = disputes_.find(op);
      if (at == disputes_.end() && disputes_.size() >= kMostOperations) return;
      Dispute& dispute = at == disputes_.end() ? disputes_[op] : at->second;
      dispute.group = static_cast<std::size_t>(call.group);
      dispute.op = call.op;
      const Rank rank = matched_.rank(r);
      if (dispute.members.empty() || dispute.members.back().rank != rank)
        dispute.members.push_back({rank, said});
    });
    out_.not_looked_at = out_.operations - static_cast<std::int64_t>(disputes_.size());
  }

  [[nodiscard]] std::uint32_t seq_of(const Dispute& d) const {
    const Group& group = m_.groups[d.group];
    return group.sparse_seqs.empty() ? group.first_seq + static_cast<std::uint32_t>(d.op)
                                     : group.sparse_seqs[static_cast<std::size_t>(d.op)];
  }

  /// The difference that weighs most between any member and the first.
  static MismatchKind kind_of(const Dispute& d) {
    SaidPart weightiest = SaidPart::TypeSize;
    for (const Member& member : d.members)
      if (const auto part = difference(d.members.front().said, member.said))
        weightiest = std::min(weightiest, *part);
    switch (weightiest) {
      case SaidPart::Operation:
        return MismatchKind::Operation;
      case SaidPart::Root:
        return MismatchKind::Root;
      case SaidPart::Count:
        return MismatchKind::Count;
      case SaidPart::TypeSize:
        break;
    }
    return MismatchKind::TypeSize;
  }

  /// Members by what they said, most first; among equals by the lowest rank.
  [[nodiscard]] std::vector<MismatchSide> sides_of(const Dispute& d, MismatchKind kind) const {
    std::map<std::int64_t, MismatchSide> by_value;
    const trace::Communicator& comm = matched_.communicator(m_.groups[d.group].comm);
    for (const Member& member : d.members) {
      MismatchSide& side = by_value[value_of(member.said, kind)];
      if (side.ranks.empty()) {
        side.call = {.operation = member.said.kind,
                     .comm = comm.id,
                     .comm_name = comm.name,
                     .seq = seq_of(d),
                     .bytes = Bytes{std::max<std::int64_t>(0, member.said.bytes)}};
        side.root = member.said.root();
        side.type_bytes = member.said.element();
      }
      side.ranks.push_back(member.rank);
    }
    std::vector<MismatchSide> sides;
    sides.reserve(by_value.size());
    for (auto& [value, side] : by_value) sides.push_back(std::move(side));
    std::sort(sides.begin(), sides.end(), [](const MismatchSide& a, const MismatchSide& b) {
      return std::tuple{b.ranks.size(), a.ranks.front()} < std::tuple{a.ranks.size(), b.ranks.front()};
    });
    return sides;
  }

  static std::vector<Rank> minority(const std::vector<MismatchSide>& sides) {
    std::vector<Rank> odd;
    if (sides.size() < 2 || sides[0].ranks.size() == sides[1].ranks.size()) return odd;
    for (std::size_t i = 1; i < sides.size(); ++i)
      odd.insert(odd.end(), sides[i].ranks.begin(), sides[i].ranks.end());
    std::sort(odd.begin(), odd.end());
    return odd;
  }

  /// Whether everybody says at `b` what he did not say at `a`: the same two calls, the other way round.
  static bool swapped(const Dispute& a, const Dispute& b) {
    if (a.group != b.group || a.op + 1 != b.op || a.members.size() != b.members.size()) return false;
    std::map<std::pair<model::Collective, model::Collective>, int> orders;
    for (std::size_t i = 0; i < a.members.size(); ++i) {
      if (a.members[i].rank != b.members[i].rank) return false;
      ++orders[{a.members[i].said.kind, b.members[i].said.kind}];
    }
    return orders.size() == 2 && orders.begin()->first.first == orders.rbegin()->first.second &&
           orders.begin()->first.second == orders.rbegin()->first.first;
  }

  void tell() {
    for (auto at = disputes_.begin(); at != disputes_.end(); ++at) {
      const Dispute& dispute = at->second;
      MismatchKind kind = kind_of(dispute);
      const auto next = std::next(at);
      if (kind == MismatchKind::Operation && next != disputes_.end() && swapped(dispute, next->second)) {
        kind = MismatchKind::Order;
        add(dispute, kind, 2);
        at = next;
        continue;
      }
      add(dispute, kind, 1);
    }
  }

  /// One more like one that was told before adds to it.
  void add(const Dispute& dispute, MismatchKind kind, std::int64_t operations) {
    std::vector<MismatchSide> sides = sides_of(dispute, kind);
    const CommId comm = matched_.communicator(m_.groups[dispute.group].comm).id;
    const std::uint32_t last = seq_of(dispute) + static_cast<std::uint32_t>(operations - 1);
    std::vector<std::vector<Rank>> who;
    who.reserve(sides.size());
    for (const MismatchSide& side : sides) who.push_back(side.ranks);
    const auto [known, fresh] = places_.try_emplace({comm, kind, std::move(who)}, out_.all.size());
    if (!fresh) {
      Mismatch& before = out_.all[known->second];
      before.last_seq = last;
      before.count += operations;
      return;
    }
    if (out_.all.size() >= kMostMismatches) {
      places_.erase(known);
      out_.not_looked_at += operations;
      return;
    }
    std::vector<Rank> fewest = minority(sides);
    Mismatch mismatch{.kind = kind,
                      .comm = comm,
                      .first_seq = seq_of(dispute),
                      .last_seq = last,
                      .count = operations,
                      .ranks = std::move(fewest),
                      .sides = std::move(sides)};
    if (mismatch.sides.size() > kMostSides) mismatch.sides.resize(kMostSides);
    out_.all.push_back(std::move(mismatch));
  }

  const Matched& matched_;
  const Matching& m_;
  std::map<std::size_t, Dispute> disputes_;  // by operation
  std::map<std::tuple<CommId, MismatchKind, std::vector<std::vector<Rank>>>, std::size_t> places_;
  Mismatches out_;
};

}  // namespace

const char* name_of(MismatchKind k) {
  switch (k) {
    case MismatchKind::Operation:
      return "operation";
    case MismatchKind::Order:
      return "order";
    case MismatchKind::Root:
      return "root";
    case MismatchKind::Count:
      return "count";
    case MismatchKind::TypeSize:
      return "type_size";
  }
  return "operation";
}

Mismatches find_mismatches(const Matched& matched) {
  return MismatchFinder(matched).find();
}

}  // namespace cox::diagnose
