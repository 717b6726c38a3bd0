# SPDX-License-Identifier: Apache-2.0
# Proves that public_headers.py can fail: a header of its own room alone, beside those that others use.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
# Used by another room; used through it; used by nobody; used by its own room, a test and a header that nobody uses.
file(WRITE ${WORK}/include/cox/one/used.hpp "#include \"cox/one/part.hpp\"\n")
file(WRITE ${WORK}/include/cox/one/part.hpp "int x;\n")
file(WRITE ${WORK}/include/cox/one/forgotten.hpp "#include \"cox/one/own.hpp\"\n")
file(WRITE ${WORK}/include/cox/one/own.hpp "int x;\n")
file(WRITE ${WORK}/src/one/one.cpp "#include \"cox/one/own.hpp\"\n")
file(WRITE ${WORK}/src/two/two.cpp "#  include <cox/one/used.hpp>\n")
file(WRITE ${WORK}/src/two/two_test.cpp "#include \"cox/one/own.hpp\"\n")
execute_process(COMMAND ${CHECK} ${WORK} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
file(REMOVE_RECURSE ${WORK})
if(code EQUAL 0)
  message(FATAL_ERROR "public headers that no other room includes passed the check")
elseif(NOT text MATCHES "one/forgotten.hpp: no other room" OR NOT text MATCHES "one/own.hpp: no other room"
       OR text MATCHES "used.hpp|part.hpp")
  message(FATAL_ERROR "the check failed for another reason:\n${text}")
endif()
