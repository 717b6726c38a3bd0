// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cox/model/closed_form.hpp"

namespace cox::model {
namespace {

TEST(CollectivesPage, HoldsTheGeneratedTable) {
  std::ifstream in(COX_COLLECTIVES_PAGE);
  std::stringstream page;
  page << in.rdbuf();
  EXPECT_NE(page.str().find("begin -->\n" + collectives_table() + "<!--"), std::string::npos)
      << "docs/reference/collectives.md should hold, between its marks:\n"
      << collectives_table();
}

}  // namespace
}  // namespace cox::model
