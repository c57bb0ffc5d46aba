# SPDX-License-Identifier: MIT
# cmake -DFOLDER=folder -DSCRIPTS=a.lua,b.lua -P embed.cmake
# Writes into the folder each script's bytes (what EVAL sends) as NAME.lua, without comments, indents and
# empty lines, which would be a third of what is kept and sent; all of them in one, as scripts.text; and
# as embedded.c each script's SHA-1 (EVALSHA's name for it) and its place in that text.
set(code "/* SPDX-License-Identifier: MIT\n * Made from the .lua files by embed.cmake. */\n")
string(APPEND code "#include \"redis/scripts.h\"\n\n"
  "const unsigned char redis_scripts_packed[] = {\n#include \"packed.inc\"\n};\n")
string(REPLACE "," ";" SCRIPTS "${SCRIPTS}")
set(text "")
foreach(script IN LISTS SCRIPTS)
  get_filename_component(name ${script} NAME_WE)
  file(READ ${script} body)
  # What is for who reads the file (comments, at a line's begin or behind two blanks; indents; empty lines) is left out:
  # it would be most of the bytes.
  string(REGEX REPLACE "\n *--[^\n]*" "" body "\n${body}")
  string(REGEX REPLACE "  +--[^\n]*" "" body "${body}")
  string(REGEX REPLACE "\n[\n ]*" "\n" body "${body}")
  string(REGEX REPLACE "^\n" "" body "${body}")
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
