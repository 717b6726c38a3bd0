// SPDX-License-Identifier: Apache-2.0
/// \file
/// Messages over Gloo's TCP transport.
#pragma once

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/transport/transport.hpp"

namespace cox::train {

/// Gloo takes the store by reference, later versions as a shared one.
template <class Context>
void connect_mesh(Context& context, const std::shared_ptr<gloo::rendezvous::FileStore>& store,
                  std::shared_ptr<gloo::transport::Device>& device) {
  if constexpr (requires { context.connectFullMesh(*store, device); })
    context.connectFullMesh(*store, device);
  else
    context.connectFullMesh(store, device);
}

/// One unbound buffer per message: waits of a buffer only count, so two messages in one could be taken for each other. A wait that
/// is late closes all pairs of the context; the program ends behind it.
class GlooTransport final : public Transport {
 public:
  /// Meets the others in the folder `store`. Throws where it cannot.
  GlooTransport(int rank, int ranks, const std::string& store, Seconds patience)
      : Transport(rank, ranks), patience_(patience) {
    gloo::transport::tcp::attr attributes;
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    attributes.iface = interface != nullptr ? interface : "lo";
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    context->setTimeout(std::chrono::ceil<std::chrono::milliseconds>(patience));
    connect_mesh(*context, std::make_shared<gloo::rendezvous::FileStore>(store), device);
    context_ = std::move(context);
  }

  Status wait() override {
    const auto until = std::chrono::steady_clock::now() + patience_;
    Status ended{};
    for (const Going& g : going_)
      if (ended) ended = wait_one(g, until);
    going_.clear();
    return ended;
  }

  Status wait_for(int peer, std::uint64_t number) override {
    const Slot slot{.generation = generation(), .number = number};
    const auto until = std::chrono::steady_clock::now() + patience_;
    Status ended{};
    std::erase_if(going_, [&](const Going& g) {
      if (g.peer != peer || g.slot != slot) return false;
      if (ended) ended = wait_one(g, until);
      return true;
    });
    if (!ended) going_.clear();
    return ended;
  }

  void wait_longer(int times) override {
    patience_ = patience_ * times;
    context_->setTimeout(std::chrono::ceil<std::chrono::milliseconds>(patience_));
  }

  void expect_any(std::uint64_t number, std::span<std::byte> bytes) override {
    try {
      if (!expected_) expected_ = from_any({.generation = generation(), .number = number}, bytes);
    } catch (const std::exception&) {  // an end is closed: `receive_any` says so
    }
  }

  Result<int> receive_any(std::uint64_t number, std::span<std::byte> bytes) override {
    const Slot slot{.generation = generation(), .number = number};
    int from = -1;
    const auto until = std::chrono::steady_clock::now() + patience_;
    try {
      const auto buffer = expected_ ? std::move(expected_) : from_any(slot, bytes);
      if (!buffer->waitRecv(&from, std::chrono::ceil<std::chrono::milliseconds>(patience_)))
        return fail(nobody(slot, patience_));
    } catch (const std::exception&) {  // late, or another end is closed
      going_.clear();
      return fail(std::chrono::steady_clock::now() >= until ? nobody(slot, patience_) : lost_one(slot));
    }
    for (const Going& g : going_) {
      if (g.receives || g.peer != from) continue;
      try {
        if (g.buffer && g.buffer->waitSend(std::chrono::ceil<std::chrono::milliseconds>(patience_))) continue;
      } catch (const std::exception&) {
      }
      return fail(lost(false, g.peer, g.slot));
    }
    std::erase_if(going_, [&](const Going& g) { return !g.receives && g.peer == from; });
    return from;
  }

  [[nodiscard]] const std::shared_ptr<gloo::Context>& context() const { return context_; }

 private:
  using Until = std::chrono::time_point<std::chrono::steady_clock, Seconds>;
  struct Going {
    int peer = 0;
    bool receives = false;
    Slot slot{};
    std::unique_ptr<gloo::transport::UnboundBuffer> buffer;  ///< none where it could not begin
  };

  using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

  /// A receive that has begun; throws where an end is closed.
  [[nodiscard]] Buffer from_any(Slot slot, std::span<std::byte> bytes) const {
    std::vector<int> others;
    for (int r = 0; r < ranks(); ++r)
      if (r != rank()) others.push_back(r);
    Buffer buffer = context_->createUnboundBuffer(bytes.data(), bytes.size());
    buffer->recv(others, number_of(slot));
    return buffer;
  }

  [[nodiscard]] Status wait_one(const Going& g, Until until) const {
    try {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
      const auto some = std::max(left, std::chrono::milliseconds(1));
      if (g.buffer && (g.receives ? g.buffer->waitRecv(some) : g.buffer->waitSend(some))) return {};
    } catch (const std::exception&) {  // late, or the other end is closed
    }
    const bool in_vain = std::chrono::steady_clock::now() >= until;
    return fail(in_vain ? late(g.receives, g.peer, g.slot, patience_) : lost(g.receives, g.peer, g.slot));
  }

  void begin_send(int to, Slot slot, std::span<const std::byte> bytes) override {
    auto* data =
        const_cast<std::byte*>(bytes.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
    begin(false, to, slot, data, bytes.size());
  }
  void begin_receive(int from, Slot slot, std::span<std::byte> bytes) override {
    begin(true, from, slot, bytes.data(), bytes.size());
  }
  void forget() override {
    going_.clear();
    expected_.reset();
  }

  void begin(bool receives, int peer, Slot slot, std::byte* data, std::size_t size) {
    Going& g =
        going_.emplace_back(Going{.peer = peer, .receives = receives, .slot = slot, .buffer = nullptr});
    try {
      auto buffer = context_->createUnboundBuffer(data, size);
      if (receives)
        buffer->recv(peer, number_of(slot));
      else
        buffer->send(peer, number_of(slot));
      g.buffer = std::move(buffer);
    } catch (const std::exception&) {  // the other end is closed: `wait` says so
    }
  }

  /// The highest byte is 9: Gloo's own operations have 1 to 8 there. Then 16 bits of generation, 40 of number.
  static std::uint64_t number_of(Slot slot) {
    return std::uint64_t{9} << 56U | (std::uint64_t{slot.generation} & 0xffffU) << 40U |
           (slot.number & 0xff'ffff'ffffU);
  }

  Seconds patience_;
  std::shared_ptr<gloo::Context> context_;
  std::vector<Going> going_;
  Buffer expected_;  ///< of the next `receive_any`
};

}  // namespace cox::train
