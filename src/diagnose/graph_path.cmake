# SPDX-License-Identifier: Apache-2.0
# Included by CMakeLists.txt.
list(APPEND diagnose_sources graph_path.cpp graph_path_json.cpp graph_path_words.cpp)
list(APPEND diagnose_headers graph_path.hpp)
list(APPEND diagnose_tests graph_path_test.cpp)
