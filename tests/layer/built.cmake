# SPDX-License-Identifier: Apache-2.0
# cmake -DROOT=... -DBUILD=... -P built.cmake: every source of a room, and of the tests that need nothing but the tool, is
# compiled: on its own or as a part of a unit. What needs a library that may be absent is left out.
cmake_minimum_required(VERSION 3.25)
file(READ ${BUILD}/compile_commands.json compiled)
file(GLOB_RECURSE units ${BUILD}/*_cxx.cxx)  # CMake's shared units: one #include per source
list(FILTER units INCLUDE REGEX "/Unity/unity_")
foreach(unit ${units})
  file(READ ${unit} text)
  string(APPEND compiled "${text}")
endforeach()
file(GLOB_RECURSE sources ${ROOT}/src/*.cpp ${ROOT}/tests/property/*.cpp ${ROOT}/tests/golden/*.cpp
     ${ROOT}/tests/report/*.cpp ${ROOT}/tests/support/*.cpp)
list(FILTER sources EXCLUDE REGEX "/(src/guest/(gloo|mpi|preload|seam|torch)|src/bench/probe|tests/support/lab)/")
list(LENGTH sources count)
if(count EQUAL 0)
  message(FATAL_ERROR "no source found under ${ROOT}")
endif()
foreach(source ${sources})
  string(FIND "${compiled}" "${source}\"" at)
  if(at EQUAL -1)
    message(SEND_ERROR "${source} is compiled by no target")
  endif()
endforeach()
message(STATUS "${count} sources are compiled")
