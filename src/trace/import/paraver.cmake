# SPDX-License-Identifier: Apache-2.0
# Sources and tests of one family of readers; included by CMakeLists.txt.
list(APPEND import_sources paraver.cpp paraver_header.cpp paraver_names.cpp paraver_text.cpp paraver_tracks.cpp)
list(APPEND import_tests paraver_test.cpp)
