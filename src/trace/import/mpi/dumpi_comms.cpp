// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "cox/base/hash.hpp"

#include "trace/import/mpi/dumpi_calls.hpp"

namespace cox::trace::dumpi {
namespace {

constexpr std::size_t kLongestName = 100;
/// A world that one file only claims is listed up to this size.
constexpr int kLargestListedWorld = 1 << 20;
constexpr std::size_t kNone = ~std::size_t{0};

/// Keeps names of communicators made from each other short: a long one is replaced by a hash.
std::string shortened(const std::string& name) {
  if (name.size() <= kLongestName) return name;
  return fmt::format("communicator {:016x}", fnv1a(name));
}

std::string name_of(const CommMade& m, const std::string& parent, std::size_t nth) {
  const std::string of = shortened(parent);
  switch (m.making) {
    case Making::Dup:
      return fmt::format("{}/dup {}", of, nth);
    case Making::Split:
      return fmt::format("{}/split {} color {}", of, nth, m.color);
    case Making::Create:
      return fmt::format("{}/create {}", of, nth);
    case Making::Subset:
      return fmt::format("{}/cart {}", of, nth);
    default:
      return fmt::format("{}/made {}", of, nth);
  }
}

}  // namespace

Communicators::Communicators(const std::vector<RankFile>& files, const std::vector<std::int32_t>& ranks,
                             int world_size)
    : files_(files) {
  number_.resize(files.size());
  made_from_.resize(files.size());
  comms_.push_back({.name = "MPI_COMM_WORLD", .members = {}, .ordered = true});
  holders_.emplace_back();
  const bool complete = static_cast<std::size_t>(std::max(world_size, 0)) == files.size();
  if (world_size > 0 && (complete || world_size <= kLargestListedWorld)) {
    comms_[0].members.resize(static_cast<std::size_t>(world_size));
    std::iota(comms_[0].members.begin(), comms_[0].members.end(), 0);
  }
  for (std::size_t f = 0; f < files.size(); ++f) {
    number_[f].assign(files[f].sizes.size(), kNone);
    number_[f][kWorld] = 0;
    number_[f][kSelf] = comms_.size();
    comms_.push_back({.name = "MPI_COMM_SELF", .members = {ranks[f]}, .ordered = true});
    holders_.push_back({{.file = f, .own = kSelf, .rank = ranks[f]}});
    made_from_[f].resize(files[f].sizes.size());
    for (std::size_t m = 0; m < files[f].made.size(); ++m)
      if (const std::int32_t parent = files[f].made[m].parent; parent >= 0)
        made_from_[f][static_cast<std::size_t>(parent)].push_back(m);
    if (complete) holders_[0].push_back({.file = f, .own = kWorld, .rank = ranks[f]});
  }
  for (std::size_t c = 0; c < comms_.size(); ++c) resolve_from(c);
  name_unresolved();
}

const CommMade* Communicators::making(const Holder& holder, std::size_t nth) const {
  const auto& list = made_from_[holder.file][static_cast<std::size_t>(holder.own)];
  return nth < list.size() ? &files_[holder.file].made[list[nth]] : nullptr;
}

void Communicators::resolve_from(std::size_t parent) {
  if (holders_[parent].empty()) return;
  std::size_t nth = 0;
  while (resolve_one(parent, nth)) ++nth;
}

/// False where a member did not make an n-th one, or something else.
bool Communicators::resolve_one(std::size_t parent, std::size_t nth) {
  // A copy: adding communicators moves the lists.
  const std::vector<Holder> holders = holders_[parent];
  const CommMade* first = making(holders.front(), nth);
  if (first == nullptr) return false;
  struct Member {
    std::int32_t color, key;
    std::size_t place;
    std::int32_t made;
  };
  std::vector<Member> in;
  for (std::size_t place = 0; place < holders.size(); ++place) {
    const CommMade* m = making(holders[place], nth);
    if (m == nullptr || m->making != first->making) return false;
    if (m->made >= 0) in.push_back({.color = m->color, .key = m->key, .place = place, .made = m->made});
  }
  if (first->making == Making::Unknown || in.empty()) return true;
  const bool split = first->making == Making::Split;
  // A group of more places than the parent has is none of it, and not worth the time.
  const bool by_group =
      first->making == Making::Create && first->group != nullptr && first->group->size() <= holders.size();
  if (split)
    std::sort(in.begin(), in.end(), [](const Member& a, const Member& b) {
      return std::tie(a.color, a.key, a.place) < std::tie(b.color, b.key, b.place);
    });
  if (by_group) {
    std::vector<std::size_t> position(holders.size(), kNone);
    for (std::size_t i = 0; i < first->group->size(); ++i)
      if (const std::int32_t p = (*first->group)[i]; p >= 0 && static_cast<std::size_t>(p) < holders.size())
        position[static_cast<std::size_t>(p)] = i;
    std::sort(in.begin(), in.end(), [&](const Member& a, const Member& b) {
      return std::pair(position[a.place], a.place) < std::pair(position[b.place], b.place);
    });
  }
  const bool ordered = first->making != Making::Create || by_group;
  for (std::size_t i = 0; i < in.size();) {
    std::vector<Holder> from;
    std::vector<std::int32_t> made;
    const std::size_t begin = i;
    for (; i < in.size() && (!split || in[i].color == in[begin].color); ++i) {
      from.push_back(holders[in[i].place]);
      made.push_back(in[i].made);
    }
    add_resolved(name_of(*making(from.front(), nth), comms_[parent].name, nth), from, made, ordered);
  }
  return true;
}

void Communicators::add_resolved(std::string name, const std::vector<Holder>& from,
                                 const std::vector<std::int32_t>& made, bool ordered) {
  JobComm comm{.name = std::move(name), .members = {}, .ordered = ordered};
  std::vector<Holder> holders = from;
  for (std::size_t i = 0; i < holders.size(); ++i) {
    number_[holders[i].file][static_cast<std::size_t>(made[i])] = comms_.size();
    holders[i].own = made[i];
    comm.members.push_back(holders[i].rank);
  }
  comms_.push_back(std::move(comm));
  holders_.push_back(std::move(holders));
}

/// Members that one rank alone can tell: everybody in the parent, or a list of places in it.
std::vector<std::int32_t> Communicators::told_by_one(const CommMade& m, const JobComm& parent) {
  if (!parent.ordered || parent.members.empty()) return {};
  const bool copy = m.making == Making::Dup;
  if (!copy && (m.making != Making::Create || m.group == nullptr)) return {};
  const std::size_t size = copy ? parent.members.size() : m.group->size();
  if (size > members_left_ || size > parent.members.size()) return {};
  members_left_ -= size;
  if (copy) return parent.members;
  std::vector<std::int32_t> members;
  for (const std::int32_t place : *m.group) {
    if (place < 0 || static_cast<std::size_t>(place) >= parent.members.size()) return {};
    members.push_back(parent.members[static_cast<std::size_t>(place)]);
  }
  return members;
}

/// What is left has a name that other ranks give it too.
void Communicators::name_unresolved() {
  std::map<std::string, std::size_t> by_name;
  for (std::size_t f = 0; f < files_.size(); ++f) {
    std::map<std::int32_t, std::size_t> nth;
    for (const CommMade& m : files_[f].made) {
      const std::size_t n = nth[m.parent]++;
      if (m.made < 0 || number_[f][static_cast<std::size_t>(m.made)] != kNone) continue;
      const std::size_t parent = m.parent < 0 ? kNone : number_[f][static_cast<std::size_t>(m.parent)];
      const auto [at, is_new] = by_name.try_emplace(
          name_of(m, parent == kNone ? "not known" : comms_[parent].name, n), comms_.size());
      if (is_new) {
        std::vector<std::int32_t> members;
        if (parent != kNone) members = told_by_one(m, comms_[parent]);
        const bool ordered = !members.empty();
        comms_.push_back({.name = at->first, .members = std::move(members), .ordered = ordered});
      }
      number_[f][static_cast<std::size_t>(m.made)] = at->second;
    }
  }
}

}  // namespace cox::trace::dumpi
