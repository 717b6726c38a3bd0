# SPDX-License-Identifier: Apache-2.0
# Proves that check_layers.cmake can fail: plants one violation at a time in a copy of the tree.
cmake_minimum_required(VERSION 3.25)

function(check outcome output)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} -P ${CHECK} RESULT_VARIABLE code ERROR_VARIABLE text)
  set(${outcome} ${code} PARENT_SCOPE)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

# plant(<file> <content> <expected regex>): fails unless the check refuses exactly this.
function(plant file content expected)
  if(EXISTS ${WORK}/${file})
    message(FATAL_ERROR "${file} exists; plant elsewhere")
  endif()
  file(WRITE ${WORK}/${file} "${content}\n")
  check(code text)
  file(REMOVE ${WORK}/${file})
  string(REGEX REPLACE "[ \n]+" " " flat "${text}")
  if(code EQUAL 0)
    message(SEND_ERROR "${file} with `${content}` passed the layer check")
  elseif(NOT flat MATCHES "${expected}")
    message(SEND_ERROR "${file} failed, but the message does not match `${expected}`:\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(COPY ${ROOT}/src ${ROOT}/include DESTINATION ${WORK})
check(code text)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "the copy does not pass as it is:\n${text}")
endif()

plant(src/base/planted.cpp "#include \"cox/trace/run.hpp\"" "src/base/planted.cpp: base must not include trace")
plant(include/cox/pace/planted.hpp "#  include <cox/model/collective.hpp>" "pace must not include model")
plant(src/trace/planted.hpp "#include \"observe/planted.hpp\"" "trace must not include observe")
plant(src/evaluate/planted.cpp "#include \"cox/diagnose/diagnosis.hpp\"" "evaluate must not include diagnose")
plant(src/study/file/planted.cpp "#include \"cox/evaluate/pacing.hpp\"" "study must not include evaluate")
plant(src/diagnose/planted_test.cpp "  #include \"cox/report/report.hpp\"" "diagnose must not include report")
plant(include/cox/abi/planted.h "#include \"cox/base/units.hpp\"" "abi must not include base")
plant(src/elsewhere/planted.cpp "int x" "src/elsewhere: no such room")
file(REMOVE_RECURSE ${WORK}/src/elsewhere)
plant(src/base/utils.hpp "int x" "`utils` names no responsibility")
plant(src/report/html_helpers/planted.hpp "int x" "`helpers` names no responsibility")
file(REMOVE_RECURSE ${WORK}/src/report/html_helpers)
plant(src/guest/preload/planted.cpp "#include <fmt/format.h>" "must not include fmt/format.h: guests need libc only")
plant(src/guest/writer/planted.cpp "#include <zstd.h>" "must not include zstd.h: guests need libc only")
# Reached through a header of our own.
plant(src/guest/preload/planted.cpp "#include \"cox/base/result.hpp\""
      "include/cox/base/result.hpp: the guest src/guest/preload/planted.cpp must not include tl/expected.hpp")
# One for every folder of a parted room: each is refused something that it must not see. All are planted at once, and each
# must be told.
set(pairs
    cli/frame:cli/output cli/output:cli/input cli/input:cli/verbs cli/verbs:cli/command_table.hpp
    diagnose/words:diagnose/naming diagnose/match:diagnose/words diagnose/naming:diagnose/cause
    diagnose/cause:diagnose/verdict diagnose/charge:diagnose/naming diagnose/what_if:diagnose/charge
    diagnose/operations:diagnose/verdict diagnose/efficiency:diagnose/fabric diagnose/fabric:diagnose/efficiency
    diagnose/over_time:diagnose/stall diagnose/stall:diagnose/verdict diagnose/pacing:diagnose/verdict
    guest/seam:guest/pacing guest/writer:guest/seam guest/pacing:guest/preload guest/preload:guest/mpi
    guest/mpi:guest/gloo guest/gloo:guest/torch guest/torch:guest/mpi
    simulate/kernels:simulate/noise simulate/noise:simulate/max_plus simulate/max_plus:simulate/flow
    simulate/flow:simulate/event simulate/event:simulate/record simulate/record:simulate/answer
    simulate/collective:simulate/training simulate/training:simulate/paced simulate/paced:simulate/answer
    simulate/answer:simulate/sweep simulate/sweep:simulate/training
    study/file:study/answer study/oracle:study/compute study/answer:study/page study/page:study/answer
    study/pacing_table:study/compute study/compute:study/pacing study/pacing:study/pacing_table
    trace/clocks:trace/raw trace/raw:trace/store trace/store:trace/run trace/run:trace/import
    trace/import/bytes:trace/import/part trace/import/part:trace/import/mpi trace/import/mpi:trace/import/kineto
    trace/import/paraver:trace/import/mpi trace/import/kineto:trace/import/nccl trace/import/nccl:trace/import/tables
    trace/import/graphs:trace/import/nccl trace/import/tables:trace/import/graphs)
foreach(pair ${pairs})
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 from)
  list(GET pair 1 to)
  if(NOT to MATCHES "hpp$")
    string(APPEND to /planted.hpp)
  endif()
  file(WRITE ${WORK}/src/${from}/planted.cpp "#include \"${to}\"\n")
endforeach()
check(code text)
string(REGEX REPLACE "[ \n]+" " " flat "${text}")
foreach(pair ${pairs})
  string(REGEX REPLACE ":.*" "" from ${pair})
  file(REMOVE ${WORK}/src/${from}/planted.cpp)
  if(NOT flat MATCHES "src/${from}/planted.cpp: ${from} must not include")
    message(SEND_ERROR "a planted include of ${pair} passed the layer check:\n${text}")
  endif()
endforeach()
plant(src/diagnose/elsewhere/planted.cpp "int x" "diagnose/elsewhere has no line")
# Public headers belong to folders too: used from below, using what is above, and in no folder at all.
plant(src/diagnose/match/planted.cpp "#include \"cox/diagnose/finding.hpp\""
      "src/diagnose/match/planted.cpp: diagnose/match must not include diagnose/result")
plant(src/diagnose/stall/planted.hpp "#include <cox/diagnose/diagnosis.hpp>"
      "diagnose/stall must not include diagnose/result")
plant(include/cox/diagnose/planted.hpp "int x" "include/cox/diagnose/planted.hpp: in no folder of diagnose")
# The folder that a header lies in by its table is held to what that folder may see.
file(READ ${WORK}/include/cox/diagnose/account.hpp account)
file(APPEND ${WORK}/include/cox/diagnose/account.hpp "#include \"cox/diagnose/stall.hpp\"\n")
check(code text)
string(REGEX REPLACE "[ \n]+" " " flat "${text}")
if(code EQUAL 0 OR NOT flat MATCHES "account.hpp: diagnose/match must not include diagnose/stall")
  message(SEND_ERROR "a public header of diagnose/match that includes one of diagnose/stall passed:\n${text}")
endif()
file(WRITE ${WORK}/include/cox/diagnose/account.hpp "${account}")
file(REMOVE_RECURSE ${WORK})
