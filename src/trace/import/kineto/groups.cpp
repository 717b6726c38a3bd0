// SPDX-License-Identifier: Apache-2.0
#include "trace/import/kineto/groups.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "trace/raw/meta_entries.hpp"

namespace cox::trace::kineto {
namespace {

constexpr int kMaxRanks = 1 << 20;
constexpr std::int64_t kMaxMadeUp = std::int64_t{4} << 20;

int small(std::int64_t n) {
  return n >= 0 && n <= std::numeric_limits<int>::max() ? static_cast<int>(n) : -1;
}

int number(simdjson::dom::object object, const char* key) {
  std::int64_t n = 0;
  return object[key].get(n) == simdjson::SUCCESS ? small(n) : -1;
}

std::string text(simdjson::dom::object object, const char* key) {
  std::string_view s;
  if (object[key].get(s) != simdjson::SUCCESS) return {};
  return clean_text(s.substr(0, 256));
}

Distributed::Group group(simdjson::dom::object object) {
  Distributed::Group out;
  out.name = text(object, "pg_name");
  out.description = text(object, "pg_desc");
  out.size = number(object, "pg_size");
  simdjson::dom::array ranks;
  if (object["ranks"].get(ranks) != simdjson::SUCCESS) return out;
  for (const simdjson::dom::element rank : ranks) {
    std::int64_t n = 0;
    if (rank.get(n) == simdjson::SUCCESS && small(n) >= 0) out.ranks.emplace_back(small(n));
  }
  return out;
}

/// Ranks of a string such as "[0, 1]"; nobody where it was cut or is no such list.
std::vector<Rank> listed(std::string_view text) {
  std::vector<Rank> out;
  if (!text.starts_with('[') || !text.ends_with(']')) return out;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    int n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || n < 0) return {};
    out.emplace_back(n);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != ',') return {};
    text.remove_prefix(1);
    while (text.starts_with(' ')) text.remove_prefix(1);
    if (text.empty()) return {};
  }
  return out;
}

/// Numbers by value, then other names: the same order on all ranks.
bool comes_first(const std::string& a, const std::string& b) {
  const auto value = [](const std::string& s) {
    return parse_integer(s).value_or(std::numeric_limits<std::int64_t>::max());
  };
  return std::pair(value(a), std::string_view(a)) < std::pair(value(b), std::string_view(b));
}

bool says_something(std::string_view description) {
  return !description.empty() && description != "undefined";
}

std::string full_name(const std::string& name, const std::string& description) {
  if (!says_something(description)) return name.empty() ? "unnamed" : name;
  return name.empty() ? description : fmt::format("{} ({})", name, description);
}

}  // namespace

Distributed parse_distributed(std::string_view raw) {
  Distributed out;
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(raw.data(), raw.size()).get(object) != simdjson::SUCCESS) return out;
  out.present = true;
  out.backend = text(object, "backend");
  out.library_version = text(object, "nccl_version");
  out.rank = number(object, "rank");
  out.world_size = number(object, "world_size");
  out.group_count = number(object, "pg_count");
  simdjson::dom::array groups;
  if (object["pg_config"].get(groups) != simdjson::SUCCESS) return out;
  for (const simdjson::dom::element e : groups) {
    simdjson::dom::object one;
    if (e.get(one) == simdjson::SUCCESS) out.groups.push_back(group(one));
  }
  return out;
}

std::vector<Rank> GroupTable::stride(std::int64_t first, std::int64_t step, std::int64_t count) {
  if (first < 0 || step < 1 || count < 1 || count > kMaxRanks || made_up_ + count > kMaxMadeUp) return {};
  if (first > kMaxRanks || step > kMaxRanks || first + step * (count - 1) > kMaxRanks) return {};
  made_up_ += count;
  std::vector<Rank> out;
  for (std::int64_t i = 0; i < count; ++i) out.emplace_back(static_cast<std::int32_t>(first + i * step));
  return out;
}

std::vector<Rank> GroupTable::everybody(int world_size) {
  return stride(0, 1, world_size);
}

std::vector<Rank> GroupTable::members_of(const CommsArguments& a) {
  std::vector<Rank> out = listed(a.group_ranks);
  if (!out.empty() && (a.group_size < 0 || a.group_size == static_cast<std::int64_t>(out.size()))) return out;
  return stride(a.first_rank, a.rank_stride, a.group_size);
}

std::uint32_t GroupTable::index(const CommsArguments& a) {
  if (a.group_name.empty() && a.group_ranks.empty()) return kNone;
  key_.assign(a.group_name).append(1, '\0').append(a.group_ranks).append(1, '\0');
  key_.append(fmt::format("{} {} {}", a.group_size, a.first_rank, a.rank_stride));
  const std::uint32_t key = keys_.index(key_);
  if (key < group_of_key_.size()) return group_of_key_[key];
  const std::string name =
      clean_text(unescape(a.group_name.empty() ? a.group_ranks : a.group_name).substr(0, 256));
  const auto next = static_cast<std::uint32_t>(groups_.size());
  const auto [at, is_new] = by_name_.try_emplace(name, next);
  if (is_new) groups_.push_back({.name = name, .description = {}, .ranks = {}, .size = 0});
  Group& g = groups_[at->second];
  if (!says_something(g.description))
    g.description = clean_text(unescape(a.group_description).substr(0, 256));
  if (g.ranks.empty()) g.ranks = members_of(a);
  g.size = std::max(g.size, small(a.group_size));
  group_of_key_.push_back(at->second);
  return at->second;
}

void GroupTable::resolve(PartBuilder& builder, const Distributed& header,
                         const std::set<std::uint32_t>& used) {
  resolved_.assign(groups_.size(), kNoComm);
  for (const Distributed::Group& g : header.groups) {
    const auto named = by_name_.find(g.name);
    const bool member = header.rank < 0 || g.ranks.empty() ||
                        std::find(g.ranks.begin(), g.ranks.end(), Rank(header.rank)) != g.ranks.end();
    if (named == by_name_.end() && (!member || g.ranks.empty())) continue;
    std::vector<Rank> ranks = g.ranks;
    if (ranks.empty() && named != by_name_.end()) ranks = groups_[named->second].ranks;
    const CommId id = builder.communicator(full_name(g.name, g.description), std::move(ranks), g.size);
    if (named != by_name_.end()) resolved_[named->second] = id;
  }
  std::vector<std::uint32_t> rest;
  for (const std::uint32_t i : used)
    if (resolved_[i] == kNoComm) rest.push_back(i);
  std::sort(rest.begin(), rest.end(),
            [&](std::uint32_t a, std::uint32_t b) { return comes_first(groups_[a].name, groups_[b].name); });
  for (const std::uint32_t i : rest) {
    Group& g = groups_[i];
    if (g.ranks.empty()) ++without_members_;
    resolved_[i] = builder.communicator(full_name(g.name, g.description), g.ranks, g.size);
  }
}

}  // namespace cox::trace::kineto
