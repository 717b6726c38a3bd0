# SPDX-License-Identifier: Apache-2.0
# cmake -DOUTPUT=x.cpp "-DFILES=a.toml;b.toml" -P embed_studies.cmake
# Writes the study files as a list of texts (C++20 has no #embed).
set(code "// Made by embed_studies.cmake.\n#include \"cli/frame/embedded.hpp\"\n\nnamespace cox::cli {\n")
set(rows "")
list(SORT FILES)
foreach(file IN LISTS FILES)
  cmake_path(GET file FILENAME name)
  file(READ "${file}" text HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" text "${text}")
  string(REGEX REPLACE "(\\\\x0a)" "\\1\"\n     \"" text "${text}")
  string(APPEND rows "    {\"${name}\",\n     \"${text}\"},\n")
endforeach()
string(APPEND code "std::span<const EmbeddedFile> embedded_studies() {\n  static const EmbeddedFile files[] = {\n${rows}  };\n  return files;\n}\n")
file(WRITE "${OUTPUT}" "${code}}  // namespace cox::cli\n")
