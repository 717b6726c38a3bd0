# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# cmake -DCOX=... -DPAGES=docs/studies -DMADE=<scratch> -P check_studies.cmake: docs/studies is what the program makes,
# and so is what README and the page on pacing claim of the measurement.
file(REMOVE_RECURSE ${MADE})
execute_process(COMMAND ${COX} study all --quiet -o ${MADE} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB made RELATIVE ${MADE} ${MADE}/*)
file(GLOB kept RELATIVE ${PAGES} ${PAGES}/*)
list(FILTER kept EXCLUDE REGEX "^pacing[.]")  # measured: see below
list(FILTER kept EXCLUDE REGEX "^coverage[.]")  # of no study: coverage_test.py
list(LENGTH made count)
if(count LESS 30)
  message(FATAL_ERROR "only ${count} files were made: the comparison is broken")
endif()
if(NOT "${made}" STREQUAL "${kept}")
  message(FATAL_ERROR "made: ${made}\nkept: ${kept}\nmake them anew: cox study all -o docs/studies --force")
endif()
foreach(name IN LISTS made)
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${MADE}/${name} ${PAGES}/${name} RESULT_VARIABLE differs)
  if(differs)
    message(SEND_ERROR "docs/studies/${name} is not what the program says; make it anew: cox study all -o docs/studies --force")
  endif()
endforeach()
# The page on pacing is made from what was measured once.
if(EXISTS ${PAGES}/pacing.json)
  execute_process(COMMAND ${COX} study pacing --from ${PAGES}/pacing.json -o ${MADE} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  foreach(name pacing.md pacing.svg)
    if(NOT EXISTS ${MADE}/${name} AND NOT EXISTS ${PAGES}/${name})
      continue()  # no size was measured
    endif()
    execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${MADE}/${name} ${PAGES}/${name} RESULT_VARIABLE differs)
    if(differs)
      message(SEND_ERROR "docs/studies/${name} is not what the program makes of pacing.json; make it anew: cox study pacing "
                         "--from docs/studies/pacing.json -o docs/studies --force")
    endif()
  endforeach()
  cmake_path(GET PAGES PARENT_PATH docs)
  cmake_path(GET docs PARENT_PATH root)
  foreach(page README.md docs/concepts/pacing.md)
    file(COPY ${root}/${page} DESTINATION ${MADE}/claims)
    cmake_path(GET page FILENAME name)
    execute_process(COMMAND ${COX} study pacing --from ${PAGES}/pacing.json --into ${MADE}/claims/${name} OUTPUT_QUIET
                    COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${MADE}/claims/${name} ${root}/${page} RESULT_VARIABLE differs)
    if(differs)
      message(SEND_ERROR "${page} claims something else than pacing.json says; make it anew: cox study pacing "
                         "--from docs/studies/pacing.json --into ${page}")
    endif()
  endforeach()
endif()
