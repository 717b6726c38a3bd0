// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which links a message takes, where routing picks its path once and for all.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/model/scenario.hpp"
#include "cox/simulate/network.hpp"

namespace cox::simulate {

/// The links that messages from one rank to another take under static or ECMP routing (asserted), which pick
/// a path per pair once and for all; clears `out`.
void fixed_route(const Network& network, const model::Fabric& fabric, std::uint64_t seed, int from, int to,
                 std::vector<LinkIndex>& out);

}  // namespace cox::simulate
