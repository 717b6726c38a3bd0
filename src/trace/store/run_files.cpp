// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/run_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "trace/store/run_folder.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;

/// Whether a file below a host's folder is one that a process of that host left, whole or unfinished.
bool is_of_host(const fs::path& file, const std::string& host) {
  return file.filename().string().starts_with(host + '-') &&
         (file.extension() == kRawSuffix || file.extension() == kCompactSuffix ||
          file.filename().string().find(".cox.tmp-") != std::string::npos);
}

}  // namespace

std::string observer_mark(std::int64_t observer) {
  return ".by" + std::to_string(observer);
}

std::string own_host() {
  char name[64] = {};
  ::gethostname(name, sizeof name - 1);
  std::string host(name);
  std::replace(host.begin(), host.end(), '/', '_');
  return host;
}

bool is_host_folder(const fs::path& folder) {
  std::error_code ec;
  if (fs::symlink_status(folder, ec).type() != fs::file_type::directory) return false;
  const std::string host = folder.filename().string();
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec))
    if (is_of_host(it->path(), host)) return true;
  return false;
}

fs::path own_host_folder(const fs::path& dir) {
  std::error_code ec;
  const fs::path folder = dir / own_host();
  return fs::is_directory(folder, ec) ? folder : dir;
}

std::vector<fs::path> run_entries(const fs::path& dir) {
  std::error_code ignored;
  return run_entries(dir, ignored);
}

std::vector<fs::path> run_entries(const fs::path& dir, std::error_code& ec) {
  std::vector<fs::path> out;
  for (fs::directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec)) {
    std::error_code of_entry;
    if (!it->is_directory(of_entry) || !is_host_folder(it->path())) {
      out.push_back(it->path());
      continue;
    }
    std::error_code below;
    for (fs::directory_iterator file(it->path(), below), last; !below && file != last; file.increment(below))
      out.push_back(file->path());
  }
  return out;
}

}  // namespace cox::trace
