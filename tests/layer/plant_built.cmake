# SPDX-License-Identifier: Apache-2.0
# Proves that built.cmake can fail: one source that is compiled, one that is not, and one whose library is absent.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/src/room/known.cpp "")
file(WRITE ${WORK}/src/room/forgotten.cpp "")
file(WRITE ${WORK}/src/guest/mpi/forgotten.cpp "")
file(WRITE ${WORK}/src/guest/torch/unknown.cpp "")
file(WRITE ${WORK}/build/compile_commands.json "[{\"file\": \"${WORK}/src/room/known.cpp\"}]")
execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} -DBUILD=${WORK}/build -DABSENT=src/guest/torch/ -P ${CHECK}
                RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
file(REMOVE_RECURSE ${WORK})
if(code EQUAL 0)
  message(FATAL_ERROR "a source that nothing compiles passed the check")
elseif(NOT text MATCHES "room/forgotten\\.cpp" OR NOT text MATCHES "mpi/forgotten\\.cpp" OR text MATCHES "known\\.cpp")
  message(FATAL_ERROR "the check failed for another reason:\n${text}")
endif()
