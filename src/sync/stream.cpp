// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/stream.hpp"

#include <algorithm>
#include <utility>

namespace cox::sync {

Ledger::Ledger(int workers)
    : read_(static_cast<std::size_t>(workers), 0),
      here_(static_cast<std::size_t>(workers), 1),
      in_flight_(workers) {}

bool Ledger::wrong(std::string why) {
  error_ = std::move(why);
  return false;
}

/// Whether the worker has read what it says it works with.
bool Ledger::holds(const Update& u, const char* does) {
  const std::int64_t read = read_[static_cast<std::size_t>(u.worker)];
  if (u.version_read == read && read >= 0) return true;
  const std::string who = "worker " + std::to_string(u.worker) + ' ' + does;
  if (read < 0) return wrong(who + ", and has read nothing");
  return wrong(who + " of version " + std::to_string(u.version_read) + ", and has read " +
               std::to_string(read));
}

/// What the worker had read is in flight no more; its age stays counted.
void Ledger::put_down(int worker) {
  std::int64_t& read = read_[static_cast<std::size_t>(worker)];
  --in_flight_;
  reads_in_flight_ -= read;
  delivered_ages_ += version_ - read;
  read = -1;
}

bool Ledger::delivered(const Update& u) {
  if (!holds(u, "delivers")) return false;
  if (u.version_applied != version_)
    return wrong("an update meets version " + std::to_string(u.version_applied) + ", and " +
                 std::to_string(version_) + " is there");
  put_down(u.worker);
  if (!u.applied) {
    ++discarded_;
    return true;
  }
  ++applied_;
  ++since_;
  applied_ages_ += u.age();
  largest_age_ = std::max(largest_age_, u.age());
  return true;
}

/// Both are there; no age changes.
bool Ledger::averaged(const Update& u) {
  const std::string who =
      "worker " + std::to_string(u.worker) + " takes the mean with worker " + std::to_string(u.with);
  if (u.with == u.worker) return wrong(who + ", and that is itself");
  const auto there = [&](int w) {
    return w >= 0 && static_cast<std::size_t>(w) < here_.size() && here_[static_cast<std::size_t>(w)] != 0;
  };
  if (!there(u.with)) return wrong(who + ", who is not there");
  return there(u.worker) || wrong(who + ", and is gone");
}

bool Ledger::take_server(const StreamEvent& event) {
  const std::int64_t read = event.update.version_read;
  switch (event.kind) {
    case StreamEvent::Kind::Read:
      if (!serves_ || read != version_)
        return wrong("a standby reads version " + std::to_string(read) + ", and " +
                     (serves_ ? std::to_string(version_) + " is the newest" : "nobody serves it"));
      copied_ = {copied_.back(), read};
      return true;
    case StreamEvent::Kind::Left:
      if (!serves_) return wrong("a server leaves, and nobody serves");
      serves_ = false;
      return true;
    case StreamEvent::Kind::Joined:
      if (serves_) return wrong("a standby takes over from a server that is there");
      if (read != version_ && std::ranges::count(copied_, read) == 0)
        return wrong("a standby takes over with version " + std::to_string(read) + ", which it has not read");
      serves_ = true;
      lost_ += version_ - read;
      return true;
    default:
      return wrong("a server does what workers do");
  }
}

bool Ledger::take(const StreamEvent& event) {
  if (!error_.empty()) return false;
  const Update& u = event.update;
  if (u.worker == kServer) return take_server(event);
  const bool at_server = event.kind == StreamEvent::Kind::Read ||
                         event.kind == StreamEvent::Kind::Delivered ||
                         event.kind == StreamEvent::Kind::Advanced;
  if (!serves_ && at_server)
    return wrong("worker " + std::to_string(u.worker) + " reads or delivers, and nobody serves");
  const auto w = static_cast<std::size_t>(u.worker);
  if (event.kind == StreamEvent::Kind::Joined && u.worker >= 0) {
    if (w < read_.size())
      return wrong("worker " + std::to_string(u.worker) + " joins, and its number was given before");
    if (w == read_.size()) {
      read_.push_back(-1);
      here_.push_back(1);
      return true;
    }
  }
  if (u.worker < 0 || w >= read_.size()) return wrong("there is no worker " + std::to_string(u.worker));
  switch (event.kind) {
    case StreamEvent::Kind::Read:
      if (u.version_read != version_)
        return wrong("version " + std::to_string(u.version_read) + " is read, and " +
                     std::to_string(version_) + " is the newest");
      if (here_[w] == 0 || read_[w] >= 0)
        return wrong("worker " + std::to_string(u.worker) + " reads, and is gone or has not delivered");
      read_[w] = version_;
      ++in_flight_;
      reads_in_flight_ += version_;
      return true;
    case StreamEvent::Kind::Delivered:
      return delivered(u);
    case StreamEvent::Kind::Advanced:
      if (u.version_applied != version_ + 1 || since_ == 0)
        return wrong("version " + std::to_string(u.version_applied) + " is made of " +
                     std::to_string(since_) + " updates after version " + std::to_string(version_));
      ++version_;
      since_ = 0;
      aged_ += in_flight_;
      return true;
    case StreamEvent::Kind::Left:
      if (here_[w] == 0) return wrong("worker " + std::to_string(u.worker) + " leaves twice");
      here_[w] = 0;
      if (read_[w] >= 0) put_down(u.worker);
      return true;
    case StreamEvent::Kind::Abandoned:
      if (!holds(u, "gives up work")) return false;
      put_down(u.worker);
      ++abandoned_;
      return true;
    case StreamEvent::Kind::Averaged:
      return averaged(u);
    case StreamEvent::Kind::Joined:
      break;  // above
  }
  return wrong("an event of no kind");
}

}  // namespace cox::sync
