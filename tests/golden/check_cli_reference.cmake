# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# cmake -DCOX=... -DPAGE=... -P check_cli_reference.cmake: docs/reference/cli.md is what `cox __docs` prints.
execute_process(COMMAND ${COX} __docs OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ ${PAGE} page)
if(NOT printed STREQUAL page)
  message(FATAL_ERROR "${PAGE} is not what the program says; write it anew with: cox __docs > docs/reference/cli.md")
endif()
