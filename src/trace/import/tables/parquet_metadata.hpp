// SPDX-License-Identifier: Apache-2.0
/// \file
/// The footer of a Parquet file: which columns there are, and where their pages lie.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"

#include "trace/import/tables/parquet.hpp"

namespace cox::trace::parquet {

struct Metadata {
  std::vector<Column> columns;                   ///< the leaves; a nested column is one per leaf
  std::vector<std::vector<File::Chunk>> groups;  ///< per row group, one chunk per leaf
  std::int64_t rows = 0;
  bool is_encrypted = false;
};

/// Errors: import-005.
[[nodiscard]] Result<Metadata> read_metadata(std::string_view footer);

/// An error import-005.
[[nodiscard]] tl::unexpected<Error> refuse(std::string message, std::string hint = {});

}  // namespace cox::trace::parquet
