// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tables of docs/accuracy.md that a program writes.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "cox/base/file.hpp"

namespace cox::test {

/// Compares what stands between the marks `<!-- NAME: written by tests/series -->` and `<!-- /NAME -->` with the table,
/// or writes it there. False, with a line on standard error, where it differs or cannot be written.
inline bool table_in_page(const char* path, const std::string& name, const std::string& table, bool write) {
  auto page = read_file(path, 1 << 20);
  if (!page) return std::fprintf(stderr, "%s\n", page.error().to_string().c_str()), false;
  const std::string mark = "<!-- " + name + ": written by tests/series -->\n";
  const std::size_t begin = page->find(mark);
  const std::size_t end = page->find("<!-- /" + name + " -->\n");
  if (begin == std::string::npos || end == std::string::npos)
    return std::fputs("no marks in the page\n", stderr), false;
  const std::size_t first = begin + mark.size();
  if (page->substr(first, end - first) == table) return true;
  if (!write)
    return std::fputs("docs/accuracy.md says something else: look at the difference, then --write\n", stderr),
           false;
  page->replace(first, end - first, table);
  const auto written = write_file_atomically(path, *page, IfExists::Replace);
  if (!written) std::fprintf(stderr, "%s\n", written.error().to_string().c_str());
  return written.has_value();
}

}  // namespace cox::test
