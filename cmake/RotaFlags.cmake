# SPDX-License-Identifier: MIT
# rota_flags: what every target of ours is compiled and linked with. Each flag is probed, so that an
# older or another compiler builds with what it has.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)
include(CheckPIESupported)

option(ROTA_WERROR "Treat compiler warnings as errors" OFF)
option(ROTA_FAULT_POINTS "Let tests end the programs between any two steps (never shipped)" OFF)
option(ROTA_FUZZ "Build the fuzz targets, and none of the programs; by clang alone" OFF)
option(ROTA_COVERAGE "Count what runs, for tests/coverage; by gcc alone" OFF)
set(ROTA_SANITIZE "" CACHE STRING "Sanitizers, separated by commas: address,undefined")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# assert() means a bug of ours and stays in release builds.
foreach(config RELEASE RELWITHDEBINFO MINSIZEREL)
  string(REGEX REPLACE "[-/]DNDEBUG" "" CMAKE_C_FLAGS_${config} "${CMAKE_C_FLAGS_${config}}")
endforeach()

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
check_pie_supported(LANGUAGES C)

add_library(rota_flags INTERFACE)
target_compile_definitions(rota_flags INTERFACE _GNU_SOURCE)
if(CMAKE_SIZEOF_VOID_P EQUAL 4)
  # A 32-bit time_t ends in 2038, and stat() fails on files and times beyond 32 bits. A target with
  # ROTA_TIME_OF_LIBRARY hands time_t to a library, which has the system's.
  target_compile_definitions(rota_flags INTERFACE _FILE_OFFSET_BITS=64
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:ROTA_TIME_OF_LIBRARY>>>:_TIME_BITS=64>)
endif()
target_include_directories(rota_flags INTERFACE ${PROJECT_SOURCE_DIR}/runtime)

function(rota_probe_compile)
  foreach(flag IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER "ROTA_HAS${flag}" have)
    check_c_compiler_flag(${flag} ${have})
    if(${have})
      target_compile_options(rota_flags INTERFACE ${flag})
    endif()
  endforeach()
endfunction()

# What the linker only warns of, it does not have (32-bit ARM: packed relocations).
check_linker_flag(C -Wl,--fatal-warnings ROTA_LINKS_FATAL_WARNINGS)
if(ROTA_LINKS_FATAL_WARNINGS)
  set(fatal_warnings -Wl,--fatal-warnings)
  target_link_options(rota_flags INTERFACE ${fatal_warnings})
endif()

function(rota_probe_link)
  foreach(flag IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER "ROTA_LINKS${flag}" have)
    check_linker_flag(C "${flag};${fatal_warnings}" ${have})
    if(${have})
      target_link_options(rota_flags INTERFACE ${flag})
    endif()
  endforeach()
endfunction()

rota_probe_compile(
  -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
  -Wmissing-declarations -Wold-style-definition -Wvla -Wundef -Wformat=2 -Wpointer-arith -Wcast-qual
  -Wwrite-strings -Wimplicit-fallthrough -Wlogical-op -Wduplicated-cond
  -Wduplicated-branches -Wnull-dereference -Wdate-time -Walloca -Wfloat-equal
  -ffunction-sections -fdata-sections -fno-common -fno-strict-overflow -fno-semantic-interposition
  # assert() names files as the tree does, wherever it was built
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
  -fstack-protector-strong -fstack-clash-protection
  # The shadow stack alone: landing pads, one in each function, are used by no C library and kernel
  # that rota runs on, and the linker drops their mark where the library's start files have none.
  -fcf-protection=return)
# noseparate-code: else constants have segments of their own, each padded to the largest page that the
# machine may have: 4 KiB on x86, 64 on 64-bit ARM. What it gives up is that constants can be executed,
# never written: the code stays what it is.
rota_probe_link(
  -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-z,noseparate-code -Wl,-z,pack-relative-relocs
  -Wl,--as-needed -Wl,--gc-sections)

