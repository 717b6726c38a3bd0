# SPDX-License-Identifier: Apache-2.0
# Proves that prefetch.py can fail: a bare builtin, and a cox::prefetch that is no more than that.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/src/room/a.cpp "void f(const int* p) {\n  __builtin_prefetch(p);\n}\n")
file(WRITE ${WORK}/include/cox/base/prefetch.hpp "namespace cox {\ninline void prefetch(const void*) {}\n}\n")
execute_process(COMMAND ${CHECK} ${WORK} ${CXX} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
file(REMOVE_RECURSE ${WORK})
if(NOT code EQUAL 1 OR NOT text MATCHES "src/room/a.cpp:2: use cox::prefetch" OR NOT text MATCHES "is not called")
  message(FATAL_ERROR "expected both, got:\n${text}")
endif()
