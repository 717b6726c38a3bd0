// SPDX-License-Identifier: Apache-2.0
#include "train/transport/threads.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <list>
#include <mutex>
#include <utility>

#include "cox/base/assert.hpp"

namespace cox::train {
namespace {

enum class Stage : std::uint8_t { Kept, Posted, Copying, Taken };

/// A message on its way. It lies with its sender; the mailbox holds its address from Posted to Taken.
struct Sending {
  int from = 0;
  int to = 0;
  Slot slot{};
  std::span<const std::byte> bytes;
  Stage stage = Stage::Kept;
};

struct Receiving {
  int from = 0;
  Slot slot{};
  std::span<std::byte> bytes;
};

}  // namespace

struct ThreadHub::Shared {
  int ranks = 0;
  Seconds patience{};
  std::size_t places = 0;
  std::mutex guard;
  std::condition_variable moved;  ///< a mailbox, in any way
  std::vector<std::vector<Sending*>> mailboxes;
};

class ThreadHub::Link final : public Transport {
 public:
  Link(Shared& hub, int rank) : Transport(rank, hub.ranks), hub_(hub), patience_(hub.patience) {}

  Status wait() override {
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(patience_);
    std::unique_lock lock(hub_.guard);
    Status ended{};
    for (bool late = false;;) {
      const bool posted = post();
      const bool taken = take(lock, ended);
      if (posted || taken) hub_.moved.notify_all();
      if (!ended || done()) break;
      if (posted || taken) continue;
      if (late) {
        ended = give_up();
        break;
      }
      late = hub_.moved.wait_until(lock, until) == std::cv_status::timeout;
    }
    withdraw(lock);
    return ended;
  }

  Status wait_for(int peer, std::uint64_t number) override {
    const Slot slot{generation(), number};
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(patience_);
    const auto is_sent = [&](const Sending& s) { return s.to == peer && s.slot == slot; };
    const auto comes = [&](const Receiving& r) { return r.from == peer && r.slot == slot; };
    std::unique_lock lock(hub_.guard);
    for (bool late = false;;) {
      Status ended{};
      const bool posted = post();
      const bool taken = take(lock, ended);
      if (posted || taken) hub_.moved.notify_all();
      const bool here =
          std::ranges::none_of(receiving_, comes) && std::ranges::none_of(sending_, [&](const Sending& s) {
            return is_sent(s) && s.stage != Stage::Taken;
          });
      if (ended && here) break;
      if (ended && late)
        ended = fail(Transport::late(std::ranges::any_of(receiving_, comes), peer, slot, patience_));
      if (!ended) {
        withdraw(lock);
        return ended;
      }
      if (!posted && !taken) late = hub_.moved.wait_until(lock, until) == std::cv_status::timeout;
    }
    std::erase_if(sending_, is_sent);
    return {};
  }

  void wait_longer(int times) override { patience_ = hub_.patience * times; }

  Result<int> receive_any(std::uint64_t number, std::span<std::byte> bytes) override {
    const Slot slot{generation(), number};
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(patience_);
    std::unique_lock lock(hub_.guard);
    auto& mailbox = hub_.mailboxes[static_cast<std::size_t>(rank())];
    for (bool late = false;;) {
      if (post()) hub_.moved.notify_all();
      const auto found = std::ranges::find_if(mailbox, [&](const Sending* s) { return s->slot == slot; });
      if (found != mailbox.end()) {
        const int from = (*found)->from;
        Status ended{};
        take_one(lock, found, bytes, ended);
        std::erase_if(sending_, [&](const Sending& s) { return s.to == from && s.stage == Stage::Taken; });
        hub_.moved.notify_all();
        if (!ended) withdraw(lock);
        COX_CHECK(ended);
        return from;
      }
      if (late) {
        withdraw(lock);
        return fail(nobody(slot, patience_));
      }
      late = hub_.moved.wait_until(lock, until) == std::cv_status::timeout;
    }
  }

