// SPDX-License-Identifier: Apache-2.0
#include "trace/run/communicators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "cox/base/number_text.hpp"

namespace cox::trace {
namespace {

constexpr std::int32_t kMaxRank = 1 << 24;
/// Members of all communicators together that lists may name: a range of a few bytes can claim 2^31.
constexpr std::int64_t kMostListed = std::int64_t{1} << 26;

/// One declaration: which process (index) by which local number.
struct Declaration {
  std::size_t process = 0;
  const LocalCommunicator* local = nullptr;
};

using Group = std::vector<Declaration>;

struct Room {
  std::int64_t left = kMostListed;
  std::int64_t refused = 0;  ///< lists
};

/// Adds the ranks of a list that are possible ones; nothing where it names more than there is room for.
void add_listed(const std::vector<MetaRanks>& list, Room& room, std::vector<std::int32_t>& members) {
  std::int64_t named = 0;
  for (const MetaRanks& range : list) named += range.count;
  if (named > room.left) {
    ++room.refused;
    return;
  }
  room.left -= named;
  for (const MetaRanks& range : list) {
    std::int64_t rank = range.first;
    for (std::int32_t k = 0; k < range.count; ++k, rank += range.step)
      if (rank >= 0 && rank < kMaxRank) members.push_back(static_cast<std::int32_t>(rank));
  }
}

Communicator describe(const Group& group, const std::vector<ProcessFile>& processes, Room& room) {
  Communicator c;
  c.identity = group.front().local->identity;
  std::vector<std::int32_t> members;
  const std::vector<MetaRanks>* last = nullptr;
  for (const Declaration& d : group) {
    c.size = std::max(c.size, d.local->size);
    if (c.name.empty()) c.name = d.local->name;
    members.push_back(processes[d.process].rank);
    // Every member lists the same ranks, so comparing first keeps this linear for a large world.
    if (d.local->members.empty() || (last != nullptr && *last == d.local->members)) continue;
    last = &d.local->members;
    add_listed(*last, room, members);
  }
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  c.ranks.reserve(members.size());
  for (const std::int32_t r : members) c.ranks.emplace_back(r);
  c.by_rank.assign(members.size(), Rank{-1});
  for (const Declaration& d : group) {
    const auto place = static_cast<std::size_t>(std::max(d.local->my_rank, 0));
    if (d.local->my_rank >= 0 && place < c.by_rank.size()) c.by_rank[place] = Rank{processes[d.process].rank};
  }
  return c;
}

/// Largest first, so that the world comes first; then in the order in which they were made, never by chance.
struct Described {
  Communicator communicator;
  const Group* group = nullptr;
  std::uint32_t first_number = 0;  ///< smallest local number that a member gave it
};
bool comes_before(const Described& x, const Described& y) {
  const Communicator& a = x.communicator;
  const Communicator& b = y.communicator;
  return std::tie(b.size, a.ranks, x.first_number, a.name, a.identity) <
         std::tie(a.size, b.ranks, y.first_number, b.name, b.identity);
}

class Matcher {
 public:
  explicit Matcher(const std::vector<ProcessFile>& processes) : processes_(processes) {}

  MatchedCommunicators run() {
    collect();
    std::vector<Described> described;
    described.reserve(groups_.size());
    Room room;
    for (const Group& group : groups_) {
      std::uint32_t first = UINT32_MAX;
      for (const Declaration& d : group) first = std::min(first, d.local->local_number);
      described.push_back({describe(group, processes_, room), &group, first});
      check(described.back().communicator, group);
    }
    if (room.refused > 0)
      out_.notes.push_back(
          {.file = processes_.front().file,
           .text = fmt::format("{} left out: all together they name more than {}",
                               counted(room.refused, "list of members was", "lists of members were"),
                               kMostListed)});
    std::stable_sort(described.begin(), described.end(), comes_before);
    out_.local.resize(processes_.size());
    for (auto& [communicator, group, first] : described) {
      communicator.id = CommId{static_cast<std::int32_t>(out_.all.size())};
      for (const Declaration& d : *group) out_.local[d.process][d.local->local_number] = communicator.id;
      out_.all.push_back(std::move(communicator));
    }
    return std::move(out_);
  }

 private:
  void collect() {
    std::map<std::uint64_t, Group> by_identity;
    // The n-th communicator of one size and name on a rank corresponds to the n-th on another.
    std::map<std::tuple<int, std::string, int>, Group> by_name;
    for (std::size_t p = 0; p < processes_.size(); ++p) {
      std::map<std::pair<int, std::string>, int> occurrence;
      for (const LocalCommunicator& c : processes_[p].communicators) {
        if (c.identity != 0)
          by_identity[c.identity].push_back({p, &c});
        else
          by_name[{c.size, c.name, occurrence[{c.size, c.name}]++}].push_back({p, &c});
      }
    }
    for (auto& [identity, group] : by_identity) groups_.push_back(std::move(group));
    for (auto& [key, group] : by_name) {
      if (std::cmp_less_equal(group.size(), std::get<0>(key))) {
        groups_.push_back(std::move(group));
        continue;
      }
      for (const Declaration& d : group) groups_.push_back({d});
      out_.notes.push_back(
          {.file = processes_[group.front().process].file,
           .text =
               fmt::format("{} a communicator \"{}\" of {} without saying which: {} operations on it "
                           "are not matched",
                           counted(static_cast<std::int64_t>(group.size()), "rank declares", "ranks declare"),
                           std::get<1>(key), counted(std::get<0>(key), "member", "members"),
                           group.size() == 1 ? "its" : "their")});
    }
  }

  void check(const Communicator& c, const Group& group) {
    const auto odd = std::find_if(group.begin(), group.end(),
                                  [&](const Declaration& d) { return d.local->size != c.size; });
    if (odd != group.end())
      out_.notes.push_back({.file = processes_[odd->process].file,
                            .text = fmt::format("communicator \"{}\" has {} here and {} elsewhere", c.name,
                                                counted(odd->local->size, "member", "members"), c.size)});
  }

  const std::vector<ProcessFile>& processes_;
  std::vector<Group> groups_;
  MatchedCommunicators out_;
};

}  // namespace

MatchedCommunicators match_communicators(const std::vector<ProcessFile>& processes) {
  return Matcher(processes).run();
}

}  // namespace cox::trace
