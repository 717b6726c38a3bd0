# SPDX-License-Identifier: Apache-2.0
# Proves that one_type_per_name.py can fail: a name for two types, beside a declaration and a namesake elsewhere, and
# a word for public types of two rooms, beside a room's private one.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/include/cox/room/a.hpp "namespace cox::room {\nstruct Part {\n};\nstruct Whole;\nstruct Same {\n};\nclass Word {\n};\n}  // namespace cox::room\n")
file(WRITE ${WORK}/include/cox/other/d.hpp "namespace cox::other {\nstruct Word {\n};\n}  // namespace cox::other\n")
file(WRITE ${WORK}/src/other/e.hpp "namespace cox::other {\nstruct Same {\n};\n}  // namespace cox::other\n")
file(WRITE ${WORK}/src/room/b.hpp "namespace cox::room {\nenum class Part : int { Half };\nstruct Whole {\n};\n}  // namespace cox::room\n")
file(WRITE ${WORK}/src/room/c.hpp "namespace cox::room {\nnamespace detail {\nstruct Same {\n};\n}  // namespace detail\n}  // namespace cox::room\n")
execute_process(COMMAND ${CHECK} ${WORK} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
file(REMOVE_RECURSE ${WORK})
if(code EQUAL 0)
  message(FATAL_ERROR "two types of one name passed the check")
elseif(NOT text MATCHES "cox::room::Part is defined" OR NOT text MATCHES "the word Word is defined" OR text MATCHES "Whole|Same")
  message(FATAL_ERROR "the check failed for another reason:\n${text}")
endif()
