# SPDX-License-Identifier: Apache-2.0
# What every engine shares: outcome, spread, the choice of an engine.
list(APPEND COX_SIMULATE_SOURCES spread.cpp)
list(APPEND COX_SIMULATE_HEADERS outcome.hpp spread.hpp)
list(APPEND COX_SIMULATE_TESTS spread_test.cpp)
