// SPDX-License-Identifier: Apache-2.0
// list_processes FOLDER: one line per process file of a Run, sorted by rank, as its own header tells it. For
// end-to-end tests of what the launcher said: a Run keeps one process per rank, this shows all.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/file.hpp"

#include "trace/raw/raw_file.hpp"
#include "trace/store/compact_file.hpp"
#include "trace/store/run_folder.hpp"

namespace {

using cox::trace::RawHeader;

template <std::size_t N>
std::string text(const char (&field)[N]) {
  const std::string out(field, strnlen(field, N));
  return out.empty() ? "-" : out;
}

std::string line_of(const RawHeader& h) {
  return fmt::format("rank {} of {} local {} of {} host {} node {} job {} launcher {} attempt {}", h.rank,
                     h.world_size, h.local_rank, h.local_size, text(h.host), h.node_number - 1, text(h.job),
                     text(h.launcher), h.attempt);
}

bool header_of(const cox::trace::ProcessPaths& paths, RawHeader& header) {
  const auto bytes =
      cox::read_file(paths.compact.empty() ? paths.raw : paths.compact, cox::trace::kMaxFileBytes);
  if (!bytes) return false;
  if (paths.compact.empty()) {
    auto raw = cox::trace::parse_raw_file(*bytes);
    if (raw) header = raw->header;
    return raw.has_value();
  }
  auto compact = cox::trace::CompactReader::open(*bytes);
  if (compact) header = compact->header();
  return compact.has_value();
}

}  // namespace

int main(int argc, char** argv) {
  const auto files = argc == 2 ? cox::trace::list_run(argv[1]) : cox::trace::list_run("");
  if (!files) return 1;
  std::vector<std::pair<int, std::string>> lines;
  for (const auto& paths : *files) {
    RawHeader header{};
    if (!header_of(paths, header)) return 1;
    lines.emplace_back(header.rank, line_of(header));
  }
  std::sort(lines.begin(), lines.end());
  for (const auto& [rank, line] : lines) std::printf("%s\n", line.c_str());
  return 0;
}
