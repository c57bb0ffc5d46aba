# SPDX-License-Identifier: MIT
# cmake -DOUTPUT=file.c -DSCRIPTS=a.lua,b.lua -P embed.cmake
# Writes each script's SHA-1 (EVALSHA's name for it) and its bytes (what EVAL sends) as C.
set(text "/* SPDX-License-Identifier: MIT\n * Made from the .lua files by embed.cmake. */\n")
string(APPEND text "#include \"redis/scripts.h\"\n\n")
string(REPLACE "," ";" SCRIPTS "${SCRIPTS}")
foreach(script IN LISTS SCRIPTS)
  get_filename_component(name ${script} NAME_WE)
  file(READ ${script} bytes HEX)
  file(SHA1 ${script} sha1)
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
