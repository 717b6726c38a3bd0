# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# cmake -DCOX=... -DROOT=... -P check_learn_reference.cmake: the pages name every key of cox.learn/1, cox.learn-map/1,
# cox.learn-replay/1 and cox.train/1.
function(check page least printed)
  file(READ ${ROOT}/docs/reference/${page} text)
  string(REGEX MATCHALL "\"[a-z0-9_]+\":" keys "${printed}")
  list(REMOVE_DUPLICATES keys)
  list(LENGTH keys count)
  if(count LESS least)
    message(SEND_ERROR "${count} keys, expected a document")
  endif()
  foreach(key ${keys})
    string(REGEX REPLACE "[\":]" "" key "${key}")
    if(NOT text MATCHES "`${key}(\\[\\])?`")
      message(SEND_ERROR "docs/reference/${page} does not name `${key}`")
    endif()
  endforeach()
endfunction()

execute_process(COMMAND ${COX} learn ${ROOT}/examples/scenarios/learn-uneven.toml --policies "synchronous+fp16,dynamic=yes asynchronous gossip-torus gossip-asynchronous sharded-asynchronous,standby=synchronous,dies=0.1" --seeds 2 --json -q
                OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
check(learn-json.md 30 "${printed}")
execute_process(COMMAND ${COX} learn ${ROOT}/examples/scenarios/learn-uneven.toml --map --communication 1 --speeds 0,0.3
                        --policies "synchronous local-sgd,local-steps=4" --seeds 2 --json -q
                OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
check(learn-json.md 40 "${printed}")
execute_process(COMMAND ${COX} learn ${ROOT}/fuzz/corpus/updates/two.csv --policies local-sgd,local-steps=4 --json
                OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
check(updates-csv.md 20 "${printed}")
execute_process(COMMAND ${COX} train ${ROOT}/examples/scenarios/learn-uneven.toml --procs 2 --steps 3 --json
                OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
check(train-json.md 20 "${printed}")
