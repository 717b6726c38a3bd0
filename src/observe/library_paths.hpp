// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the loader, the shell and Python would find things, by looking at folders only.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cox::observe {

/// Search paths of a machine whose file system starts at `root`, each kind read when first asked for: every rank of
/// a job may make one of these. One thread at a time.
class LibraryPaths {
 public:
  LibraryPaths(std::filesystem::path root, const std::map<std::string, std::string>& environment);

  /// A shared library by soname: LD_LIBRARY_PATH, then the folders of ld.so.conf, then the built-in ones.
  [[nodiscard]] std::optional<std::filesystem::path> find_library(const std::string& soname) const;
  /// A program in PATH.
  [[nodiscard]] std::optional<std::filesystem::path> find_program(const std::string& name) const;
  /// The folder of a Python package: VIRTUAL_ENV, /usr/local, /usr.
  [[nodiscard]] std::optional<std::filesystem::path> find_python_package(const std::string& name) const;

 private:
  using Folders = std::vector<std::filesystem::path>;
  void read_conf(const std::filesystem::path& file, int depth, Folders& out) const;
  static void add_python(const std::filesystem::path& lib, Folders& out);
  [[nodiscard]] const Folders& libraries() const;
  [[nodiscard]] const Folders& python() const;
  [[nodiscard]] std::filesystem::path in_root(const std::filesystem::path& path) const;

  std::filesystem::path root_;
  std::string library_path_;  // LD_LIBRARY_PATH
  std::string venv_;
  Folders programs_;
  mutable std::optional<Folders> libraries_;
  mutable std::optional<Folders> python_;
};

}  // namespace cox::observe
