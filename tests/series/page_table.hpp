// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tables of docs/accuracy.md that a program writes.
#pragma once

#include <cstdio>
#include <string>

#include "cox/base/file.hpp"

namespace cox::test {

/// Compares what stands between the marks `<!-- NAME: written by tests/series -->` and `<!-- /NAME -->` with the table,
/// or writes it there. False, with a line on standard error, where it differs or cannot be written.
inline bool table_in_page(const char* path, const std::string& name, const std::string& table, bool write) {
  const auto complain = [](const std::string& text) {
    std::fprintf(stderr, "%s\n", text.c_str());
    return false;
  };
  auto page = read_file(path, 1 << 20);
  if (!page) return complain(page.error().to_string());
  const std::string mark = "<!-- " + name + ": written by tests/series -->\n";
  const std::size_t begin = page->find(mark);
  const std::size_t end = page->find("<!-- /" + name + " -->\n");
  if (begin == std::string::npos || end == std::string::npos) return complain("no marks in the page");
  const std::size_t first = begin + mark.size();
  if (page->substr(first, end - first) == table) return true;
  if (!write) return complain("docs/accuracy.md says something else: look at the difference, then --write");
  page->replace(first, end - first, table);
  const auto written = write_file_atomically(path, *page, IfExists::Replace);
  return written || complain(written.error().to_string());
}

}  // namespace cox::test
