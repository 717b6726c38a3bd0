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

/// Begins to tell all ranks one value of each: `all` has every rank's value once it was waited for; both stay where they are until then.
template <class T>
void begin_exchange(Transport& transport, const T& mine, std::vector<T>& all) {
  static_assert(std::is_trivially_copyable_v<T>);
  all.assign(static_cast<std::size_t>(transport.ranks()), mine);
  const std::uint64_t number = transport.numbers(1);
  for (int r = 0; r < transport.ranks(); ++r)
    if (r != transport.rank())
      transport.receive(r, number, std::as_writable_bytes(std::span(&all[static_cast<std::size_t>(r)], 1)));
  for (int r = 0; r < transport.ranks(); ++r)
    if (r != transport.rank()) transport.send(r, number, std::as_bytes(std::span(&mine, 1)));
}

/// One value of every rank's, by rank. All ranks call it; none returns before all have. Errors: those of Transport::wait.
template <class T>
[[nodiscard]] Result<std::vector<T>> exchange(Transport& transport, const T& mine) {
  std::vector<T> all;
  begin_exchange(transport, mine, all);
  COX_CHECK(transport.wait());
  return all;
}

}  // namespace cox::train
