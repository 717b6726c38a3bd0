// SPDX-License-Identifier: Apache-2.0
/// \file
/// What every rank knows, on all of them.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "cox/base/result.hpp"

#include "train/transport/transport.hpp"

namespace cox::train {

/// One value of every rank's, by rank. All ranks call it; none returns before all have. Errors: those of Transport::wait.
template <class T>
[[nodiscard]] Result<std::vector<T>> exchange(Transport& transport, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<std::size_t>(transport.ranks()));
  const std::uint64_t number = transport.numbers(1);
  for (int r = 0; r < transport.ranks(); ++r) {
    T& place = all[static_cast<std::size_t>(r)];
    if (r == transport.rank()) {
      place = mine;
      continue;
    }
    transport.send(r, number, std::as_bytes(std::span(&mine, 1)));
    transport.receive(r, number, std::as_writable_bytes(std::span(&place, 1)));
  }
  COX_CHECK(transport.wait());
  return all;
}

}  // namespace cox::train
