# SPDX-License-Identifier: MIT
# cmake -DFOLDER=folder -DSCRIPTS=a.lua,b.lua [-DDEVICE_SCRIPTS=c.lua,d.lua] [-DPEOPLE_SCRIPTS=e.lua,f.lua] -P embed.cmake
# Writes into the folder each script's bytes (what EVAL sends) as NAME.lua, without comments, indents and
# empty lines, which would be a third of what is kept and sent; all of them in one, as scripts.text; and
# as embedded.c each script's SHA-1 (EVALSHA's name for it) and its place in that text.
# Where a script has @DEVICES@ or @PEOPLE@, it gets what the scripts of that list call: "NAME:HGET SET* ;", an asterisk
# where it is called on the lock; but for INFO, which may be refused.

# What is for who reads the file (comments, at a line's begin or behind two blanks; indents; empty lines) is left out:
# it would be most of the bytes.
function(read_script script ret_body)
  file(READ ${script} body)
  string(REGEX REPLACE "\n *--[^\n]*" "" body "\n${body}")
  string(REGEX REPLACE "  +--[^\n]*" "" body "${body}")
  string(REGEX REPLACE "\n[\n ]*" "\n" body "${body}")
  string(REGEX REPLACE "^\n" "" body "${body}")
  set(${ret_body} "${body}" PARENT_SCOPE)
endfunction()

function(append_rights script)
  get_filename_component(name ${script} NAME_WE)
  read_script(${script} body)
  string(REGEX MATCHALL "call\\('[A-Z]+'" calls "${body}")
  string(REGEX MATCHALL "call\\('[A-Z]+', lock[,)]" locked "${body}")
  list(TRANSFORM calls REPLACE "call\\('([A-Z]+)'" "\\1")
  list(TRANSFORM locked REPLACE "call\\('([A-Z]+)', lock[,)]" "\\1")
  list(REMOVE_DUPLICATES calls)
  list(REMOVE_ITEM calls INFO)
  string(APPEND rights "${name}:")
  foreach(call IN LISTS calls)
    list(FIND locked ${call} at)
    if(at EQUAL -1)
      string(APPEND rights "${call} ")
    else()
      string(APPEND rights "${call}* ")
    endif()
  endforeach()
  set(rights "${rights};" PARENT_SCOPE)
endfunction()

foreach(whose DEVICE PEOPLE)
  set(rights "")
  string(REPLACE "," ";" list "${${whose}_SCRIPTS}")
  foreach(script IN LISTS list)
    append_rights(${script})
  endforeach()
  set(${whose}_RIGHTS "${rights}")
endforeach()

set(code "/* SPDX-License-Identifier: MIT\n * Made from the .lua files by embed.cmake. */\n")
string(APPEND code "#include \"redis/scripts.h\"\n\n"
  "const unsigned char redis_scripts_packed[] = {\n#include \"packed.inc\"\n};\n")
string(REPLACE "," ";" SCRIPTS "${SCRIPTS}")
set(text "")
foreach(script IN LISTS SCRIPTS)
  get_filename_component(name ${script} NAME_WE)
  read_script(${script} body)
  string(REPLACE "@DEVICES@" "${DEVICE_RIGHTS}" body "${body}")
  string(REPLACE "@PEOPLE@" "${PEOPLE_RIGHTS}" body "${body}")
  file(WRITE ${FOLDER}/${name}.lua "${body}")
  string(SHA1 sha1 "${body}")
  string(LENGTH "${text}" begin)
  string(LENGTH "${body}" size)
  string(APPEND text "${body}")
  string(APPEND code "const struct redis_script redis_script_${name} = {\n"
    "    .sha1 = \"${sha1}\",\n"
    "    .begin = ${begin},\n"
    "    .size = ${size},\n"
    "};\n")
endforeach()
file(WRITE ${FOLDER}/scripts.text "${text}")
file(WRITE ${FOLDER}/embedded.c "${code}")