# Where small is asked for, smaller than -Os: gcc has it from 12 on. A register that a call may change is
# not kept around it: to save and load it anew takes more bytes than one that calls leave alone.
string(TOUPPER "CMAKE_C_FLAGS_${CMAKE_BUILD_TYPE}" flags)
string(FIND "${${flags}}" "-Os" at)
if(NOT at EQUAL -1)
  set(ROTA_SMALL ON)
  rota_probe_compile(-Oz -fno-caller-saves)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    # Few functions of a library are called from so many places that a stub for each (PLT) is shorter than
    # calls through its address, which is bound at the start all the same.
    rota_probe_compile(-fno-plt)
    # Tables stand as the ABI asks, not on multiples of 32 bytes, which is for speed.
    rota_probe_compile(-malign-data=abi)
  endif()
endif()

# Where small is asked for, a program (ROTA_AS_ONE) is compiled as one when it is linked: what no file alone can
# know of the others is a thirtieth of it. All else is linked from the same objects, without.
if(ROTA_SMALL AND CMAKE_C_COMPILER_ID STREQUAL GNU AND NOT ROTA_SANITIZE)
  set(whole $<BOOL:$<TARGET_PROPERTY:ROTA_AS_ONE>>)
  target_compile_options(rota_flags INTERFACE -flto -ffat-lto-objects -fipa-pta)
  # The tables are left out as below: each function brings its own flags along, but for these.
  if(ROTA_HAS_malign_data_abi)
    set(align ";-malign-data=abi")
  endif()
  target_link_options(rota_flags INTERFACE
    "$<IF:${whole},-flto;-flto-partition=none;-fno-asynchronous-unwind-tables;-fno-unwind-tables${align},-fno-lto>")
endif()

if(ROTA_WERROR)
  target_compile_options(rota_flags INTERFACE -Werror)
endif()

if(ROTA_FAULT_POINTS)
  target_compile_definitions(rota_flags INTERFACE ROTA_FAULT_POINTS)
endif()

if(ROTA_COVERAGE)
  # Counters are written by exit(), fork and exec; processes that end otherwise have to be made to.
  add_library(rota_coverage STATIC ${PROJECT_SOURCE_DIR}/tests/coverage/end.c)
  target_compile_definitions(rota_coverage PRIVATE _GNU_SOURCE)
  target_compile_options(rota_flags INTERFACE --coverage)
  target_link_options(rota_flags INTERFACE --coverage -Wl,--wrap=_exit -Wl,--wrap=poll -Wl,--wrap=send)
  target_link_libraries(rota_flags INTERFACE rota_coverage)
endif()

if(ROTA_FUZZ)
  # What was reached guides the fuzzer.
  target_compile_options(rota_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(ROTA_SANITIZE)
  # A sum that does not fit is a find, which -fno-strict-overflow hides.
  target_compile_options(rota_flags INTERFACE
    -fsanitize=${ROTA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -fstrict-overflow)
  target_link_options(rota_flags INTERFACE -fsanitize=${ROTA_SANITIZE})
else()
  # Fortified string functions need an optimising compiler, and hide faults from the sanitizers.
  # Level 3 also knows sizes that are computed at run time; where it is not there, 2.
  set(CMAKE_REQUIRED_QUIET TRUE)
  check_c_compiler_flag("-O2;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3;-Werror" ROTA_HAS_FORTIFY_3)
  set(level $<IF:$<BOOL:${ROTA_HAS_FORTIFY_3}>,3,2>)
  set(optimised $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
  target_compile_options(rota_flags INTERFACE
    $<${optimised}:-U_FORTIFY_SOURCE> $<${optimised}:-D_FORTIFY_SOURCE=${level}>)
  # Nothing of ours unwinds: those tables are an eighth of a stripped program. With -g the debugger has its own.
  target_compile_options(rota_flags INTERFACE
    $<${optimised}:-fno-asynchronous-unwind-tables> $<${optimised}:-fno-unwind-tables>)
  # A plugin that needs a symbol of nobody is found when it is linked, not at its first run.
  check_linker_flag(C -Wl,-z,defs ROTA_LINKS_Z_DEFS)
endif()
