# SPDX-License-Identifier: Apache-2.0
# cmake -DOUTPUT=x.cpp "-DPAIRS=kName=file;kOther=file" -P embed_text.cmake
# Writes text files as string constants of namespace cox::cli (C++20 has no #embed).
set(code "// Made by embed_text.cmake.\n#include \"cli/frame/embedded.hpp\"\n\nnamespace cox::cli {\n")
foreach(pair IN LISTS PAIRS)
  string(REGEX MATCH "^([A-Za-z]+)=(.*)$" matched "${pair}")
  set(name ${CMAKE_MATCH_1})
  file(READ "${CMAKE_MATCH_2}" text HEX)
  # As hexadecimal escapes, so that no byte of the text can end the literal or be taken for a list separator.
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" text "${text}")
  string(REGEX REPLACE "(\\\\x0a)" "\\1\"\n    \"" text "${text}")
  string(APPEND code "extern const std::string_view ${name};\nconst std::string_view ${name} =\n    \"${text}\";\n")
endforeach()
file(WRITE "${OUTPUT}" "${code}}  // namespace cox::cli\n")
