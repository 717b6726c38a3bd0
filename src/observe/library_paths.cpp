// SPDX-License-Identifier: Apache-2.0
#include "observe/library_paths.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

namespace cox::observe {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepestInclude = 4;  // ld.so.conf files may include each other in a ring

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

std::string value_of(const std::map<std::string, std::string>& environment, const char* name) {
  const auto at = environment.find(name);
  return at == environment.end() ? std::string{} : at->second;
}

std::optional<fs::path> first_with(const std::vector<fs::path>& dirs, const std::string& name) {
  std::error_code ec;
  for (const fs::path& dir : dirs)
    if (fs::exists(dir / name, ec)) return dir / name;
  return std::nullopt;
}

std::vector<fs::path> sorted_entries(const fs::path& dir) {
  std::error_code ec;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(dir, ec), end; !ec && it != end; it.increment(ec))
    entries.push_back(it->path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace

LibraryPaths::LibraryPaths(fs::path root, const std::map<std::string, std::string>& environment)
    : root_(std::move(root)),
      library_path_(value_of(environment, "LD_LIBRARY_PATH")),
      venv_(value_of(environment, "VIRTUAL_ENV")) {
  for (const std::string& dir : split(value_of(environment, "PATH"), ':')) programs_.push_back(in_root(dir));
}

const LibraryPaths::Folders& LibraryPaths::libraries() const {
  if (libraries_) return *libraries_;
  Folders& out = libraries_.emplace();
  for (const std::string& dir : split(library_path_, ':')) out.push_back(in_root(dir));
  read_conf(in_root("/etc/ld.so.conf"), 0, out);
  for (const char* dir :
       {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"})
    out.push_back(in_root(dir));
  return out;
}

const LibraryPaths::Folders& LibraryPaths::python() const {
  if (python_) return *python_;
  Folders& out = python_.emplace();
  if (!venv_.empty()) add_python(in_root(venv_) / "lib", out);
  add_python(in_root("/usr/local/lib"), out);
  add_python(in_root("/usr/lib"), out);
  return out;
}

fs::path LibraryPaths::in_root(const fs::path& path) const {
  return root_ / path.relative_path();
}

void LibraryPaths::read_conf(const fs::path& file, int depth, Folders& out) const {
  if (depth > kDeepestInclude) return;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    std::string first;
    if (!(words >> first)) continue;
    if (first != "include") {
      out.push_back(in_root(first));
      continue;
    }
    std::string pattern;
    words >> pattern;
    const fs::path wanted(pattern);
    // Only the one form that distributions use: all files of a folder with one suffix.
    if (!wanted.is_absolute() || wanted.filename().string().substr(0, 1) != "*") continue;
    for (const fs::path& entry : sorted_entries(in_root(wanted.parent_path())))
      if (entry.extension() == wanted.extension()) read_conf(entry, depth + 1, out);
  }
}

void LibraryPaths::add_python(const fs::path& lib, Folders& out) {
  for (const fs::path& entry : sorted_entries(lib))
    if (entry.filename().string().rfind("python3", 0) == 0) {
      out.push_back(entry / "dist-packages");
      out.push_back(entry / "site-packages");
    }
}

std::optional<fs::path> LibraryPaths::find_library(const std::string& soname) const {
  return first_with(libraries(), soname);
}

std::optional<fs::path> LibraryPaths::find_program(const std::string& name) const {
  return first_with(programs_, name);
}

std::optional<fs::path> LibraryPaths::find_python_package(const std::string& name) const {
  std::error_code ec;
  for (const fs::path& dir : python())
    if (fs::is_directory(dir / name, ec)) return dir / name;
  return std::nullopt;
}

}  // namespace cox::observe
