# SPDX-License-Identifier: Apache-2.0
# Proves that readers.py can fail: a reader that nobody lists, and one that is taken out of each list.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/change.cmake)

file(REMOVE_RECURSE ${WORK})
file(COPY ${ROOT}/src/trace/import DESTINATION ${WORK}/src/trace)
file(COPY ${ROOT}/fuzz DESTINATION ${WORK})
file(WRITE ${WORK}/src/trace/import/lines/planted.cpp "const Reader kPlantedLinesReader{.format = \"planted\"};\n")
change(src/trace/import/part/reader.hpp "extern const Reader kGoalReader;" "")
change(src/trace/import/readers.cpp "&kOtf2Reader," "")
change(fuzz/import_entries.cpp "{\"mlperf\", &kMlperfReader}," "{\"ml_perf\", &kMlperfReader},")
change(fuzz/import_entries.cpp "{\"kineto\", &kKinetoReader}," "")
change(fuzz/CMakeLists.txt "pytorch_et goal" "pytorch_et")
change(fuzz/CMakeLists.txt "paraver dumpi otf2)" "paraver dumpi)")
file(REMOVE_RECURSE ${WORK}/fuzz/corpus/nccl_profiler ${WORK}/fuzz/corpus/paraver_files)
execute_process(COMMAND ${CHECK} ${WORK} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
file(REMOVE_RECURSE ${WORK})
if(code EQUAL 0)
  message(FATAL_ERROR "a reader that is in no list passed the check")
endif()
foreach(told "part/reader.hpp: no PlantedLines" "part/reader.hpp: no Goal" "readers.cpp: no PlantedLines" "readers.cpp: no Otf2"
        "import_entries.cpp: no PlantedLines" "import_entries.cpp: no Kineto" "kMlperfReader is called ml_perf, not mlperf"
        "fuzz/CMakeLists.txt: no planted_lines" "fuzz/CMakeLists.txt: no goal" "fuzz/CMakeLists.txt: no otf2"
        "fuzz/corpus/planted_lines: no seed" "fuzz/corpus/nccl_profiler: no seed" "fuzz/corpus/paraver_files: no seed")
  if(NOT text MATCHES "${told}")
    message(SEND_ERROR "planted and not told: ${told}\n${text}")
  endif()
endforeach()
