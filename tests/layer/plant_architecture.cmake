# SPDX-License-Identifier: Apache-2.0
# Proves that architecture.py can fail: rows that say more, less or something else than cmake/check_layers.cmake.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/change.cmake)

file(REMOVE_RECURSE ${WORK})
file(COPY ${ROOT}/src ${ROOT}/include ${ROOT}/ARCHITECTURE.md DESTINATION ${WORK})
file(COPY ${ROOT}/cmake/check_layers.cmake DESTINATION ${WORK}/cmake)
change(ARCHITECTURE.md "| model, replay, pace, simulate |" "| model, replay, pace, simulate, sync |")
change(ARCHITECTURE.md "| trace, simulate, diagnose, forecast |" "| simulate, diagnose, forecast |")
change(ARCHITECTURE.md "| all but replay, sync |" "| all but replay |")
change(ARCHITECTURE.md "| `learn` |" "| `lern` |")
change(ARCHITECTURE.md "| bench/pace | `worker` |" "| bench/pace | `workers` |")
change(ARCHITECTURE.md "| report | `forecast` |" "| report | forecast |")
change(cmake/check_layers.cmake "set(trace_may base model)" "set(trace_may base model pace)")
change(cmake/check_layers.cmake "set(bench/probe_may \"\")" "")
execute_process(COMMAND ${CHECK} ${WORK} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
file(REMOVE_RECURSE ${WORK})
if(code EQUAL 0)
  message(FATAL_ERROR "tables that are wrong passed the check")
endif()
foreach(told "the row of study says sync" "report may use trace, and its row does not say so" "the row of cli says sync" "no row for learn"
        "a row for lern, which is no room" "no row for the folder bench/pace/worker" "a row for bench/pace/workers"
        "no row for the folder report/forecast" "trace may use pace, and no file of it does" "trace may use pace, and its row"
        "a row for bench/probe, which has no line" "src/bench/probe: no line")
  if(NOT text MATCHES "${told}")
    message(SEND_ERROR "planted and not told: ${told}\n${text}")
  endif()
endforeach()
