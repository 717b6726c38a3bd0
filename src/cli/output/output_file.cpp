// SPDX-License-Identifier: Apache-2.0
#include "cli/output/output_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/frame/interrupt.hpp"

namespace cox::cli {
namespace {

namespace fs = std::filesystem;

Error file_error(Errc code, const char* id, const fs::path& path, std::string message, std::string hint) {
  return Error{.code = code,
               .id = id,
               .message = std::move(message),
               .hint = std::move(hint),
               .where = Where{.file = path.string()}};
}

Error cannot_write(const fs::path& path, int reason) {
  return file_error(Errc::Io, "base-006", path, fmt::format("cannot be written: {}", std::strerror(reason)),
                    "check the folder, its rights and free space");
}

}  // namespace

Result<Output> Output::open(const std::string& name, IfExists if_exists, std::ostream& standard) {
  Output output;
  output.standard_ = &standard;
  if (name.empty() || name == "-") return output;
  const fs::path path(name);
  std::error_code ec;
  const fs::file_status status = fs::status(path, ec);
  if (fs::exists(status)) {
    // Renaming over a device would replace it, so only regular files are ever replaced.
    if (!fs::is_regular_file(status))
      return fail(file_error(Errc::InvalidInput, "base-003", path,
                             "not a regular file, so it is not replaced",
                             "name a file, or - for standard output"));
    if (if_exists == IfExists::Fail)
      return fail(file_error(Errc::InvalidInput, "base-005", path, "exists already",
                             "choose another name, or add --force to replace it"));
  }
  output.path_ = path;
  output.temporary_ = fmt::format("{}.tmp-{}", name, ::getpid());
  errno = 0;
  output.file_ = std::make_unique<std::ofstream>(output.temporary_, std::ios::binary | std::ios::trunc);
  if (!*output.file_) return fail(cannot_write(path, errno));
  set_unfinished_file(output.temporary_);
  return output;
}

Output::~Output() {
  if (file_ == nullptr) return;
  file_->close();
  ::unlink(temporary_.c_str());
  clear_unfinished_file();
}

Status Output::commit() {
  if (!is_file()) {
    standard_->flush();
    if (*standard_) return {};
    return fail(Error{.code = Errc::Io,
                      .id = "cli-006",
                      .message = "standard output cannot be written",
                      .hint = "is the disk full, or the reader gone? write to a file with -o",
                      .where = {}});
  }
  errno = 0;
  file_->close();
  if (!*file_ || ::rename(temporary_.c_str(), path_.c_str()) != 0) return fail(cannot_write(path_, errno));
  file_.reset();
  clear_unfinished_file();
  return {};
}

Result<Output> open_output(const std::string& name, std::string_view what, const Invocation& call,
                           Console& console) {
  COX_TRY(Output output,
          Output::open(name, call.has("force") ? IfExists::Replace : IfExists::Fail, console.out));
  if (call.common.json && !output.is_file())
    return fail(Error{.code = Errc::Usage,
                      .id = "cli-003",
                      .message = fmt::format("--json and the {} cannot both go to standard output", what),
                      .hint = fmt::format("write the {} to a file with -o", what),
                      .where = {}});
  return output;
}

}  // namespace cox::cli
