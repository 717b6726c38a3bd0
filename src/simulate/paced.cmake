# SPDX-License-Identifier: Apache-2.0
# Bulk-synchronous jobs with pacing. No fused multiply-add: the bits are the same everywhere.
set(COX_PACED_SOURCES paced.cpp paced_iteration.cpp paced_job.cpp paced_json.cpp)
set_source_files_properties(${COX_PACED_SOURCES} shared_resource.cpp PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
list(APPEND COX_SIMULATE_SOURCES ${COX_PACED_SOURCES})
list(APPEND COX_SIMULATE_HEADERS paced.hpp)
list(APPEND COX_SIMULATE_TESTS paced_job_test.cpp paced_test.cpp)
