// SPDX-License-Identifier: Apache-2.0
#include "simulate/max_plus/loggops_rounds.hpp"

#include <algorithm>
#include <limits>

namespace cox::simulate {
namespace {

constexpr double kSinceEver = -std::numeric_limits<double>::infinity();

}  // namespace

LogGopsRounds::LogGopsRounds(const LinkCosts& costs, int ranks)
    : costs_(costs), ranks_(static_cast<std::size_t>(ranks)) {
  peers_of_.size = 0;
}

void LogGopsRounds::begin(std::span<const double> times) {
  cpu_.assign(times.begin(), times.end());
  out_.assign(ranks_, kSinceEver);
  in_.assign(ranks_, kSinceEver);
  ready_.assign(ranks_, kSinceEver);
  released_.assign(ranks_, kSinceEver);
  starts_.resize(ranks_);
}

void LogGopsRounds::find_peers(const model::RegularRound& r) {
  const model::RegularRound& known = peers_of_;
  if (known.pattern == r.pattern && known.size == r.size && known.stride == r.stride && known.by == r.by)
    return;
  peers_of_ = r;
  to_.resize(ranks_);
  from_.resize(ranks_);
  for (std::size_t p = 0; p < ranks_; ++p) {
    to_[p] = static_cast<std::uint32_t>(r.to(static_cast<int>(p)));
    from_[p] = static_cast<std::uint32_t>(r.from(static_cast<int>(p)));
  }
}

void LogGopsRounds::find_parts(const model::RegularRound& round) {
  const model::MessageCost* only = costs_.only(static_cast<int>(ranks_));
  equal_ = only != nullptr && round.uniform();
  if (equal_) {
    parts_.assign(1, parts_of(*only, round.bytes_from(0), round.combine));
    return;
  }
  parts_.resize(ranks_);
  const model::MessageCost* cost = nullptr;
  Bytes bytes{};
  for (std::size_t r = 0; r < ranks_; ++r) {
    const auto from = static_cast<int>(from_[r]);
    const model::MessageCost* own = only != nullptr ? only : &costs_.of(from, static_cast<int>(r));
    const Bytes sent = round.bytes_from(from);
    if (own == cost && sent == bytes) {
      parts_[r] = parts_[r - 1];
      continue;
    }
    cost = own;
    bytes = sent;
    parts_[r] = parts_of(*own, sent, round.combine);
  }
}

void LogGopsRounds::disturb(const model::RegularRound& round, std::int64_t number,
                            const MessageDraws& draws) {
  if (equal_) parts_.assign(ranks_, MessageParts{parts_.front()});
  equal_ = false;
  if (draws.noise != nullptr) {
    latency_.resize(ranks_);
    whole_.resize(ranks_);
    for (std::size_t r = 0; r < ranks_; ++r) {
      const auto from = static_cast<int>(from_[r]);
      const model::MessageCost& cost = costs_.of(from, static_cast<int>(r));
      latency_[r] = cost.latency;
      whole_[r] = cost(round.bytes_from(from));
    }
    draws.noise->messages(draws.step, draws.number, draws.round(number), 0, whole_, latency_, draws.ranks);
    for (std::size_t r = 0; r < ranks_; ++r) parts_[r].disturb(latency_[r].count(), whole_[r].count());
  }
  for (const LateMessage& m : draws.late) parts_[m.receiver].latency += in_picoseconds(m.seconds);
}

bool LogGopsRounds::run(const model::RegularRound& round, std::int64_t number, const MessageDraws& draws) {
  if (round.size == 1) return true;
  find_peers(round);
  find_parts(round);
  if (draws.disturb()) disturb(round, number, draws);
  if (!equal_) return sweep([this](std::size_t receiver) -> const MessageParts& { return parts_[receiver]; });
  return sweep([all = parts_.front()](std::size_t) { return all; });
}

/// `parts` of the message that a rank receives.
template <class Parts>
bool LogGopsRounds::sweep(Parts parts) {
  for (std::size_t r = 0; r < ranks_; ++r) {
    const MessageParts& own = parts(to_[r]);
    const double start = std::max(cpu_[r], out_[r]);
    starts_[r] = start;
    out_[r] = own.left(start);
  }
  bool in_order = true;
  for (std::size_t r = 0; r < ranks_; ++r) {
    const MessageParts& own = parts(to_[r]);
    const MessageParts& comes = parts(r);
    const std::size_t from = from_[r];
    const double arrives = comes.arrives(starts_[from]);
    // One that comes while the rank cannot send yet finds a busy processor, and is behind the send if it was caused
    // later; where the send waits for its port alone, the processor would take what comes.
    const bool behind = starts_[from] > ready_[r] && cpu_[r] >= starts_[r];
    in_order &= arrives > starts_[r] || behind;
    const double taken = std::max({arrives, own.sent(starts_[r]), in_[r]});
    in_[r] = comes.left(taken);
    cpu_[r] = comes.received(taken);
    ready_[r] = taken;
    if (comes.combined > 0) {
      ready_[r] = cpu_[r];
      cpu_[r] += comes.combined;
    }
    if (comes.waits) released_[from] = std::max(released_[from], taken);
  }
  return in_order;
}

void LogGopsRounds::end(std::span<double> times) const {
  for (std::size_t r = 0; r < ranks_; ++r) times[r] = std::max(cpu_[r], released_[r]);
}

}  // namespace cox::simulate
