# SPDX-License-Identifier: Apache-2.0
# Included by CMakeLists.txt.
list(APPEND diagnose_sources cause_rules.cpp device_why.cpp)
list(APPEND diagnose_headers)
list(APPEND diagnose_tests device_why_test.cpp)
