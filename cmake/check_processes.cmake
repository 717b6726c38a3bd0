# SPDX-License-Identifier: Apache-2.0
# cmake -DROOT=<tree> -P check_processes.cmake: fails where something signals or waits for processes by a bare system
# call. -1, what a fork that failed returns, is everybody to the kernel; the wrappers below refuse it.
cmake_minimum_required(VERSION 3.25)
if(NOT ROOT)
  message(FATAL_ERROR "say -DROOT=<tree>")
endif()

set(wrapper_c include/cox/base/processes.h)
set(wrapper_py tests/support/processes.py)

set(any_name "(^|[^A-Za-z0-9_.>])")
set(calls_c "${any_name}(kill|killpg|tkill|tgkill|sigqueue|pidfd_send_signal|waitpid|waitid|wait3|wait4)[ \t]*\\("
            "(SYS|__NR)_(kill|tkill|tgkill|waitid|wait4)")
# In any text, since scripts of one language lie in strings of another.
set(calls_anywhere "(os|posix)\\.(kill|killpg|waitpid|waitid|wait3|wait4)($|[^A-Za-z0-9_])" "signal\\.pidfd_send_signal"
                   "from os import [^#]*(kill|wait[a-z0-9])")
set(calls_js "(^|[^A-Za-z0-9_.])process\\.kill[ \t]*\\(")
set(word_before "(^|[ \t;&|({\"'])")
set(calls_shell "${word_before}(pkill|killall)($|[ \t;])"
                "${word_before}kill[ \t]+(-s[ \t]+[^ \t]+|-[^ \t]+)[ \t]+(--[ \t]+)?[\"']?(-|0([^0-9]|$))")

function(refuse file text pattern wrapper)
  if(text MATCHES "${pattern}")
    string(STRIP "${text}" text)
    message(SEND_ERROR "${file}: `${text}`: processes are signalled and waited for through ${wrapper} only")
  endif()
endfunction()

set(files)
foreach(top src include tests bench fuzz examples scripts)
  file(GLOB_RECURSE more RELATIVE ${ROOT} ${ROOT}/${top}/*)
  list(APPEND files ${more})
endforeach()
file(GLOB more RELATIVE ${ROOT} ${ROOT}/cox-*)
list(APPEND files ${more})

set(looked_at 0)
foreach(file ${files})
  if(file STREQUAL wrapper_c OR file STREQUAL wrapper_py OR NOT file MATCHES "\\.(cpp|hpp|h|c|cc|inc|py|sh|mjs|js|ts)$|/?cox-[a-z]+$")
    continue()
  endif()
  math(EXPR looked_at "${looked_at} + 1")
  file(READ ${ROOT}/${file} text)
  string(REGEX REPLACE "[][;\\]" " " text "${text}")  # to CMake's lists these are more than text
  string(REPLACE "\n" ";" lines "${text}")
  list(FILTER lines INCLUDE REGEX "kill|wait|SYS_|__NR_|signal")
  foreach(line IN LISTS lines)
    if(file MATCHES "\\.(cpp|hpp|h|c|cc|inc)$")
      string(REGEX REPLACE "//.*$" "" code "${line}")
      foreach(pattern IN LISTS calls_c)
        refuse(${file} "${code}" "${pattern}" ${wrapper_c})
      endforeach()
    endif()
    if(file MATCHES "\\.(mjs|js|ts)$")
      refuse(${file} "${line}" "${calls_js}" "the object that was started")
    endif()
    foreach(pattern IN LISTS calls_anywhere)
      refuse(${file} "${line}" "${pattern}" ${wrapper_py})
    endforeach()
    foreach(pattern IN LISTS calls_shell)
      refuse(${file} "${line}" "${pattern}" "kill NAME NUMBER")
    endforeach()
  endforeach()
endforeach()
if(looked_at EQUAL 0)
  message(SEND_ERROR "no file found: the search is broken")
endif()
