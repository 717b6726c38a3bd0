# SPDX-License-Identifier: Apache-2.0
# Proves that check_layers.cmake can fail: in a copy of the tree, one violation of each kind; each must be told, by its place.
cmake_minimum_required(VERSION 3.25)

function(check outcome output)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${WORK} -P ${CHECK} RESULT_VARIABLE code ERROR_VARIABLE text)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  set(${outcome} ${code} PARENT_SCOPE)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

# plant(<file> <content> <expected>): what is told of it must match `<file>: ... <expected>`, or `<expected>` where that names
# a place itself. All are planted before the one check.
set(wanted)
macro(plant file content expected)
  if(EXISTS ${WORK}/${file})
    message(FATAL_ERROR "${file} exists; plant elsewhere")
  endif()
  file(WRITE ${WORK}/${file} "${content}\n")
  if("${expected}" MATCHES "/")
    list(APPEND wanted "${expected}")
  else()
    list(APPEND wanted "${file}: ${expected}")
  endif()
endmacro()

file(REMOVE_RECURSE ${WORK})
file(COPY ${ROOT}/src ${ROOT}/include DESTINATION ${WORK})
check(code text)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "the copy does not pass as it is:\n${text}")
endif()

plant(src/base/planted.cpp "#include \"cox/trace/run.hpp\"" "base must not include trace")
plant(include/cox/pace/planted.hpp "#  include <cox/model/collective.hpp>" "pace must not include model")
plant(src/trace/planted.hpp "#include \"observe/planted.hpp\"" "trace must not include observe")
plant(src/evaluate/planted.cpp "#include \"cox/diagnose/diagnosis.hpp\"" "evaluate must not include diagnose")
plant(src/study/file/planted_above.cpp "#include \"cox/evaluate/pacing.hpp\"" "study must not include evaluate")
plant(src/diagnose/planted_test.cpp "  #include \"cox/report/report.hpp\"" "diagnose must not include report")
plant(include/cox/abi/planted.h "#include \"cox/base/units.hpp\"" "abi must not include base")
plant(src/elsewhere/planted.cpp "int x" "src/elsewhere: no such room")
plant(src/base/utils.hpp "int x" "`utils` names no responsibility")
plant(src/report/html_helpers/planted.hpp "int x" "src/report/html_helpers: `helpers` names no responsibility")
plant(src/guest/preload/planted_fmt.cpp "#include <fmt/format.h>" "the guest src/guest/preload/planted_fmt.cpp must not include fmt/format.h: guests need libc only")
plant(src/guest/writer/planted_zstd.cpp "#include <zstd.h>" "the guest src/guest/writer/planted_zstd.cpp must not include zstd.h: guests need libc only")
# Reached through a header of our own.
plant(src/guest/preload/planted_result.cpp "#include \"cox/base/result.hpp\""
      "include/cox/base/result.hpp: the guest src/guest/preload/planted_result.cpp must not include tl/expected.hpp")
plant(src/diagnose/elsewhere/planted.cpp "int x" "src/diagnose/elsewhere/planted.cpp: diagnose/elsewhere has no line")
# Public headers belong to folders too: used from below, using what is above, and in no folder at all.
plant(src/diagnose/match/planted_result.cpp "#include \"cox/diagnose/finding.hpp\""
      "src/diagnose/match/planted_result.cpp: diagnose/match must not include diagnose/result")
plant(src/diagnose/stall/planted_result.hpp "#include <cox/diagnose/diagnosis.hpp>"
      "src/diagnose/stall/planted_result.hpp: diagnose/stall must not include diagnose/result")
plant(include/cox/diagnose/planted.hpp "int x" "include/cox/diagnose/planted.hpp: in no folder of diagnose")
plant(src/trace/raw/planted_store.cpp "#include \"cox/trace/compact.hpp\""
      "src/trace/raw/planted_store.cpp: trace/raw must not include trace/store")
plant(src/study/file/planted_page.cpp "#include \"cox/study/write.hpp\""
      "src/study/file/planted_page.cpp: study/file must not include study/page")
plant(include/cox/trace/planted.hpp "int x" "include/cox/trace/planted.hpp: in no folder of trace")
plant(src/cli/verbs/planted_json.cpp "#include <nlohmann/json.hpp>" "must not include nlohmann/json.hpp")
plant(src/cli/verbs/planted_toml.cpp "#include <toml++/toml.h>" "must not include toml++/toml.h")
plant(src/study/page/planted_dump.cpp "text += json.dump(1)" "makes text of JSON by itself")
plant(src/observe/planted_braces.cpp "text = \"{\\\"schema\\\":\"" "writes JSON by hand")
plant(src/learn/run/planted_raw.cpp "text = R\"({\"a\":1})\"" "writes JSON by hand")
# What is named from the file's own folder names no room: refused, whatever it leads to.
plant(src/base/planted_up.cpp "#include \"../trace/run/planted.hpp\""
      "src/base/planted_up.cpp: ../trace/run/planted.hpp is relative to the file")
