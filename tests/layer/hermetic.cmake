# SPDX-License-Identifier: Apache-2.0
# Proves that the header check can fail: a header that leans on its includer builds, but not alone.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${ROOT}/tests/layer/hermetic -B ${WORK} -G ${GENERATOR}
                        -DCMAKE_CXX_COMPILER=${CXX} -DCOX_SOURCE=${ROOT} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK} --target cox_planted COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK} --target all_verify_interface_header_sets
                RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(code EQUAL 0)
  message(FATAL_ERROR "a header that does not compile alone passed the check")
elseif(NOT text MATCHES "planted\\.hpp" OR NOT text MATCHES "vector")
  message(FATAL_ERROR "the check failed for another reason:\n${text}")
endif()
file(REMOVE_RECURSE ${WORK})
