// SPDX-License-Identifier: Apache-2.0
/// \file
/// Servers with a shard each: what they had to do, on the screen and as JSON.
#pragma once

#include <vector>

#include "cox/base/json.hpp"
#include "cox/base/text_line.hpp"

#include "learn/answer/comparison.hpp"

namespace cox::learn {

/// A table for each way that has such servers: those of one way in their order, of more than eight the busiest ones.
void add_servers(const Comparison& c, std::vector<TextLine>& lines);
/// A line where one server sets the pace of all workers.
void add_pace_of_servers(const WayResult& w, std::vector<TextLine>& lines);
/// Whether a server of some run is gone for good.
[[nodiscard]] bool unserved(const WayResult& w);
/// A line where a server died: which one, when, and what came of it.
void add_death(const WayResult& w, std::vector<TextLine>& lines);
[[nodiscard]] Json json_of(const std::vector<ServerResult>& servers);
[[nodiscard]] Json json_of(const ServerDeath& death);

}  // namespace cox::learn
