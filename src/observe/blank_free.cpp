// SPDX-License-Identifier: Apache-2.0
#include "observe/blank_free.hpp"

#include <fmt/format.h>

#include <system_error>

#include "cox/base/hash.hpp"

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

bool is_whole(const fs::path& path) {
  return path.native().find_first_of(": \t") == std::string::npos;
}

fs::path cache_of(const Environment& environment) {
  const auto value = [&](const char* name) {
    const auto at = environment.find(name);
    return at == environment.end() ? fs::path{} : fs::path(at->second);
  };
  if (fs::path cache = value("XDG_CACHE_HOME"); cache.is_absolute()) return cache;
  const fs::path home = value("HOME");
  return home.is_absolute() ? home / ".cache" : fs::path{};
}

/// The folder's link, made where it is not there yet; empty where it cannot be.
fs::path link_to(const fs::path& folder, const fs::path& cache) {
  std::error_code ec;
  fs::create_directories(cache / "cox", ec);
  Fnv1a hash;
  hash.add(folder.native());
  const fs::path link = cache / "cox" / fmt::format("guest-{:016x}", hash.identity());
  fs::create_directory_symlink(folder, link, ec);  // one that is there already is told by where it leads
  return fs::read_symlink(link, ec) == folder ? link : fs::path{};
}

}  // namespace

Result<fs::path> loadable(const fs::path& guest, const Environment& environment) {
  if (is_whole(guest)) return guest;
  const fs::path cache = cache_of(environment);
  if (!cache.empty() && is_whole(cache))
    if (const fs::path link = link_to(guest.parent_path(), cache); !link.empty())
      return link / guest.filename();
  return fail(Error{
      .code = Errc::Io,
      .id = "observe-002",
      .message = fmt::format("{} has a blank or a colon in it, at which the loader splits", guest.string()),
      .hint = "set XDG_CACHE_HOME to a writable folder without one, or install cox in another place",
      .where = std::nullopt});
}

}  // namespace cox::observe
