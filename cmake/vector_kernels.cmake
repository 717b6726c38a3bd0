# SPDX-License-Identifier: Apache-2.0
# Sources that are compiled once per instruction set: <stem>_baseline.cpp for everybody and, on x86-64, <stem>_avx2.cpp
# and <stem>_avx512.cpp, between which the program chooses when it runs. No fused multiply-add, so that the results have
# the same bits everywhere.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(COX_X86_KERNELS ON)
else()
  set(COX_X86_KERNELS OFF)
endif()

# cox_vector_kernels(<variable> <stem>): puts the sources in <variable> and their flags on them.
function(cox_vector_kernels variable stem)
  set(common -O3 -ffp-contract=off -fno-math-errno)
  set(sources ${stem}_baseline.cpp)
  set_source_files_properties(${stem}_baseline.cpp PROPERTIES COMPILE_OPTIONS "${common}")
  if(COX_X86_KERNELS)
    list(APPEND sources ${stem}_avx2.cpp ${stem}_avx512.cpp)
    set_source_files_properties(${stem}_avx2.cpp PROPERTIES COMPILE_OPTIONS "${common};-mavx2")
    # g++ 12 warns falsely of the undefined operand in its own avx512fintrin.h
    set_source_files_properties(${stem}_avx512.cpp PROPERTIES COMPILE_OPTIONS
      "${common};-mavx512f;-mavx512dq;-mavx512vl;-mprefer-vector-width=512;$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized>")
  endif()
  set_source_files_properties(${sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)  # other flags
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()
