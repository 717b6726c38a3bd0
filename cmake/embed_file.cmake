# SPDX-License-Identifier: Apache-2.0
# Writes a .cpp that holds text files as byte arrays (C++20 has no #embed). Run at build time:
#   cmake -DTEMPLATE=<assets.cpp.in> -DOUTPUT=<file.cpp> -DNAMES=<a,b> -DFILES_<a>=<path,path> ... -P embed_file.cmake
# Several files of one name are joined in the given order. For each NAME the template may use
# @NAME_BYTES@ (hex list), @NAME_SIZE@ and @NAME_SHA256@ (hex digits).
cmake_minimum_required(VERSION 3.25)

string(REPLACE "," ";" NAMES "${NAMES}")
foreach(name IN LISTS NAMES)
  string(REPLACE "," ";" parts "${FILES_${name}}")
  set(hex "")
  foreach(part IN LISTS parts)
    if(NOT EXISTS "${part}")
      message(FATAL_ERROR "${part} is missing: run `npm ci` in web/")
    endif()
    file(READ "${part}" bytes HEX)
    if(NOT bytes MATCHES "0a$")
      string(APPEND bytes "0a")
    endif()
    string(APPEND hex "${bytes}")
  endforeach()
  string(LENGTH "${hex}" digits)
  math(EXPR ${name}_SIZE "${digits} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" lines "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," ${name}_BYTES "${lines}")
  # A carriage return would be turned into a line feed by the HTML parser, and the hash would no longer fit.
  if(${name}_BYTES MATCHES "0x0d,")
    message(FATAL_ERROR "${name}: holds a carriage return; keep line ends as plain line feeds")
  endif()

  # The hash of exactly these bytes: written out and hashed, as CMake strings cannot hold every byte.
  set(joined "${OUTPUT}.${name}")
  file(WRITE "${joined}" "")
  foreach(part IN LISTS parts)
    file(READ "${part}" text)
    file(APPEND "${joined}" "${text}")
    if(NOT text MATCHES "\n$")
      file(APPEND "${joined}" "\n")
    endif()
  endforeach()
  file(SIZE "${joined}" joined_size)
  if(NOT joined_size EQUAL ${name}_SIZE)
    message(FATAL_ERROR "${name}: ${joined_size} bytes joined, expected ${${name}_SIZE}; is there a zero byte in it?")
  endif()
  file(SHA256 "${joined}" ${name}_SHA256)
endforeach()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
