// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/shards.hpp"

#include <algorithm>
#include <utility>

#include "cox/base/assert.hpp"

namespace cox::sync {

Shards::Shards(int workers, int shards, std::optional<int> staleness, FirstRead first)
    : staleness_(staleness), version_(static_cast<std::size_t>(shards)), serves_(version_.size(), 1) {
  COX_ASSERT(workers > 0 && shards > 0, "shards that somebody works with");
  const bool held = first == FirstRead::Held;
  workers_.assign(static_cast<std::size_t>(workers),
                  Worker{.read = std::vector<std::int64_t>(version_.size(), held ? 0 : kNone),
                         .held = held ? shards : 0,
                         .needed = shards,
                         .reads = !held});
  if (held) return;
  for (int w = 0; w < workers; ++w)
    for (int s = 0; s < shards; ++s)
      events_.push_back(
          {.kind = StreamEvent::Kind::Abandoned, .update = {.worker = w, .steps = 0, .shard = s}});
}

void Shards::release(int worker, std::vector<int>& released) {
  Worker& w = workers_[static_cast<std::size_t>(worker)];
  w.reads = true;
  w.needed = shards();
  released.push_back(worker);
}

void Shards::delivered(int worker, int shard, std::vector<int>& released) {
  Worker& w = workers_[static_cast<std::size_t>(worker)];
  std::int64_t& read = w.read[static_cast<std::size_t>(shard)];
  std::int64_t& version = version_[static_cast<std::size_t>(shard)];
  COX_ASSERT(read >= 0 && !w.reads, "a piece of what was read of all shards");
  COX_ASSERT(serves_[static_cast<std::size_t>(shard)] != 0, "somebody serves the shard");
  released.clear();
  events_.clear();
  events_.push_back({.kind = StreamEvent::Kind::Delivered,
                     .update = {.worker = worker,
                                .version_read = std::exchange(read, kNone),
                                .version_applied = version,
                                .shard = shard}});
  events_.push_back({.kind = StreamEvent::Kind::Advanced,
                     .update = {.worker = worker, .version_applied = ++version, .shard = shard}});
  if (--w.held > 0) return;
  if (w.needed < shards()) std::ranges::fill(w.read, kNone);
  const bool was_slowest = w.steps++ == slowest_;
  const std::int64_t before = slowest_;
  if (was_slowest) slowest_ = std::ranges::min_element(workers_, {}, &Worker::steps)->steps;
  waiting_.push_back(worker);
  if (slowest_ == before && may_go(w)) {
    waiting_.pop_back();
    release(worker, released);
  } else if (slowest_ != before) {
    std::ranges::sort(waiting_);
    std::erase_if(waiting_, [&](int v) {
      const bool goes = may_go(workers_[static_cast<std::size_t>(v)]);
      if (goes) release(v, released);
      return goes;
    });
  }
}

void Shards::needs(int worker, std::span<const int> shards) {
  Worker& w = workers_[static_cast<std::size_t>(worker)];
  COX_ASSERT(w.reads && w.held == 0 && !shards.empty(), "a worker that reads next, and something");
  std::ranges::fill(w.read, kNotNeeded);
  for (const int s : shards) {
    std::int64_t& read = w.read[static_cast<std::size_t>(s)];
    COX_ASSERT(read == kNotNeeded, "a shard is needed once");
    read = kNone;
  }
  w.needed = static_cast<int>(shards.size());
}

void Shards::read(int worker, int shard) {
  Worker& w = workers_[static_cast<std::size_t>(worker)];
  std::int64_t& read = w.read[static_cast<std::size_t>(shard)];
  COX_ASSERT(w.reads && read == kNone, "a worker reads each shard once, when it is released");
  COX_ASSERT(serves_[static_cast<std::size_t>(shard)] != 0, "somebody serves the shard");
  events_.clear();
  read = version_[static_cast<std::size_t>(shard)];
  w.reads = ++w.held < w.needed;
  events_.push_back(
      {.kind = StreamEvent::Kind::Read, .update = {.worker = worker, .version_read = read, .shard = shard}});
}

void Shards::tell_of_server(StreamEvent::Kind kind, int shard, std::int64_t version) {
  events_.assign(1, {.kind = kind, .update = {.worker = kServer, .version_read = version, .shard = shard}});
}

void Shards::copied(int shard) {
  COX_ASSERT(serves_[static_cast<std::size_t>(shard)] != 0, "somebody serves the shard");
  tell_of_server(StreamEvent::Kind::Read, shard, version(shard));
}

void Shards::server_left(int shard) {
  char& serves = serves_[static_cast<std::size_t>(shard)];
  COX_ASSERT(serves != 0, "somebody serves the shard");
  serves = 0;
  tell_of_server(StreamEvent::Kind::Left, shard, version(shard));
}

void Shards::server_joined(int shard, std::int64_t version) {
  char& serves = serves_[static_cast<std::size_t>(shard)];
  COX_ASSERT(serves == 0, "nobody serves the shard");
  serves = 1;
  tell_of_server(StreamEvent::Kind::Joined, shard, version);
}

ShardLedgers::ShardLedgers(int workers, int shards, StepReads reads)
    : reads_(reads),
      ledgers_(static_cast<std::size_t>(shards), Ledger(workers)),
      workers_(static_cast<std::size_t>(workers), Pieces{.held = shards}) {}

/// What holds between shards; behind the event's own ledger, which knows its worker.
bool ShardLedgers::whole(const StreamEvent& event) {
  if (event.update.worker < 0 || shards() == 1) return true;
  const auto at = static_cast<std::size_t>(event.update.worker);
  if (at >= workers_.size()) return true;
  Pieces& w = workers_[at];
  switch (event.kind) {
    case StreamEvent::Kind::Read:
      if (w.delivers) return false;
      ++w.held;
      return true;
    case StreamEvent::Kind::Delivered:
      if (!w.delivers && w.held != shards() && reads_ == StepReads::All) return false;
      w.delivers = --w.held > 0;
      return true;
    case StreamEvent::Kind::Abandoned:
      --w.held;
      return true;
    default:
      return true;
  }
}

bool ShardLedgers::take(const StreamEvent& event) {
  if (!error_.empty()) return false;
  const int shard = event.update.shard;
  if (shard < 0 || shard >= shards()) {
    error_ = "there is no shard " + std::to_string(shard);
    return false;
  }
  Ledger& own = ledgers_[static_cast<std::size_t>(shard)];
  if (!own.take(event)) {
    error_ = shards() > 1 ? "shard " + std::to_string(shard) + ": " + own.error() : own.error();
    return false;
  }
  if (whole(event)) return true;
  error_ = "worker " + std::to_string(event.update.worker) +
           (event.kind == StreamEvent::Kind::Read ? " reads, and some of its pieces are not there"
                                                  : " delivers a piece, and has not read all shards");
  return false;
}

bool ShardLedgers::ended_step(const StreamEvent& event) const {
  if (event.kind != StreamEvent::Kind::Delivered) return false;
  const auto at = static_cast<std::size_t>(event.update.worker);
  return shards() == 1 || (at < workers_.size() && workers_[at].held == 0);
}

std::int64_t ShardLedgers::lost() const {
  std::int64_t all = 0;
  for (const Ledger& l : ledgers_) all += l.lost();
  return all;
}

bool ShardLedgers::conserved() const {
  return std::ranges::all_of(ledgers_, [](const Ledger& l) { return l.ages() == l.aged(); });
}

}  // namespace cox::sync
