# SPDX-License-Identifier: Apache-2.0
# Sources and tests of one family of readers; included by CMakeLists.txt.
list(APPEND import_sources
  dumpi.cpp dumpi_calls.cpp dumpi_comms.cpp dumpi_file.cpp dumpi_functions.cpp
  mpi_part.cpp
  otf2.cpp otf2_buffer.cpp otf2_definitions.cpp otf2_events.cpp)
list(APPEND import_tests dumpi_test.cpp mpi_part_test.cpp otf2_test.cpp)
