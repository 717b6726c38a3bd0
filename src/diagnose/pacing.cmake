# SPDX-License-Identifier: Apache-2.0
# Included by CMakeLists.txt.
list(APPEND diagnose_sources pace_facts.cpp pacing.cpp pacing_compare.cpp pacing_iterations.cpp pacing_json.cpp pacing_replay.cpp pacing_transfer.cpp pacing_words.cpp)
list(APPEND diagnose_headers pacing.hpp)
list(APPEND diagnose_tests pace_facts_test.cpp pacing_test.cpp)
