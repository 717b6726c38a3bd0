# SPDX-License-Identifier: Apache-2.0
set(COX_TOOL_HEADERS <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <limits> <map> <memory> <numeric>
    <optional> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>
    <fmt/format.h> <tl/expected.hpp>)

# g++ 12 warns falsely of libstdc++'s own strings, and tells them from ours no more where they were compiled before.
function(cox_false_warnings target)
  target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endfunction()

# The libraries' headers, compiled once for all rooms of the tool: parsing them took half of what a file takes. Nothing of
# our own is in there, and clang reads files without it (presets tidy and fuzz). What few
# files use stays out: each file that begins with these headers pays for their inline functions, 0.6 s for nlohmann/json.hpp
# and 3.6 s for CLI/CLI.hpp, whether it calls them or not.
function(cox_tool_headers target)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  if(NOT TARGET cox_tool_headers)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/tool_headers.cpp CONTENT "")
    add_library(cox_tool_headers STATIC ${PROJECT_BINARY_DIR}/tool_headers.cpp)
    target_link_libraries(cox_tool_headers PRIVATE cox_options tl::expected fmt::fmt)
    target_precompile_headers(cox_tool_headers PRIVATE ${COX_TOOL_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM cox_tool_headers)
  cox_false_warnings(${target})
endfunction()

# The same for tests of rooms, with GoogleTest's.
function(cox_test_headers target)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  if(NOT TARGET cox_test_headers)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cpp CONTENT "int main() { return 0; }\n")
    add_executable(cox_test_headers ${PROJECT_BINARY_DIR}/test_headers.cpp)
    target_link_libraries(cox_test_headers PRIVATE cox_options tl::expected fmt::fmt GTest::gtest_main)
    target_compile_options(cox_test_headers PRIVATE ${COX_TEST_OPTIONS})
    target_precompile_headers(cox_test_headers PRIVATE ${COX_TOOL_HEADERS} <gtest/gtest.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM cox_test_headers)
  cox_false_warnings(${target})
endfunction()

# Compiles several files of a target as one, where shared_units.py says that they may share: what they include is parsed,
# and what templates they use is made, once. For what is built from nothing and run (preset release); while one works on
# a file, its whole unit would be compiled with it.
function(cox_share_units target)
  if(NOT COX_SHARED_UNITS)
    return()
  endif()
  set(script ${PROJECT_SOURCE_DIR}/cmake/shared_units.py)
  execute_process(COMMAND ${script} 1500 ${ARGN} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
                  OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" lines "${lines}")
  foreach(line ${lines})
    string(REPLACE " " ";" line ${line})
    list(GET line 0 unit)
    list(GET line 1 source)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # to it, an anonymous namespace of an included file is that of a header
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script} ${ARGN})
endfunction()

# cox_files(<sources> <tests> FOLDER...): the C++ files of these folders of the calling one, tests apart. Every file of a
# folder is built, so none can be forgotten; files for one instruction set are named by who gives them their flags.
function(cox_files sources tests)
  set(all)
  foreach(folder ${ARGN})
    file(GLOB found CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
    if(NOT found)
      message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}/${folder} holds no source")
    endif()
    list(APPEND all ${found})
  endforeach()
  list(FILTER all EXCLUDE REGEX "_(baseline|avx2|avx512)\\.cpp$")
  set(units ${all})
  list(FILTER units EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER all INCLUDE REGEX "_test\\.cpp$")
  set(${sources} ${units} PARENT_SCOPE)
  set(${tests} ${all} PARENT_SCOPE)
endfunction()

