# SPDX-License-Identifier: Apache-2.0
# What every engine shares: outcome, spread, the choice of an engine, jobs of collectives.
list(APPEND COX_SIMULATE_SOURCES collective_job.cpp operation_job.cpp outcome_json.cpp outcome_text.cpp run_from_steps.cpp simulate.cpp spread.cpp step_text.cpp)
list(APPEND COX_SIMULATE_HEADERS outcome.hpp render.hpp spread.hpp)
list(APPEND COX_SIMULATE_TESTS collective_job_test.cpp spread_test.cpp)
list(APPEND COX_SIMULATE_LINK nlohmann_json::nlohmann_json)
