// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/import.hpp"

#include <fmt/format.h>

#include <utility>

#include "trace/import/reader.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;

Result<std::string> head_of(const fs::path& path, std::uint64_t limit) {
  COX_TRY(ByteSource source, ByteSource::open(path, limit));
  std::string head(kHeadBytes, '\0');
  COX_TRY(const std::size_t n, source.read(head));
  head.resize(n);
  return head;
}

}  // namespace

Result<Imported> import_path(const fs::path& path, const ImportOptions& options) {
  COX_TRY(const std::string head, head_of(path, options.limit_bytes));
  for (const Reader* reader : all_readers()) {
    if (!reader->recognises({.path = path, .bytes = head})) continue;
    COX_TRY(Run run, reader->read(path, options));
    Imported out;
    out.sources = run.sources;
    out.runs.push_back(std::move(run));
    return out;
  }
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "import-001",
                    .message = "no file of a known format",
                    .hint = "see `cox explain import-001` for the formats that can be read",
                    .where = Where{.file = path.string()}});
}

}  // namespace cox::trace
