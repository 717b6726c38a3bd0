// SPDX-License-Identifier: Apache-2.0
#include "trace/import/reader.hpp"

namespace cox::trace {
namespace {

bool recognise_nothing(const Head&) {
  return false;
}

Result<Run> read_nothing(const std::filesystem::path& path, const ImportOptions&) {
  return fail(Error{.code = Errc::Unsupported,
                    .id = "import-005",
                    .message = "no reader for this format yet",
                    .hint = {},
                    .where = Where{.file = path.string()}});
}

}  // namespace

const Reader kGoalReader{
    .format = "goal", .title = "GOAL schedule", .recognises = recognise_nothing, .read = read_nothing};

}  // namespace cox::trace
