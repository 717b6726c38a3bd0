# SPDX-License-Identifier: Apache-2.0
# Compiles SOURCE with MACRO defined; passes where that fails with a message that matches EXPECTED.
cmake_minimum_required(VERSION 3.25)
set(ENV{LC_ALL} C)
separate_arguments(command UNIX_COMMAND "${COMPILE}")
execute_process(COMMAND ${command} -D${MACRO} ${SOURCE} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE text)
if(code EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles with ${MACRO}")
endif()
if(NOT text MATCHES "error: [^\n]*(${EXPECTED})")
  message(FATAL_ERROR "${MACRO} is refused, but not with an error that matches `${EXPECTED}`:\n${text}")
endif()
