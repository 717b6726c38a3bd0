# SPDX-License-Identifier: Apache-2.0
# Proves that library_headers.py can fail: a use with its header, and one without.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/src/room/a.cpp "#include <fmt/ranges.h>\nauto a = fmt::join(x, y);\n")
file(WRITE ${WORK}/src/room/b.cpp "#include <fmt/format.h>\nauto b = fmt::join(x, y);\n")
execute_process(COMMAND ${CHECK} ${WORK} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
file(REMOVE_RECURSE ${WORK})
if(NOT code EQUAL 1 OR NOT text MATCHES "^src/room/b.cpp:2: fmt::join without #include <fmt/ranges.h>\n$")
  message(FATAL_ERROR "expected line 2 of b.cpp, got:\n${text}")
endif()
