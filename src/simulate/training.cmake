# SPDX-License-Identifier: Apache-2.0
# Training steps: pipelines, the step itself, policies other than synchronous, failures, comparison.
list(APPEND COX_SIMULATE_SOURCES pipeline.cpp failures.cpp training.cpp training_path.cpp training_plan.cpp
     training_policy.cpp training_program.cpp training_record.cpp training_step.cpp)
list(APPEND COX_SIMULATE_HEADERS training.hpp)
list(APPEND COX_SIMULATE_TESTS pipeline_test.cpp failures_test.cpp training_test.cpp training_policy_test.cpp
     training_record_test.cpp)
