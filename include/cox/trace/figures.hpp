// SPDX-License-Identifier: Apache-2.0
/// \file
/// Figures that others made of what they measured: times over message sizes, and summaries per rank. They are no
/// Run: nothing in them happened in an order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox::trace {

/// One measurement of a message size.
struct SizeTime {
  Bytes size{};
  Seconds time{};
};

/// One configuration: `name` tells it from the others of the table, `nodes` is 0 where that is not told.
struct SizeSeries {
  std::string name;
  std::int64_t nodes = 0;
  std::vector<SizeTime> values;  ///< ascending by size; several of one size are repetitions
  std::string measures{};        ///< the test, where told: others are not compared with it
  bool in_place = false;         ///< the result lies where the input was
  std::string file{};            ///< of a folder: where it lies
  double bus_ratio = 0;          ///< bus bandwidth (busbw) over size by time (algbw); 0 = not told
};

/// Times over message sizes, of one or more configurations.
struct SizeTable {
  std::vector<SizeSeries> series;  ///< in the order of the file
  bool has_unit = true;            ///< else times are in an unknown one, and only ratios mean anything
};

/// One quantity of one rank.
struct RankFigure {
  Rank rank;
  double value = 0;              ///< mean, or the gauge; in the table's unit
  std::optional<double> spread;  ///< standard deviation
  std::int64_t count = 0;        ///< values behind it; 0 = not told
};

/// One quantity of several ranks.
struct RankQuantity {
  std::string name;                 ///< of a phase, a collective, a gauge
  bool is_time = false;             ///< in seconds; else a plain number
  std::vector<RankFigure> figures;  ///< ascending by rank, each once
};

/// One value per rank of each of several quantities.
struct RankTable {
  std::vector<RankQuantity> quantities;  ///< in the order of the file
  std::vector<Rank> ranks;               ///< all that the table names, ascending
};

struct Figures {
  const char* format = "";  ///< `nccl-tests`, `osu`, `size-table`, `rank-summary`, `prometheus`
  std::variant<SizeTable, RankTable> table;
  std::vector<std::string> notes;  ///< what could not be used
  std::int64_t damaged = 0;        ///< of a folder: files of this kind that could not be used
};

/// Whether the unpacked front of a file is one of figures.
[[nodiscard]] bool is_figures(std::string_view head);

/// The figures of a file; nothing where it is none of them.
/// Errors:  import-005 (its head promised figures, and there are none), those of reading a file.
/// Limits:  64 MiB, 65,536 ranks, 4,096 configurations, 1,024 quantities.
/// Held by: src/trace/import/figures/figures_test.cpp
[[nodiscard]] Result<std::optional<Figures>> read_figures(const std::filesystem::path& path);

/// Times over message sizes of the files of a folder as one table; each configuration has its file's name in front.
/// Nothing where no file holds such. Notes name what is damaged, or something else.
/// Limits: 256 files, in the folder itself; links are not followed.
/// Held by: src/trace/import/figures/figures_test.cpp
[[nodiscard]] std::optional<Figures> read_figures_folder(const std::filesystem::path& folder);

/// The same of bytes in memory. Errors: import-005.
[[nodiscard]] Result<std::optional<Figures>> figures_of(std::string_view bytes);

}  // namespace cox::trace
