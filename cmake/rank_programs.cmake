# SPDX-License-Identifier: Apache-2.0
# Programs that are a rank of a job: one per communication library, so that `cox` links to none.

# cox_rank_program(TARGET MAIN [SOURCES ...] [INCLUDES ...] [LIBDIRS ...] [LIBRARIES ...])
function(cox_rank_program target main)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;INCLUDES;LIBDIRS;LIBRARIES")
  add_executable(${target} ${arg_SOURCES} ${main})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(${target} SYSTEM PRIVATE ${arg_INCLUDES})
  target_link_directories(${target} PRIVATE ${arg_LIBDIRS})
  target_link_libraries(${target} PRIVATE cox_options ${arg_LIBRARIES})
  target_compile_definitions(${target} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# cox_rank_programs(PREFIX GLOO MAIN MPI MAIN [SOURCES ...] [LIBRARIES ...]): PREFIX-gloo, PREFIX-openmpi and PREFIX-mpich, each where its
# library is.
function(cox_rank_programs prefix)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "GLOO;MPI" "SOURCES;LIBRARIES")
  find_package(Gloo QUIET)
  if(Gloo_FOUND)
    cox_rank_program(${prefix}-gloo ${arg_GLOO} SOURCES ${arg_SOURCES} LIBRARIES ${arg_LIBRARIES} gloo Threads::Threads)
  else()
    message(STATUS "Gloo not found: no ${prefix}-gloo (package libgloo-dev)")
  endif()

  # Asked by name: plain mpicc may be MPICH's.
  find_program(COX_OPENMPI_CC mpicc.openmpi)
  if(COX_OPENMPI_CC)
    foreach(what incdirs libdirs libs)
      execute_process(COMMAND ${COX_OPENMPI_CC} --showme:${what} OUTPUT_VARIABLE openmpi_${what}
                      OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
      separate_arguments(openmpi_${what})
    endforeach()
    cox_rank_program(${prefix}-openmpi ${arg_MPI} SOURCES ${arg_SOURCES} INCLUDES ${openmpi_incdirs} LIBDIRS ${openmpi_libdirs}
                     LIBRARIES ${arg_LIBRARIES} ${openmpi_libs})
  else()
    message(STATUS "Open MPI not found: no ${prefix}-openmpi (package libopenmpi-dev)")
  endif()

  find_path(COX_MPICH_INCLUDE mpi.h HINTS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/mpich NO_DEFAULT_PATH)
  find_library(COX_MPICH_LIBRARY mpich)
  if(COX_MPICH_INCLUDE AND COX_MPICH_LIBRARY)
    cox_rank_program(${prefix}-mpich ${arg_MPI} SOURCES ${arg_SOURCES} INCLUDES ${COX_MPICH_INCLUDE}
                     LIBRARIES ${arg_LIBRARIES} ${COX_MPICH_LIBRARY})
  else()
    message(STATUS "MPICH not found: no ${prefix}-mpich (package libmpich-dev)")
  endif()
endfunction()
