# SPDX-License-Identifier: Apache-2.0
# MPI programs of the tests, one per library and binding: NAME.openmpi and NAME.mpich, as their launchers are named.
# Compiled by the libraries' own wrappers, as a user would; -w because MPICH's headers do not compile clean.
set(mpi_programs)
foreach(library openmpi mpich)
  find_program(COX_MPICC_${library} mpicc.${library})
  find_program(COX_MPIF90_${library} mpif90.${library})
  set(whose)  # Fortran's headers do not say it in time
  if(COX_MPICC_${library})
    execute_process(COMMAND ${COX_MPICC_${library}} -E -dM -include mpi.h -x c /dev/null OUTPUT_VARIABLE macros ERROR_QUIET)
    if(macros MATCHES "define (OMPI_MAJOR_VERSION|MPICH_NUMVERSION) ([0-9]+)")
      set(whose -D${CMAKE_MATCH_1}=${CMAKE_MATCH_2})
    endif()
  endif()
  # NAME=SOURCE where one source is built twice: the Fortran 2008 binding with -DF08.
  foreach(program mpi_calls.c mpi_fortran_mpifh.f90 mpi_fortran_f08.f90 order_sum.c guest_trials.c leaves_early.c timed_steps.c
          ignored_arguments.c ignored_large=ignored_arguments.c ignored_mpifh=ignored_fortran.F90 ignored_f08=ignored_fortran.F90
          ignored_more_mpifh=ignored_fortran/more.F90 ignored_more_f08=ignored_fortran/more.F90 threads.c unobserved.c stencil.c stencil_fortran.f90)
    string(REGEX REPLACE ".*=" "" source ${program})
    string(REGEX REPLACE "[.=].*" "" name ${program})
    set(compiler ${COX_MPICC_${library}} -w -I${PROJECT_SOURCE_DIR}/include)
    if(source MATCHES "[fF]90$")
      set(compiler ${COX_MPIF90_${library}} -w -fallow-argument-mismatch -ffree-line-length-none)  # mpif.h has no interfaces
    endif()
    if(name MATCHES "_f08$" AND source MATCHES "F90$")
      list(APPEND compiler -DF08)
    endif()
    set(parts)
    if(source MATCHES "^ignored_fortran")
      file(GLOB parts ${CMAKE_CURRENT_SOURCE_DIR}/ignored_fortran/*.inc)
      list(APPEND compiler ${whose})
    endif()
    if(name MATCHES "_large$")
      list(APPEND compiler -DLARGE)
    endif()
    if(compiler MATCHES "NOTFOUND")
      message(STATUS "${name}.${library} is not built: mpicc.${library} or mpif90.${library} is not here")
      continue()
    endif()
    set(program ${CMAKE_CURRENT_BINARY_DIR}/${name}.${library})
    add_custom_command(OUTPUT ${program}
                       COMMAND ${compiler} -O2 -o ${program} ${CMAKE_CURRENT_SOURCE_DIR}/${source} -pthread -lm
                       WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
                       DEPENDS ${source} ${parts} ${PROJECT_SOURCE_DIR}/include/cox/base/processes.h VERBATIM)
    list(APPEND mpi_programs ${program})
  endforeach()
endforeach()
# NAME.abi: for the standard ABI of MPI 5, and whichever library stands behind it when it runs.
set(COX_MPI_ABI_IMPLEMENTATIONS)
if(COX_MPI_ABI_INCLUDE)
  foreach(library openmpi mpich)
    find_library(COX_MPI_ABI_${library} NAMES libmpi_abi_${library}.so.1 libmpi_abi_${library}.so.1.0.0)
    if(NOT COX_MPI_ABI_${library})
      continue()
    endif()
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/abi_${library})
    file(MAKE_DIRECTORY ${folder})
    file(CREATE_LINK ${COX_MPI_ABI_${library}} ${folder}/libmpi_abi.so.1 SYMBOLIC)
    list(APPEND COX_MPI_ABI_IMPLEMENTATIONS ${library})
    set(COX_MPI_ABI_LIBRARY ${COX_MPI_ABI_${library}})
  endforeach()
endif()
if(COX_MPI_ABI_IMPLEMENTATIONS)
  foreach(program mpi_calls ignored_arguments)
    add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${program}.abi
                       COMMAND ${CMAKE_C_COMPILER} -w -O2 -I${COX_MPI_ABI_INCLUDE} -o ${CMAKE_CURRENT_BINARY_DIR}/${program}.abi
                               ${CMAKE_CURRENT_SOURCE_DIR}/${program}.c ${COX_MPI_ABI_LIBRARY}
                       DEPENDS ${program}.c VERBATIM)
    list(APPEND mpi_programs ${CMAKE_CURRENT_BINARY_DIR}/${program}.abi)
  endforeach()
endif()
add_custom_target(mpi_programs ALL DEPENDS ${mpi_programs})
