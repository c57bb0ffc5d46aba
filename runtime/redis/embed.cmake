# SPDX-License-Identifier: MIT
# cmake -DOUTPUT=file.c -DSCRIPTS=a.lua,b.lua -P embed.cmake
# Writes each script's SHA-1 (EVALSHA's name for it) and its bytes (what EVAL sends) as C, without
# comments, indents and empty lines, which would be a third of what is kept and sent. The bytes go
# beside file.c, too, as NAME.lua.
set(text "/* SPDX-License-Identifier: MIT\n * Made from the .lua files by embed.cmake. */\n")
string(APPEND text "#include \"redis/scripts.h\"\n\n")
string(REPLACE "," ";" SCRIPTS "${SCRIPTS}")
get_filename_component(folder ${OUTPUT} DIRECTORY)
foreach(script IN LISTS SCRIPTS)
  get_filename_component(name ${script} NAME_WE)
  file(READ ${script} body)
  string(REGEX REPLACE "[ \t]*--[^\n]*" "" body "${body}")
  string(REGEX REPLACE "\n[ \t\n]*" "\n" body "${body}")
  string(REGEX REPLACE "^\n" "" body "${body}")
  file(WRITE ${folder}/${name}.lua "${body}")
  string(SHA1 sha1 "${body}")
  string(HEX "${body}" bytes)
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND text "static const char ${name}_body[] = {\n${bytes}0x00\n};\n"
    "const struct redis_script redis_script_${name} = {\n"
    "    .sha1 = \"${sha1}\",\n"
    "    .body = ${name}_body,\n"
    "    .body_len = sizeof ${name}_body - 1,\n"
    "};\n\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
