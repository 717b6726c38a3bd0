// SPDX-License-Identifier: Apache-2.0
#include "cox/base/result.hpp"

#include <fmt/format.h>

namespace cox {

std::string Error::to_string() const {
  if (!where || where->file.empty()) return message;
  if (where->line == 0) return fmt::format("{}: {}", where->file, message);
  if (where->column == 0) return fmt::format("{}:{}: {}", where->file, where->line, message);
  return fmt::format("{}:{}:{}: {}", where->file, where->line, where->column, message);
}

}  // namespace cox
