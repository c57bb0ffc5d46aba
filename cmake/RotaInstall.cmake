# SPDX-License-Identifier: MIT
# What is installed besides the programs and plugins, each of which its own folder installs.
configure_file(${PROJECT_SOURCE_DIR}/cmake/rota.pc.in ${PROJECT_BINARY_DIR}/rota.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rota.pc DESTINATION share/pkgconfig COMPONENT dev)
# find_package(rota) of who writes plugins; it finds the rest from where it lies.
include(CMakePackageConfigHelpers)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/rota-config.cmake.in
  ${PROJECT_BINARY_DIR}/rota-config.cmake INSTALL_DESTINATION lib/cmake/rota
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBEXECDIR NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rota-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rota-config.cmake ${PROJECT_BINARY_DIR}/rota-config-version.cmake
  ${PROJECT_SOURCE_DIR}/cmake/rota-plugin.map DESTINATION lib/cmake/rota COMPONENT dev)
install(FILES ${PROJECT_SOURCE_DIR}/plugins/include/rota/plugin.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rota COMPONENT dev)

# Beside a prefix of the system's, the conf file goes where rotad looks for it; one that is there already is
# somebody's, and stays.
if(CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?$")
  set(confdir ${ROTA_SYSCONFDIR}/rota)
else()
  set(confdir ${CMAKE_INSTALL_FULL_SYSCONFDIR}/rota)
endif()
# It names the examples where this installation has them.
file(READ ${PROJECT_SOURCE_DIR}/conf/rotad.conf conf)
string(REPLACE /usr/share/ ${CMAKE_INSTALL_FULL_DATAROOTDIR}/ conf "${conf}")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/conf/rotad.conf CONTENT "${conf}" @ONLY)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY
  CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/conf/rotad.conf)
install(CODE "
  file(MAKE_DIRECTORY \"\$ENV{DESTDIR}${confdir}/jobs.d\")
  if(EXISTS \"\$ENV{DESTDIR}${confdir}/rotad.conf\")
    message(STATUS \"Kept: \$ENV{DESTDIR}${confdir}/rotad.conf\")
  else()
    file(INSTALL \"${PROJECT_BINARY_DIR}/conf/rotad.conf\" DESTINATION \"${confdir}\")
  endif()")
# Examples are documentation: a fresh install has no job, so it sends nothing.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/conf/jobs.d
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/rota/examples
  FILES_MATCHING PATTERN "*.conf")
install(FILES ${PROJECT_SOURCE_DIR}/conf/redis-acl.example
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/rota/examples)
if(ROTA_POSTGRESQL)
  # Operators feed it to psql: no documentation, which small devices may leave out.
  install(FILES ${PROJECT_SOURCE_DIR}/plugins/pg_fenced/rota_fence.sql
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/rota-plugin-postgresql COMPONENT postgresql)
endif()

configure_file(${PROJECT_SOURCE_DIR}/systemd/rotad.service.in ${PROJECT_BINARY_DIR}/rotad.service @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rotad.service DESTINATION lib/systemd/system)
install(FILES ${PROJECT_SOURCE_DIR}/systemd/rota.sysusers DESTINATION lib/sysusers.d RENAME rota.conf)
install(FILES ${PROJECT_SOURCE_DIR}/systemd/rota.catalog DESTINATION lib/systemd/catalog)
install(FILES ${PROJECT_SOURCE_DIR}/systemd/hardened.conf
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/rota/examples)
# What only a later systemd knows is in force where this one knows it, else beside the examples.
foreach(dropin IN ITEMS "notify-reload.conf;253" "restart-steps.conf;254")
  list(GET dropin 0 file)
  list(GET dropin 1 since)
  if(SYSTEMD_VERSION VERSION_GREATER_EQUAL since)
    install(FILES ${PROJECT_SOURCE_DIR}/systemd/${file} DESTINATION lib/systemd/system/rotad.service.d)
  else()
    install(FILES ${PROJECT_SOURCE_DIR}/systemd/${file} DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/rota/examples)
  endif()
endforeach()
