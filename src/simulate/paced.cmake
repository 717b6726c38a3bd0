# SPDX-License-Identifier: Apache-2.0
# Bulk-synchronous jobs with pacing. No fused multiply-add: the bits are the same everywhere.
set(COX_PACED_SOURCES core_queue.cpp paced.cpp paced_iteration.cpp paced_job.cpp paced_json.cpp)
set_source_files_properties(${COX_PACED_SOURCES} shared_resource.cpp PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
list(APPEND COX_SIMULATE_SOURCES ${COX_PACED_SOURCES})
list(APPEND COX_SIMULATE_HEADERS paced.hpp paced_summary.hpp)
list(APPEND COX_SIMULATE_TESTS core_queue_test.cpp paced_job_test.cpp paced_page_test.cpp
     paced_test.cpp)
set_source_files_properties(paced_page_test.cpp PROPERTIES
                            COMPILE_DEFINITIONS COX_PACED_PAGE="${PROJECT_SOURCE_DIR}/docs/concepts/pacing-simulated.md")