plant(src/diagnose/match/planted_up.cpp "#include \"../words/sentences.hpp\""
      "src/diagnose/match/planted_up.cpp: ../words/sentences.hpp is relative to the file")
plant(src/base/planted_through.cpp "#include \"cox/base/../trace/run.hpp\""
      "src/base/planted_through.cpp: cox/base/../trace/run.hpp is relative to the file")
plant(include/cox/pace/planted_here.hpp "#include \"./settings.hpp\""
      "include/cox/pace/planted_here.hpp: ./settings.hpp is relative to the file")
plant(src/base/planted_down.cpp "#include \"kernels/vector_kernels.hpp\""
      "src/base/planted_down.cpp: kernels/vector_kernels.hpp is relative to the file")
# What reads scenarios stays out of guests: model sees it neither by its public headers nor by its folders.
plant(src/model/planted_toml.cpp "#include \"cox/model/toml.hpp\""
      "src/model/planted_toml.cpp: model/. must not include model/toml")
plant(include/cox/model/planted_toml.hpp "int x" "include/cox/model/planted_toml.hpp: in no folder of model")
file(APPEND ${WORK}/include/cox/model/schedule.hpp "#include \"cox/model/document.hpp\"\n")
list(APPEND wanted "include/cox/model/schedule.hpp: model/. must not include model/toml")
plant(src/model/toml/keys/planted_toml.cpp "#include \"cox/model/toml.hpp\""
      "src/model/toml/keys/planted_toml.cpp: model/toml/keys must not include model/toml/.")
file(APPEND ${WORK}/include/cox/model/origin.hpp "#include \"cox/model/toml.hpp\"\n")
list(APPEND wanted "include/cox/model/origin.hpp: model/toml/keys must not include model/toml/.")
# Tables of public headers: of every parted room, and of headers that there are.
plant(include/cox/report/planted.hpp "int x" "include/cox/report/planted.hpp: in no folder of report")
plant(include/cox/evaluate/planted.hpp "int x" "include/cox/evaluate/planted.hpp: in no folder of evaluate")
plant(src/report/planted_forecast.cpp "#include \"cox/report/forecast.hpp\""
      "src/report/planted_forecast.cpp: report/. must not include report/forecast")
plant(src/trace/import/bytes/planted_part.cpp "#include \"cox/trace/import.hpp\""
      "src/trace/import/bytes/planted_part.cpp: trace/import/bytes must not include trace/import/part")
plant(src/bench/planted_pace.cpp "#include \"cox/bench/pace.hpp\""
      "src/bench/planted_pace.cpp: bench/. must not include bench/pace")
file(REMOVE ${WORK}/include/cox/evaluate/claim.hpp)
list(APPEND wanted "evaluate_headers names claim, and there is no include/cox/evaluate/claim")
# A header of another room that lies beside its source, though the room itself may be used.
plant(src/simulate/sweep/planted_private.cpp "#include \"model/toml/keys/values.hpp\""
      "src/simulate/sweep/planted_private.cpp: model/toml/keys/values.hpp is private to model")
