# SPDX-License-Identifier: Apache-2.0
list(APPEND COX_SIMULATE_SOURCES event_engine.cpp goal.cpp goal_blocked.cpp goal_image.cpp goal_reader.cpp
     loggops_costs.cpp message_matcher.cpp operation_replay.cpp shared_resource.cpp)
list(APPEND COX_SIMULATE_HEADERS event.hpp goal.hpp operation_replay.hpp)
list(APPEND COX_SIMULATE_TESTS event_engine_test.cpp goal_golden_test.cpp goal_image_test.cpp goal_reader_test.cpp
     message_matcher_test.cpp operation_replay_test.cpp shared_resource_test.cpp)
set_source_files_properties(goal_golden_test.cpp PROPERTIES
                            COMPILE_DEFINITIONS COX_GOAL_DATA="${PROJECT_SOURCE_DIR}/tests/data/goal")
