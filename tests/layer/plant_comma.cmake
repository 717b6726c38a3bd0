# SPDX-License-Identifier: Apache-2.0
# Proves that no_comma.py can fail: joined statements of each kind, beside commas that join none.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/src/room/a.cpp [[
int f(int a, int b) {
  int x = 1, y = 2;
  for (int i = 0, j = 1; i < 3; ++i, ++j) x += i;
  const std::pair<int, int> p{x, y};  // return x, y;
  log("return x, y;", p);
  if (a < b) return first(a, b);
  if (a < b) x = 1, y = 2;
  if (x) return ++y, x;
  while (x)
    ++x, ++y;
  return std::max(x, y);
}
]])
execute_process(COMMAND ${CHECK} ${WORK} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
file(REMOVE_RECURSE ${WORK})
string(REGEX MATCHALL "a.cpp:[0-9]+:" told "${text}")
if(NOT code EQUAL 1 OR NOT told STREQUAL "a.cpp:7:;a.cpp:8:;a.cpp:9:")
  message(FATAL_ERROR "expected lines 7, 8 and 9, got:\n${text}")
endif()
