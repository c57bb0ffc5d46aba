# SPDX-License-Identifier: MIT
# A toolchain file: from amd64 to the machine that $ROTA_TRIPLET and $ROTA_PROCESSOR name, with Debian's compiler and
# its libraries beside our own.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $ENV{ROTA_PROCESSOR})
set(CMAKE_C_COMPILER $ENV{ROTA_TRIPLET}-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE $ENV{ROTA_TRIPLET})
set(CMAKE_CROSSCOMPILING_EMULATOR $ENV{ROTA_QEMU})
set(CMAKE_STRIP $ENV{ROTA_TRIPLET}-strip)
set(CMAKE_OBJCOPY $ENV{ROTA_TRIPLET}-objcopy)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/$ENV{ROTA_TRIPLET}/pkgconfig:/usr/share/pkgconfig)
