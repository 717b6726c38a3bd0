// SPDX-License-Identifier: Apache-2.0
/// \file
/// For tests: a function on all ranks at once, each a thread.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "train/transport/threads.hpp"

namespace cox::train {

/// Calls `body(transport)` for each rank; returns what each has sent to each.
template <class Body>
std::vector<std::vector<Bytes>> on_ranks(int ranks, const Body& body) {
  ThreadHub hub(ranks, Seconds{60});
  std::vector<std::unique_ptr<Transport>> links;
  for (int r = 0; r < ranks; ++r) links.push_back(hub.transport(r));
  {
    std::vector<std::jthread> threads;
    for (auto& link : links) threads.emplace_back([&body, &link] { body(*link); });
  }
  std::vector<std::vector<Bytes>> sent;
  for (const auto& link : links) sent.push_back(link->sent());
  return sent;
}

}  // namespace cox::train
