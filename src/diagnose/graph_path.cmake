# SPDX-License-Identifier: Apache-2.0
# Included by CMakeLists.txt.
list(APPEND diagnose_sources graph_path.cpp graph_path_json.cpp)
list(APPEND diagnose_headers)
list(APPEND diagnose_tests graph_path_test.cpp)
# What stands beside the tests of other rooms too: where the real traces are.
set_source_files_properties(graph_path_test.cpp PROPERTIES INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/tests)
