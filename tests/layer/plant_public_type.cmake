# SPDX-License-Identifier: Apache-2.0
# Proves that public_types.py can fail: types of their own room alone, beside those that others need.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
# Named by another room, through such a type, by one of its values, in a function that another room calls; the exception.
# Not needed: named in a comment, by a test and by its own room; in a function that nobody calls.
file(WRITE ${WORK}/include/cox/one/a.hpp [[
namespace cox::one {
struct Part { int x; };
struct Named {
  Part part;
};
enum Flag : int { kFlag };
struct Answer { int x; };
struct Forgotten final { int x; };
class Lost {};
Answer ask();
Lost lose();
struct ListedProcesses {};
}  // namespace cox::one
]])
file(WRITE ${WORK}/src/one/one.cpp "Forgotten f;\n")
file(WRITE ${WORK}/src/two/two.cpp "cox::one::Named n;  // Forgotten\nint x = kFlag;\nauto a = ask();\n")
file(WRITE ${WORK}/src/two/two_test.cpp "cox::one::Forgotten f;\n")
execute_process(COMMAND ${CHECK} ${WORK} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
file(REMOVE_RECURSE ${WORK})
if(code EQUAL 0)
  message(FATAL_ERROR "public types that no other room needs passed the check")
elseif(NOT text MATCHES "Forgotten is needed by no other room" OR NOT text MATCHES "Lost is needed by no other room"
       OR text MATCHES "Part|Named|Flag|Answer|ListedProcesses")
  message(FATAL_ERROR "the check failed for another reason:\n${text}")
endif()
