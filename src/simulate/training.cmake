# SPDX-License-Identifier: Apache-2.0
# Training steps: pipelines, the step itself, policies other than synchronous, failures, comparison.
list(APPEND COX_SIMULATE_SOURCES pipeline.cpp)
list(APPEND COX_SIMULATE_HEADERS training.hpp)
list(APPEND COX_SIMULATE_TESTS pipeline_test.cpp)
