# SPDX-License-Identifier: Apache-2.0
# Included by CMakeLists.txt.
list(APPEND diagnose_sources what_if.cpp what_if_interval.cpp what_if_json.cpp what_if_path.cpp what_if_peers.cpp
     what_if_questions.cpp what_if_recording.cpp what_if_words.cpp)
list(APPEND diagnose_headers what_if.hpp)
list(APPEND diagnose_tests what_if_test.cpp what_if_peers_test.cpp)
