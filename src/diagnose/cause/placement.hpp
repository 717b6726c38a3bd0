// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether late ranks are bound worse than the others: docs/concepts/causes.md.
#pragma once

#include <optional>
#include <span>

#include "cox/diagnose/cause.hpp"
#include "cox/diagnose/locality.hpp"

namespace cox::diagnose {

/// `FarFromDevice` where all of `late`, and of the others none that is not `named` too, are bound to NUMA nodes without a GPU,
/// or, between `several_hosts`, without a network port; `SharedCores` where that holds of being bound to cores of another bound
/// rank. That they are late by it is a conclusion: no time is measured. Nothing where it is not known of all of `late` and of
/// some rank that is not named where it may run; no answer on distance where a host of theirs does not say where its devices are.
///
/// `named`: all ranks that are late all along, `late` among them.
/// Cost:    linear in ranks times named ones.
/// Held by: src/diagnose/cause/placement_test.cpp
[[nodiscard]] std::optional<Binding> find_placement(std::span<const Rank> late, std::span<const Rank> named,
                                                    std::span<const NodeLocality> hosts, bool several_hosts);

}  // namespace cox::diagnose
