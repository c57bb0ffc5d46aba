# SPDX-License-Identifier: MIT
# CPack runs this on the files of each package before it packs them: what Debian's policy wants of them.
file(GLOB trees ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*)
foreach(tree IN LISTS trees)
  file(GLOB pages ${tree}/usr/share/man/man*/*[0-9] ${tree}/usr/share/doc/*/changelog*)
  if(pages)
    execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