# The folder that a header lies in by its table is held to what that folder may see.
file(APPEND ${WORK}/include/cox/diagnose/account.hpp "#include \"cox/diagnose/stall.hpp\"\n")
list(APPEND wanted "include/cox/diagnose/account.hpp: diagnose/match must not include diagnose/stall")
# One for every folder of a parted room: each is refused something that it must not see.
set(pairs
    cli/frame:cli/output cli/output:cli/input cli/input:cli/verbs cli/verbs:cli/command_table.hpp
    diagnose/words:diagnose/naming diagnose/match:diagnose/words diagnose/naming:diagnose/cause
    diagnose/cause:diagnose/verdict diagnose/charge:diagnose/naming diagnose/what_if:diagnose/charge
    diagnose/operations:diagnose/verdict diagnose/efficiency:diagnose/fabric diagnose/fabric:diagnose/efficiency
    diagnose/over_time:diagnose/stall diagnose/stall:diagnose/verdict diagnose/pacing:diagnose/verdict
    guest/seam:guest/pacing guest/writer:guest/seam guest/pacing:guest/preload guest/preload:guest/mpi
    guest/mpi:guest/gloo guest/gloo:guest/torch guest/torch:guest/mpi
    model/toml/document:model/toml/keys model/toml/keys:model/toml/meaning model/toml/meaning:model/toml/check
    model/toml/check:model/toml/explain.hpp model/.:model/toml base/kernels:base/json.hpp
    bench/pace:bench/noise.hpp bench/pace/.:bench/pace/worker bench/probe:bench/pace bench/.:bench/pace
    simulate/kernels:simulate/noise simulate/noise:simulate/max_plus simulate/max_plus:simulate/flow
    simulate/flow:simulate/event simulate/event:simulate/record simulate/record:simulate/answer
    simulate/collective:simulate/training simulate/training:simulate/paced simulate/paced:simulate/answer
    simulate/answer:simulate/sweep simulate/sweep:simulate/paced
    simulate/training/plan:simulate/training/account simulate/training/account:simulate/training/step
    simulate/training/step:simulate/training/policy simulate/training/policy:simulate/training/scenarios.hpp
    simulate/training/failures:simulate/training/plan
    forecast/law:forecast/sample forecast/sample:forecast/calibrate forecast/calibrate:forecast/project
    forecast/project:forecast/regimes forecast/regimes:forecast/levers forecast/structure:forecast/project forecast/scaled:forecast/structure
    forecast/checkpoints:forecast/regimes forecast/levers:forecast/scenario forecast/scenario:forecast/control
    forecast/control:forecast/answer forecast/learned:forecast/control forecast/ways:forecast/control forecast/simulated:forecast/answer
    study/file:study/answer study/oracle:study/compute study/answer:study/page study/page:study/compute
    study/pacing_table:study/compute study/runs:study/compute study/compute:study/page evaluate/pacing:evaluate/claim
    diagnose/timeline:diagnose/naming
    trace/clocks:trace/raw trace/raw:trace/store trace/store:trace/run trace/run:trace/import
    trace/import/bytes:trace/import/part trace/import/part:trace/import/mpi trace/import/mpi:trace/import/kineto
    trace/import/paraver:trace/import/mpi trace/import/kineto:trace/import/nccl trace/import/nccl:trace/import/tables
    trace/import/graphs:trace/import/nccl trace/import/tables:trace/import/graphs trace/import/figures:trace/import/part
    trace/import/lines:trace/import/kineto trace/import/.:trace/import/mpi trace/.:trace/raw
    learn/text:learn/problem learn/kernels:learn/product learn/product:learn/text learn/problem:learn/optimize learn/slice:learn/optimize learn/optimize:learn/compress learn/compress:learn/optimize
    learn/stability:learn/run learn/run:learn/drive learn/drive:learn/answer learn/answer:learn/product
    train/transport:train/executor train/executor:train/checkpoint train/checkpoint:train/run train/run:train/answer train/answer:train/program train/program:train/answer
    evaluate/learning:evaluate/pacing evaluate/claim:evaluate/pacing evaluate/.:evaluate/pacing
    simulate/attribution:simulate/answer trace/import:trace/clocks diagnose/figures:diagnose/match
    report/.:report/forecast)
# No folder without one, and the folders that cannot have one: who sees all others, and those of public headers only.
set(cannot_be_planted cli/. base/. bench/pace/worker model/toml model/toml/. simulate/training/. report/forecast diagnose/verdict diagnose/result forecast/answer trace/format)
file(STRINGS ${CHECK} lines REGEX "^set\\([a-z_/.]+/[a-z_.]+_may ")
foreach(line ${lines})
  string(REGEX REPLACE "^set\\((.*)_may .*" "\\1" folder "${line}")
  if(NOT "${pairs}" MATCHES "(^|;)${folder}:" AND NOT folder IN_LIST cannot_be_planted)
    message(SEND_ERROR "nothing is planted for ${folder}: add it to the pairs")
  endif()
endforeach()
set(number 0)
foreach(pair ${pairs})
  math(EXPR number "${number} + 1")
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 from)
  list(GET pair 1 to)
  set(seen ${to})
  if(to MATCHES "hpp$")
    cmake_path(GET to PARENT_PATH seen)
    string(APPEND seen "/.")
  else()
    string(APPEND to /planted.hpp)
  endif()
  string(REGEX REPLACE "/\\.$" "" place ${from})
  plant(src/${place}/planted_${number}.cpp "#include \"${to}\"" "src/${place}/planted_${number}.cpp: ${from} must not include ${seen}")
endforeach()

check(code text)
foreach(expected ${wanted})
  string(REGEX REPLACE "([.+])" "\\\\\\1" pattern "${expected}")
  if(code EQUAL 0 OR NOT text MATCHES "${pattern}")
    message(SEND_ERROR "planted and not told: ${expected}")
  endif()
endforeach()
file(REMOVE_RECURSE ${WORK})