# Every test of a program in four parts, each a process: a sanitized one takes 0.12 s to begin. What failed is named by the
# part's output. For tests that leave nothing behind in their process.
function(cox_tests_in_parts name)
  foreach(part RANGE 3)
    add_test(NAME unit/${name}/part_${part} COMMAND ${name}_test)
    set_tests_properties(unit/${name}/part_${part} PROPERTIES LABELS unit TIMEOUT 600
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=${part}")
  endforeach()
endfunction()

# Some suites of a program as one test each (several suites joined by `:` too), for they compute what is dear once per process; the others
# each test by itself.
function(cox_discover_tests name)
  set(others "")
  foreach(suites IN LISTS ARGN)
    string(REPLACE ":" ".*:" filter "${suites}.*")
    string(REGEX REPLACE ":.*" "" first "${suites}")
    string(APPEND others ":${filter}")
    add_test(NAME unit/${name}/${first} COMMAND ${name}_test "--gtest_filter=${filter}")
    set_tests_properties(unit/${name}/${first} PROPERTIES LABELS unit TIMEOUT 600 COST 100)
  endforeach()
  if(others)
    string(REGEX REPLACE "^:" "-" others "${others}")
    set(others TEST_FILTER "${others}")
  endif()
  gtest_discover_tests(${name}_test TEST_PREFIX "unit/${name}/" ${others} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS unit)
endfunction()

# cox_room(<target> [RUNS_ONCE] [SHARES_PROCESS] [ROOM <folder>] FOLDERS ... [SOURCES ...] HEADERS ... DEPENDS ... LINK ... OPTIONS ... TOGETHER ...)
# One room = one folder under src/ and include/cox/ = one library cox_<target> with alias cox::<target>.
# A room may hold a second target (trace_import beside trace_read); it then names its folder with ROOM.
# FOLDERS are its sub-rooms (`.`: the folder itself): every source in them is built, every *_test.cpp is a test.
# RUNS_ONCE: nothing in it is worth much optimising. SHARES_PROCESS: sanitized, its tests run in parts. TOGETHER: as
# cox_discover_tests. LINK lists third-party targets that stay private to the room. Paths are relative to the calling folder.
function(cox_room name)
  cmake_parse_arguments(ARG "RUNS_ONCE;SHARES_PROCESS" "ROOM" "FOLDERS;SOURCES;HEADERS;DEPENDS;LINK;PUBLIC_LINK;OPTIONS;TEST_LINK;TOGETHER" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cox_room(${name}): got '${ARG_UNPARSED_ARGUMENTS}', expected a keyword first")
  endif()
  if(NOT ARG_ROOM)
    set(ARG_ROOM ${name})
  endif()
  cox_files(sources tests ${ARG_FOLDERS})
  list(TRANSFORM ARG_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/cox/${ARG_ROOM}/)
  add_library(cox_${name} STATIC ${sources} ${ARG_SOURCES})
  add_library(cox::${name} ALIAS cox_${name})
  set_target_properties(cox_${name} PROPERTIES EXPORT_NAME ${name} VERIFY_INTERFACE_HEADER_SETS ON)
  target_sources(cox_${name} PUBLIC FILE_SET HEADERS
                 BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${ARG_HEADERS})
  target_include_directories(cox_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(cox_${name} PUBLIC cxx_std_20)
  target_compile_options(cox_${name} PRIVATE ${ARG_OPTIONS})
  if(ARG_RUNS_ONCE)
    target_compile_options(cox_${name} PRIVATE ${COX_RUNS_ONCE_OPTIONS})
  endif()
  if("fmt::fmt" IN_LIST ARG_LINK AND NOT ARG_OPTIONS)
    cox_tool_headers(cox_${name})
    cox_share_units(cox_${name} ${sources})
  endif()
  list(TRANSFORM ARG_DEPENDS PREPEND cox::)
  target_link_libraries(cox_${name} PUBLIC ${ARG_DEPENDS} ${ARG_PUBLIC_LINK}
                        PRIVATE $<BUILD_INTERFACE:cox_options> ${ARG_LINK})
  install(TARGETS cox_${name} EXPORT coxTargets FILE_SET HEADERS)
  if(BUILD_TESTING AND tests)
    add_executable(${name}_test ${tests})
    target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name}_test PRIVATE cox::${name} cox_options fmt::fmt ${ARG_TEST_LINK} GTest::gtest_main)
    target_compile_options(${name}_test PRIVATE ${COX_TEST_OPTIONS})
    cox_test_headers(${name}_test)
    cox_share_units(${name}_test ${tests})
    if(COX_SANITIZE AND ARG_SHARES_PROCESS)
      cox_tests_in_parts(${name})
    else()
      cox_discover_tests(${name} ${ARG_TOGETHER})
    endif()
  endif()
endfunction()
