// SPDX-License-Identifier: Apache-2.0
/// \file
/// What every format reader is: a test of the first bytes, and a function from bytes to a part of a job.
///
/// A reader judges nothing and compares nothing with other files. It fills one Run with what its file says
/// (and, for tables and graphs of operations, one program):
/// `ranks` (usually one), their `node` (host where known, else one nameless host per file), `communicators`
/// with the members as far as the file knows them, events and tables, `world_size`, `times`,
/// `origin_realtime_ns` where the file knows the time of day (0 where not), and `notes` on all that it could
/// not use. Times count from the part's own origin. `assemble_parts` puts parts side by side.
///
/// Hostile input: no allocation larger than what the bytes read justify, no recursion on input, no execution.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/trace/import.hpp"
#include "cox/trace/run.hpp"

#include "trace/import/bytes/byte_source.hpp"

namespace cox::trace {

/// Unpacked bytes from the front of a file that a reader may look at to recognise it.
inline constexpr std::size_t kHeadBytes = std::size_t{64} << 10;

struct Head {
  std::filesystem::path path;  ///< for formats of several files (OTF2, Paraver); names decide nothing else
  std::string_view bytes;      ///< unpacked; all of the file where it is shorter
};

/// One format.
struct Reader {
  const char* format;  ///< as in SourceFile::format and docs/reference/inputs.md
  const char* title;   ///< for people: "PyTorch profiler (Kineto) JSON"
  bool (*recognises)(const Head& head);
  /// Errors: import-005 (not what its head promised; where names the line or byte). Fills `sources` with one
  /// entry for the file itself.
  Result<ImportedJob> (*read)(const std::filesystem::path& path, const ImportOptions& options);
  /// Files beside `path` that belong to it and are not looked at on their own; may be null.
  std::vector<std::filesystem::path> (*companions)(const std::filesystem::path& path) = nullptr;
};

extern const Reader kKinetoReader;
extern const Reader kFlightRecorderPickleReader;
extern const Reader kFlightRecorderJsonReader;
extern const Reader kNcclInspectorReader;
extern const Reader kNcclProfilerReader;
extern const Reader kStepTableReader;
extern const Reader kChakraProtobufReader;
extern const Reader kChakraJsonReader;
extern const Reader kPytorchEtReader;
extern const Reader kGoalReader;
extern const Reader kOtf2Reader;
extern const Reader kParaverReader;
extern const Reader kDumpiReader;
extern const Reader kOperationCsvReader;
extern const Reader kOperationParquetReader;
extern const Reader kMlperfReader;
extern const Reader kSpanLinesReader;
extern const Reader kStepLogReader;

/// `Reader::read` of a format that tells a Run and no program.
template <Result<Run> (*kRead)(const std::filesystem::path&, const ImportOptions&)>
[[nodiscard]] Result<ImportedJob> read_without_program(const std::filesystem::path& path,
                                                       const ImportOptions& options) {
  COX_TRY(Run run, kRead(path, options));
  return ImportedJob{.run = std::move(run), .program = {}};
}

/// The Run alone of what a reader makes of a file.
[[nodiscard]] inline Result<Run> read_run(const Reader& reader, const std::filesystem::path& path,
                                          const ImportOptions& options) {
  COX_TRY(ImportedJob job, reader.read(path, options));
  return std::move(job.run);
}

/// All of them, in the order in which they are asked; the first that recognises a file reads it.
[[nodiscard]] std::span<const Reader* const> all_readers();

}  // namespace cox::trace
