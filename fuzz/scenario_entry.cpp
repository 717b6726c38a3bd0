// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "cox/base/assert.hpp"
#include "cox/model/toml.hpp"

#include "fuzz/entries.hpp"

namespace cox::fuzz {

void scenario(std::string_view bytes) {
  const auto read = model::parse_scenario(bytes, "fuzz.toml", "");
  if (!read) {
    const Error& error = read.error();
    COX_ASSERT(error.id.starts_with("scenario-00"), "a bad scenario has its own errors");
    COX_ASSERT(error.code == Errc::InvalidInput, "and exit code 3");
    COX_ASSERT(error.message.size() < 2000, "a message is a line");
    for (const char c : error.message) COX_ASSERT(c >= ' ' || c < 0, "that a terminal can show");
    return;
  }
  COX_ASSERT(!model::explain_text(read->explained).empty(), "every value is explained");
  const model::Cluster& cluster = read->scenario.cluster;
  COX_ASSERT(cluster.ranks() >= 1 && cluster.ranks() <= 1 << 21, "ranks are within their limit");
  const std::string text = model::scenario_toml(read->scenario);
  const auto again = model::parse_scenario(text, "fuzz.toml", "");
  COX_ASSERT(again.has_value(), "what was read can be written and read again");
  COX_ASSERT(model::scenario_toml(again->scenario) == text, "and is the same");
}

}  // namespace cox::fuzz
