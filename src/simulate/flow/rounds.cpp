// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow/rounds.hpp"

#include <optional>

namespace cox::simulate {
namespace {

// Whether the same participants send each other the same bytes.
bool alike(const model::RegularRound& a, const model::RegularRound& b) {
  if (a.pattern != b.pattern || a.size != b.size || a.stride != b.stride || a.by != b.by) return false;
  if (a.uniform() && b.uniform()) return a.bytes_from(0) == b.bytes_from(0);
  model::RegularRound combined = a;
  combined.combine = b.combine;
  return combined == b;
}

std::unique_ptr<RoundTable> make_table(const std::vector<model::Transfer>& transfers, int participants,
                                       bool regular) {
  auto table = std::make_unique<RoundTable>();
  table->regular = regular;
  const std::size_t n = static_cast<std::size_t>(participants) + 1;
  table->sends_first.assign(n, 0);
  table->receives_first.assign(n, 0);
  for (const model::Transfer& t : transfers) {
    if (t.from == t.to) continue;
    ++table->sends_first[static_cast<std::size_t>(t.from) + 1];
    ++table->receives_first[static_cast<std::size_t>(t.to) + 1];
  }
  for (std::size_t p = 1; p < n; ++p) {
    table->sends_first[p] += table->sends_first[p - 1];
    table->receives_first[p] += table->receives_first[p - 1];
  }
  table->messages.resize(table->sends_first.back());
  table->receives.resize(table->sends_first.back());
  std::vector<std::uint32_t> send(table->sends_first.begin(), table->sends_first.end() - 1);
  std::vector<std::uint32_t> receive(table->receives_first.begin(), table->receives_first.end() - 1);
  for (const model::Transfer& t : transfers) {
    if (t.from == t.to) continue;
    const std::uint32_t number = send[static_cast<std::size_t>(t.from)]++;
    table->messages[number] = t;
    table->receives[receive[static_cast<std::size_t>(t.to)]++] = number;
  }
  return table;
}

}  // namespace

LaneRounds::LaneRounds(const model::Schedule& schedule, int lane, bool keeps)
    : schedule_(schedule), lane_(lane), keeps_(keeps) {
  const std::int64_t rounds = schedule.rounds(lane);
  run_of_.reserve(static_cast<std::size_t>(rounds));
  std::optional<model::RegularRound> before;
  for (std::int64_t k = 0; k < rounds; ++k) {
    const std::optional<model::RegularRound> now = schedule.regular(k, lane);
    if (!(before && now && alike(*before, *now))) runs_.push_back({.begin = k, .left = 0, .table = nullptr});
    run_of_.push_back(static_cast<std::uint32_t>(runs_.size() - 1));
    before = now;
  }
}

std::int64_t LaneRounds::run_end(std::int64_t k) const {
  const std::size_t next = run_of_[static_cast<std::size_t>(k)] + std::size_t{1};
  return next < runs_.size() ? runs_[next].begin : rounds();
}

const RoundTable& LaneRounds::table(std::int64_t k) {
  Run& run = runs_[run_of_[static_cast<std::size_t>(k)]];
  if (!run.table) {
    schedule_.transfers(k, scratch_, lane_);
    run.table = make_table(scratch_, schedule_.participants(), schedule_.regular(k, lane_).has_value());
  }
  return *run.table;
}

void LaneRounds::leave(std::int64_t k) {
  if (k + 1 != run_end(k)) return;
  Run& run = runs_[run_of_[static_cast<std::size_t>(k)]];
  if (++run.left == schedule_.participants() && !keeps_) run.table.reset();
}

void LaneRounds::begin_again() {
  for (Run& run : runs_) run.left = 0;
}

}  // namespace cox::simulate
