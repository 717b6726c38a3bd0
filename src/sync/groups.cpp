// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/groups.hpp"

#include <algorithm>

#include "cox/base/assert.hpp"

namespace cox::sync {

Groups::Groups(int workers, int size)
    : size_(size),
      computing_(static_cast<std::size_t>(workers / size), size),
      in_step_(static_cast<std::size_t>(workers), 1) {
  COX_ASSERT(size > 0 && workers > 0 && workers % size == 0, "groups are of one size");
}

std::optional<int> Groups::arrived(int worker) {
  char& inside = in_step_[static_cast<std::size_t>(worker)];
  COX_ASSERT(inside != 0, "a member finished a step that it had not begun");
  inside = 0;
  const int group = worker / size_;
  if (--computing_[static_cast<std::size_t>(group)] > 0) return std::nullopt;
  return group;
}

int Groups::begin(int group) {
  int& computing = computing_[static_cast<std::size_t>(group)];
  COX_ASSERT(computing == 0, "a group begins when all of it have arrived");
  computing = size_;
  const int first = group * size_;
  std::fill_n(in_step_.begin() + first, size_, static_cast<char>(1));
  return first;
}

}  // namespace cox::sync
