# SPDX-License-Identifier: Apache-2.0
# Sources and tests of one family of readers; included by CMakeLists.txt.
list(APPEND import_sources flight_recorder.cpp nccl.cpp step_table.cpp)
list(APPEND import_tests)
