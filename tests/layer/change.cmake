# SPDX-License-Identifier: Apache-2.0
# change(FILE FROM TO): plants something in a copy of the tree under WORK, which must hold FROM.
function(change file from to)
  file(READ ${WORK}/${file} text)
  string(REPLACE "${from}" "${to}" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "${file} has no ${from}: plant something else")
  endif()
  file(WRITE ${WORK}/${file} "${changed}")
endfunction()
