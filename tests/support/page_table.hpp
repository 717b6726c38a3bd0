// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tables of docs/accuracy.md that a program writes.
#pragma once

#include <cstdio>
#include <string>

#include "cox/base/file.hpp"

namespace cox::test {

/// A table's place in a page: between the marks `<!-- NAME: written by FOLDER -->` and `<!-- /NAME -->`.
struct PagePlace {
  const char* page;
  std::string name{};
  std::string folder{};
};

/// Compares what stands there with the table, or writes it. False, with a line on standard error, where it differs or
/// cannot be written.
inline bool table_in_page(const PagePlace& place, const std::string& table, bool write) {
  const auto complain = [](const std::string& text) {
    std::fprintf(stderr, "%s\n", text.c_str());
    return false;
  };
  auto page = read_file(place.page, 1 << 20);
  if (!page) return complain(page.error().to_string());
  const std::string mark = "<!-- " + place.name + ": written by " + place.folder + " -->\n";
  const std::size_t begin = page->find(mark);
  const std::size_t end = page->find("<!-- /" + place.name + " -->\n");
  if (begin == std::string::npos || end == std::string::npos || end < begin)
    return complain("no marks in the page");
  const std::size_t first = begin + mark.size();
  if (page->substr(first, end - first) == table) return true;
  if (!write) return complain("docs/accuracy.md says something else: look at the difference, then --write");
  page->replace(first, end - first, table);
  const auto written = write_file_atomically(place.page, *page, IfExists::Replace);
  return written || complain(written.error().to_string());
}

}  // namespace cox::test
