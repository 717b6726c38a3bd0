# SPDX-License-Identifier: Apache-2.0
# cmake -DROOT=... -DBUILD=... [-DABSENT=<folder or file>,...] -P built.cmake: every source of a room, and of the tests that
# need nothing but the tool, is compiled: on its own or as a part of a unit. ABSENT is what needs a library that is not here.
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
list(FILTER sources EXCLUDE REGEX "/tests/support/lab/")
string(REPLACE "," ";" absent "${ABSENT}")
foreach(path ${absent})
  list(FILTER sources EXCLUDE REGEX "/${path}")
endforeach()
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
