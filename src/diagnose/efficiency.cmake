# SPDX-License-Identifier: Apache-2.0
# Included by CMakeLists.txt.
list(APPEND diagnose_sources efficiency.cpp efficiency_json.cpp efficiency_useful.cpp efficiency_words.cpp
     ideal_network.cpp ideal_network_meetings.cpp ideal_network_messages.cpp ideal_network_plan.cpp)
list(APPEND diagnose_headers efficiency.hpp)
list(APPEND diagnose_tests efficiency_test.cpp ideal_network_test.cpp)
