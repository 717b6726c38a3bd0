# SPDX-License-Identifier: Apache-2.0
# The max-plus engine and noise. No fused multiply-add where a result is computed: the bits are the same everywhere.
include(vector_kernels)
cox_vector_kernels(COX_SWEEP_KERNELS sweep_kernels)
set(COX_MAX_PLUS_SOURCES closure.cpp folded_doubling.cpp list_rounds.cpp max_plus.cpp noise.cpp noise_delays.cpp noise_laws.cpp
    noise_trace.cpp regular_rounds.cpp replicas.cpp round_costs.cpp sweep_kernels.cpp)
set_source_files_properties(${COX_MAX_PLUS_SOURCES} PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
list(APPEND COX_SIMULATE_SOURCES ${COX_MAX_PLUS_SOURCES} ${COX_SWEEP_KERNELS})
list(APPEND COX_SIMULATE_HEADERS max_plus.hpp noise.hpp replicas.hpp)
list(APPEND COX_SIMULATE_TESTS max_plus_test.cpp noise_test.cpp replicas_test.cpp)
if(COX_X86_KERNELS)
  set_source_files_properties(sweep_kernels.cpp PROPERTIES COMPILE_DEFINITIONS COX_HAS_X86_KERNELS)
endif()
