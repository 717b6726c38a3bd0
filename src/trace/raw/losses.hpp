// SPDX-License-Identifier: Apache-2.0
/// \file
/// What could not be read of a file, told in a bounded number of sentences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/number_text.hpp"

namespace cox::trace {

/// Collects sentences; a file with a million faults gets the first ones and a count.
class Losses {
 public:
  void add(std::string text) {
    if (texts_.size() < kMost)
      texts_.push_back(std::move(text));
    else
      ++more_;
  }
  /// The sentences in order; empties the collection.
  [[nodiscard]] std::vector<std::string> take() {
    if (more_ > 0) texts_.push_back("and " + counted(more_, "more loss", "more losses") + " like these");
    more_ = 0;
    return std::exchange(texts_, {});
  }

 private:
  static constexpr std::size_t kMost = 12;
  std::vector<std::string> texts_;
  std::int64_t more_ = 0;
};

}  // namespace cox::trace