 private:
  void begin_send(int to, Slot slot, std::span<const std::byte> bytes) override {
    sending_.push_back({.from = rank(), .to = to, .slot = slot, .bytes = bytes});
    const std::scoped_lock lock(hub_.guard);
    if (post()) hub_.moved.notify_all();
  }
  void begin_receive(int from, Slot slot, std::span<std::byte> bytes) override {
    receiving_.push_back({.from = from, .slot = slot, .bytes = bytes});
  }
  void forget() override {
    sending_.clear();
    receiving_.clear();
  }

  [[nodiscard]] std::size_t of_mine(const std::vector<Sending*>& mailbox) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(mailbox, [this](const Sending* s) { return s->from == rank(); }));
  }

  /// Kept messages into mailboxes that have room for ours.
  bool post() {
    bool any = false;
    for (Sending& s : sending_) {
      auto& mailbox = hub_.mailboxes[static_cast<std::size_t>(s.to)];
      if (s.stage != Stage::Kept || of_mine(mailbox) >= hub_.places) continue;
      mailbox.push_back(&s);
      s.stage = Stage::Posted;
      any = true;
    }
    return any;
  }

  /// What lies there for us.
  bool take(std::unique_lock<std::mutex>& lock, Status& ended) {
    bool any = false;
    auto& mailbox = hub_.mailboxes[static_cast<std::size_t>(rank())];
    for (auto r = receiving_.begin(); r != receiving_.end() && ended;) {
      const auto found = std::ranges::find_if(
          mailbox, [&](const Sending* s) { return s->from == r->from && s->slot == r->slot; });
      if (found == mailbox.end()) {
        ++r;
        continue;
      }
      take_one(lock, found, r->bytes, ended);
      r = receiving_.erase(r);
      any = true;
    }
    return any;
  }

  /// A message of the mailbox, copied without the lock.
  void take_one(std::unique_lock<std::mutex>& lock, std::vector<Sending*>::iterator found,
                std::span<std::byte> bytes, Status& ended) {
    Sending& s = **found;
    hub_.mailboxes[static_cast<std::size_t>(rank())].erase(found);
    s.stage = Stage::Copying;
    lock.unlock();
    if (s.bytes.size() != bytes.size())
      ended = fail(unlike(s.from, s.slot, "bytes", s.bytes.size(), bytes.size()));
    else if (!s.bytes.empty())
      std::memcpy(bytes.data(), s.bytes.data(), s.bytes.size());
    lock.lock();
    s.stage = Stage::Taken;
  }

  [[nodiscard]] bool done() const {
    return receiving_.empty() &&
           std::ranges::all_of(sending_, [](const Sending& s) { return s.stage == Stage::Taken; });
  }

  [[nodiscard]] tl::unexpected<Error> give_up() const {
    if (!receiving_.empty())
      return fail(Transport::late(true, receiving_.front().from, receiving_.front().slot, patience_));
    const auto left =
        std::ranges::find_if(sending_, [](const Sending& s) { return s.stage != Stage::Taken; });
    COX_ASSERT(left != sending_.end(), "somebody was waited for");
    return fail(Transport::late(false, left->to, left->slot, patience_));
  }

  /// Nothing of ours may lie anywhere when the buffers are the caller's again.
  void withdraw(std::unique_lock<std::mutex>& lock) {
    for (Sending& s : sending_) {
      if (s.stage == Stage::Posted) std::erase(hub_.mailboxes[static_cast<std::size_t>(s.to)], &s);
      hub_.moved.wait(lock, [&] { return s.stage != Stage::Copying; });
    }
    forget();
    hub_.moved.notify_all();
  }

  Shared& hub_;
  Seconds patience_;
  std::list<Sending> sending_;  ///< places that do not move
  std::list<Receiving> receiving_;
};

ThreadHub::ThreadHub(int ranks, Seconds patience, std::size_t places) : shared_(std::make_unique<Shared>()) {
  shared_->ranks = ranks;
  shared_->patience = patience;
  shared_->places = places;
  shared_->mailboxes.resize(static_cast<std::size_t>(ranks));
}
ThreadHub::~ThreadHub() = default;

std::unique_ptr<Transport> ThreadHub::transport(int rank) {
  return std::make_unique<Link>(*shared_, rank);
}

}  // namespace cox::train
