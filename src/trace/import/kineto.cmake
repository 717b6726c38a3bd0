# SPDX-License-Identifier: Apache-2.0
# Sources and tests of one family of readers; included by CMakeLists.txt.
list(APPEND import_sources kineto.cpp kineto_event.cpp kineto_finish.cpp kineto_groups.cpp kineto_names.cpp
     kineto_part.cpp kineto_stream.cpp)
list(APPEND import_tests byte_source_test.cpp kineto_damage_test.cpp kineto_names_test.cpp
     kineto_test.cpp)
