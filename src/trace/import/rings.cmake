# SPDX-License-Identifier: Apache-2.0
# Sources and tests of one family of readers; included by CMakeLists.txt.
list(APPEND import_sources flight_recorder.cpp flight_recorder_entry.cpp flight_recorder_json.cpp flight_recorder_map.cpp
     nccl_inspector.cpp nccl_lines.cpp nccl_names.cpp nccl_profiler.cpp nccl_profiler_map.cpp nccl_ring.cpp nccl_world.cpp
     pickle.cpp step_table.cpp step_table_columns.cpp)
list(APPEND import_tests flight_recorder_test.cpp nccl_inspector_test.cpp nccl_profiler_test.cpp pickle_test.cpp
     step_table_test.cpp)
