# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# cmake -DCOX=... -DROOT=... -P check_learn_reference.cmake: the page names every key of cox.learn/1.
file(READ ${ROOT}/docs/reference/learn-json.md page)
execute_process(COMMAND ${COX} learn ${ROOT}/examples/scenarios/learn-uneven.toml --policies "synchronous asynchronous" --seeds 2 --json -q
                OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\"[a-z0-9_]+\":" keys "${printed}")
list(REMOVE_DUPLICATES keys)
list(LENGTH keys count)
if(count LESS 30)
  message(SEND_ERROR "${count} keys, expected a document")
endif()
foreach(key ${keys})
  string(REGEX REPLACE "[\":]" "" key "${key}")
  if(NOT page MATCHES "`${key}(\\[\\])?`")
    message(SEND_ERROR "docs/reference/learn-json.md does not name `${key}`")
  endif()
endforeach()
