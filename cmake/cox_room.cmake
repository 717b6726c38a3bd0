# SPDX-License-Identifier: Apache-2.0
# GoogleTest's headers, compiled once for all tests of rooms: they are a third of what a test file takes. Nothing else is
# in there, so that every file still includes what it uses.
function(cox_test_headers target)
  if(COX_SANITIZE OR COX_TIDY OR NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  if(NOT TARGET cox_test_headers)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_headers.cpp CONTENT "int main() { return 0; }\n")
    add_executable(cox_test_headers ${PROJECT_BINARY_DIR}/test_headers.cpp)
    target_link_libraries(cox_test_headers PRIVATE cox_options GTest::gtest_main)
    target_compile_options(cox_test_headers PRIVATE ${COX_TEST_OPTIONS})
    target_precompile_headers(cox_test_headers PRIVATE <gtest/gtest.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM cox_test_headers)
endfunction()

# cox_room(<target> [ROOM <folder>] SOURCES ... HEADERS ... DEPENDS ... LINK ... TESTS ...)
# One room = one folder under src/ and include/cox/ = one library cox_<target> with alias cox::<target>.
# A room may hold a second target (trace_read beside trace); it then names its folder with ROOM.
# LINK lists third-party targets that stay private to the room. Paths are relative to the calling folder.
function(cox_room name)
  cmake_parse_arguments(ARG "" "ROOM" "SOURCES;HEADERS;DEPENDS;LINK;PUBLIC_LINK;TESTS;TEST_LINK" ${ARGN})
  if(NOT ARG_ROOM)
    set(ARG_ROOM ${name})
  endif()
  list(TRANSFORM ARG_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/cox/${ARG_ROOM}/)
  add_library(cox_${name} STATIC ${ARG_SOURCES})
  add_library(cox::${name} ALIAS cox_${name})
  set_target_properties(cox_${name} PROPERTIES EXPORT_NAME ${name} VERIFY_INTERFACE_HEADER_SETS ON)
  target_sources(cox_${name} PUBLIC FILE_SET HEADERS
                 BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${ARG_HEADERS})
  target_include_directories(cox_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(cox_${name} PUBLIC cxx_std_20)
  list(TRANSFORM ARG_DEPENDS PREPEND cox::)
  target_link_libraries(cox_${name} PUBLIC ${ARG_DEPENDS} ${ARG_PUBLIC_LINK}
                        PRIVATE $<BUILD_INTERFACE:cox_options> ${ARG_LINK})
  install(TARGETS cox_${name} EXPORT coxTargets FILE_SET HEADERS)
  if(BUILD_TESTING AND ARG_TESTS)
    add_executable(${name}_test ${ARG_TESTS})
    target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name}_test PRIVATE cox::${name} cox_options ${ARG_TEST_LINK} GTest::gtest_main)
    target_compile_options(${name}_test PRIVATE ${COX_TEST_OPTIONS})
    cox_test_headers(${name}_test)
    gtest_discover_tests(${name}_test TEST_PREFIX "unit/${name}/" DISCOVERY_TIMEOUT 60 PROPERTIES LABELS unit)
  endif()
endfunction()
