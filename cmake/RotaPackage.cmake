# SPDX-License-Identifier: MIT
# Debian's packages rota, rota-dev and rota-plugin-postgresql, by cpack: ./quickstart package. Built in a tree
# whose prefix is /usr.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rota)
set(CPACK_PACKAGE_VENDOR "the rota authors")
set(CPACK_PACKAGE_CONTACT "the rota authors <rota@example.org>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/stage.cmake)
set(CPACK_COMPONENTS_ALL rota dev)
if(ROTA_POSTGRESQL)
  list(APPEND CPACK_COMPONENTS_ALL postgresql)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)

# One for each release of Debian: +deb12 is replaced by +deb13 when the machine is brought to that.
set(ROTA_DEB_RELEASE 1 CACHE STRING "The packages' revision, behind the version")
cmake_host_system_information(RESULT debian_id QUERY DISTRIB_ID)
cmake_host_system_information(RESULT debian_version QUERY DISTRIB_VERSION_ID)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${ROTA_DEB_RELEASE})
if(debian_id STREQUAL debian AND debian_version)
  string(APPEND CPACK_DEBIAN_PACKAGE_RELEASE "+deb${debian_version}")
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
elseif(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL armv7l)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE armhf)
endif()
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

set(CPACK_DEBIAN_ROTA_PACKAGE_NAME rota)
set(CPACK_DEBIAN_ROTA_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_ROTA_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_ROTA_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers | systemd-sysusers")
set(CPACK_DEBIAN_ROTA_PACKAGE_RECOMMENDS "ca-certificates, tzdata")
set(CPACK_DEBIAN_ROTA_PACKAGE_SUGGESTS "redis-server | valkey-server")
set(CPACK_DEBIAN_ROTA_DESCRIPTION "devices of a fleet take turns at periodic jobs
rotad runs on every device of a fleet. Each time a shared job is due, one
device runs it, under a lock in Redis, and the others leave it alone; if that
device dies, another takes over. A job that crashes, hangs or floods is only
its own trouble: all that it started is ended before its lock can expire.
.
It is made for small devices on thin links: few bytes sent, nothing written
to disk. As installed there is no job, and no traffic.")
set(CPACK_DEBIAN_ROTA_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/packaging/conffiles ${PROJECT_SOURCE_DIR}/packaging/postinst
  ${PROJECT_SOURCE_DIR}/packaging/prerm ${PROJECT_SOURCE_DIR}/packaging/postrm)
set(CPACK_DEBIAN_ROTA_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME rota-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_DEV_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "rota (>= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_DESCRIPTION "devices of a fleet take turns at periodic jobs: plugins
A job of rota is a program, or a plugin: a shared object that rota-guard loads
and runs once a turn. This package has what plugins are built with: the header,
which is all that they need, rota.pc, a CMake package, and how to write one.")

# Apart, so that a device without a database needs no libpq, which brings Kerberos and LDAP along. A rota of a later
# version runs these plugins too: the contract is kept.
set(CPACK_DEBIAN_POSTGRESQL_PACKAGE_NAME rota-plugin-postgresql)
set(CPACK_DEBIAN_POSTGRESQL_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_POSTGRESQL_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_POSTGRESQL_PACKAGE_DEPENDS "rota (>= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_POSTGRESQL_PACKAGE_SUGGESTS "postgresql-client")
set(CPACK_DEBIAN_POSTGRESQL_DESCRIPTION "devices of a fleet take turns at periodic jobs: PostgreSQL
Two plugins of rota, for work that two runs at a time would break. pg_fenced
runs the job's SQL in one transaction that is rolled back where a run with a
newer lock has written already. pg_queue works off the rows of a table, each
row on one device, all devices at once.")
set(CPACK_DEBIAN_POSTGRESQL_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/packaging/postgresql/postinst ${PROJECT_SOURCE_DIR}/packaging/postgresql/postrm)
set(CPACK_DEBIAN_POSTGRESQL_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# Policy's papers, for each package.
string(TIMESTAMP ROTA_DEB_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(ROTA_DEB_VERSION ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
configure_file(${PROJECT_SOURCE_DIR}/packaging/changelog.in ${PROJECT_BINARY_DIR}/packaging/changelog.Debian @ONLY)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(folder ${CMAKE_INSTALL_DATAROOTDIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright DESTINATION ${folder} COMPONENT ${component})
  install(FILES ${PROJECT_SOURCE_DIR}/docs/CHANGES.md RENAME changelog DESTINATION ${folder} COMPONENT ${component})
  install(FILES ${PROJECT_BINARY_DIR}/packaging/changelog.Debian DESTINATION ${folder} COMPONENT ${component})
endforeach()
include(CPack)
