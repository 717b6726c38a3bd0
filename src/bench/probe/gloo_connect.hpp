// SPDX-License-Identifier: Apache-2.0
/// \file
/// A Gloo context over TCP whose ranks meet in a folder.
#pragma once

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <memory>
#include <string>

namespace cox::bench::probe {

/// Gloo takes the store by reference, later versions as a shared one.
template <class Context>
void connect_mesh(Context& context, const std::shared_ptr<gloo::rendezvous::FileStore>& store,
                  std::shared_ptr<gloo::transport::Device>& device) {
  if constexpr (requires { context.connectFullMesh(*store, device); })
    context.connectFullMesh(*store, device);
  else
    context.connectFullMesh(store, device);
}

/// `store_folder` is empty and seen by all ranks. Blocks until all have come; throws as Gloo does.
[[nodiscard]] inline std::shared_ptr<gloo::Context> gloo_context(int rank, int ranks,
                                                                 const std::string& store_folder,
                                                                 const std::string& interface,
                                                                 std::chrono::milliseconds timeout) {
  const auto store = std::make_shared<gloo::rendezvous::FileStore>(store_folder);
  gloo::transport::tcp::attr attributes;
  attributes.iface = interface;
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->setTimeout(timeout);
  connect_mesh(*context, store, device);
  return context;
}

}  // namespace cox::bench::probe
