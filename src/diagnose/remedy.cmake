# SPDX-License-Identifier: Apache-2.0
# Included by CMakeLists.txt.
list(APPEND diagnose_sources comparison.cpp few_operations.cpp remedy.cpp)
list(APPEND diagnose_headers comparison.hpp remedy.hpp)
list(APPEND diagnose_tests comparison_test.cpp few_operations_test.cpp remedy_test.cpp)
