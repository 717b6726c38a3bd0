# SPDX-License-Identifier: Apache-2.0
# Included by CMakeLists.txt.
list(APPEND diagnose_sources operation_what_if.cpp operation_what_if_json.cpp operation_what_if_model.cpp
     operation_what_if_schedule.cpp operation_what_if_words.cpp)
list(APPEND diagnose_headers operation_what_if.hpp)
list(APPEND diagnose_tests operation_what_if_test.cpp)
