// SPDX-License-Identifier: Apache-2.0
/// \file
/// Paraver traces (`.prv`, with `.pcf` and `.row` beside them), as Extrae and Dimemas write them.
///
/// Mapping and limits: docs/reference/inputs/paraver.md.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "trace/import/paraver/header.hpp"
#include "trace/import/paraver/names.hpp"
#include "trace/import/paraver/text.hpp"
#include "trace/import/paraver/tracks.hpp"
#include "trace/import/part/part_builder.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;

/// Most of a `.pcf` or `.row` that is read: names of functions make the longest ones a few MB.
constexpr std::uint64_t kCompanionBytes = std::uint64_t{16} << 20;

bool recognises(const Head& head) {
  return is_paraver_header(head.bytes);
}

/// The path without `.prv` and what a packer appended; empty where it does not end so.
fs::path stem_of(const fs::path& path) {
  fs::path stem = path;
  if (stem.extension() == ".gz" || stem.extension() == ".zst") stem.replace_extension();
  if (stem.extension() != ".prv") return {};
  stem.replace_extension();
  return stem;
}

fs::path beside(const fs::path& path, const char* extension) {
  fs::path companion = stem_of(path);
  if (!companion.empty()) companion += extension;
  return companion;
}

std::vector<fs::path> companions(const fs::path& path) {
  std::vector<fs::path> found;
  for (const char* extension : {".pcf", ".row"}) {
    const fs::path companion = beside(path, extension);
    std::error_code ec;
    if (!companion.empty() && fs::is_regular_file(companion, ec)) found.push_back(companion);
  }
  return found;
}

/// Text of a companion; empty where there is none that can be read.
std::string companion_text(const fs::path& path, const char* extension, PartBuilder& builder) {
  const fs::path companion = beside(path, extension);
  std::error_code ec;
  if (companion.empty() || !fs::is_regular_file(companion, ec)) return {};
  auto source = ByteSource::open(companion, kCompanionBytes);
  auto text = source ? source->read_all() : Result<std::string>(fail(source.error()));
  if (text) return *std::move(text);
  builder.note(fmt::format("the {} beside it cannot be read: {}", extension + 1, text.error().message));
  return {};
}

Result<Run> read(const fs::path& path, const ImportOptions& options) {
  COX_TRY(ByteSource source, ByteSource::open(path, options.limit_bytes));
  LineStream lines(source);
  COX_TRY(const auto first, lines.next());
  COX_TRY(ParaverHeader header, [&] {
    auto parsed = parse_paraver_header(first.value_or(std::string_view()));
    if (!parsed) parsed.error().where->file = path.string();
    return parsed;
  }());

  PartBuilder builder(path.filename().string(), "paraver");
  ParaverNames names;
  names.read_pcf(companion_text(path, ".pcf", builder));
  const auto hosts = node_names_of_row(companion_text(path, ".row", builder));
  ParaverTracks tracks(builder, std::move(header), std::move(names), hosts);
  while (true) {
    COX_TRY(const auto line, lines.next());
    if (!line) break;
    tracks.add_line(*line);
  }
  tracks.close();
  builder.note_count(lines.too_long(), "line", "lines",
                     fmt::format(" of more than {} bytes", LineStream::kLongestLine));
  if (lines.ends_inside_a_line()) builder.note("the last line has no end and was left out");
  if (source.cut()) builder.note("the compressed data stops early; what stands before that was used");
  Run run = std::move(builder).finish();
  tracks.complete(run);
  return run;
}

}  // namespace

const Reader kParaverReader{.format = "paraver",
                            .title = "Paraver trace",
                            .recognises = recognises,
                            .read = read_without_program<read>,
                            .companions = companions};

}  // namespace cox::trace
