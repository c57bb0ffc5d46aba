# SPDX-License-Identifier: MIT
# One target a layer. LINKS and HIDES are the layer's row in the house style's table; tests/layers checks
# what the built files really need.

# rota_layer(NAME SOURCES file... [LINKS target...] [HIDES target...] [DEFINES name=value...])
# HIDES: libraries that are the layer's own affair, which no other layer may use through it.
function(rota_layer name)
  cmake_parse_arguments(layer "" "" "SOURCES;LINKS;HIDES;DEFINES" ${ARGN})
  add_library(rota_${name} STATIC ${layer_SOURCES})
  # What rotad lends to a module of ours (supervisor/lent.list) has to be seen from outside; no program exports more.
  set_target_properties(rota_${name} PROPERTIES C_VISIBILITY_PRESET default)
  target_compile_definitions(rota_${name} PRIVATE ${layer_DEFINES})
  target_link_libraries(rota_${name} PUBLIC rota_flags ${layer_LINKS} PRIVATE ${layer_HIDES})
endfunction()

# rota_program(NAME SOURCES file... [LINKS target...] [DEFINES name=value...])
function(rota_program name)
  cmake_parse_arguments(program "" "" "SOURCES;LINKS;DEFINES" ${ARGN})
  add_executable(${name} ${program_SOURCES})
  set_target_properties(${name} PROPERTIES ROTA_AS_ONE ON C_VISIBILITY_PRESET default)
  target_compile_definitions(${name} PRIVATE ${program_DEFINES})
  target_link_libraries(${name} PRIVATE rota_flags ${program_LINKS})
  if(ROTA_SMALL AND CMAKE_OBJCOPY)
    # What is left of unwind tables, the C library's, needs no index; and who compiled it is in the package's own data.
    target_link_options(${name} PRIVATE -Wl,--no-eh-frame-hdr)
    add_custom_command(TARGET ${name} POST_BUILD
      COMMAND ${CMAKE_OBJCOPY} --remove-section .comment $<TARGET_FILE:${name}> VERBATIM)
  endif()
endfunction()

# rota_plugin(NAME SOURCES file... [LINKS library...] [COMPONENT name]): NAME.so, which exports rota_plugin
# alone, and NAME.description beside it, for build hosts that check the configuration of another machine. Where
# it is built for another machine, CMAKE_CROSSCOMPILING_EMULATOR writes the description, or nobody. COMPONENT:
# of a package of its own (RotaPackage.cmake), so that a library which it alone needs is no affair of rota's.
function(rota_plugin name)
  cmake_parse_arguments(plugin "" "COMPONENT" "SOURCES;LINKS" ${ARGN})
  if(NOT plugin_COMPONENT)
    set(plugin_COMPONENT ${CMAKE_INSTALL_DEFAULT_COMPONENT_NAME})
  endif()
  add_library(plugin_${name} MODULE ${plugin_SOURCES})
  set_target_properties(plugin_${name} PROPERTIES
    PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/plugins)
  target_include_directories(plugin_${name} PRIVATE ${PROJECT_SOURCE_DIR}/plugins/include)
  target_link_libraries(plugin_${name} PRIVATE rota_flags ${plugin_LINKS})
  if(ROTA_LINKS_Z_DEFS)
    target_link_options(plugin_${name} PRIVATE -Wl,-z,defs)
  endif()
  install(TARGETS plugin_${name} LIBRARY DESTINATION lib/rota COMPONENT ${plugin_COMPONENT})
  if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
    set(description ${PROJECT_BINARY_DIR}/plugins/${name}.description)
    add_custom_command(OUTPUT ${description}
      COMMAND rota-guard --describe $<TARGET_FILE:plugin_${name}> > ${description}
      DEPENDS rota-guard plugin_${name}
      VERBATIM)
    add_custom_target(description_${name} ALL DEPENDS ${description})
    install(FILES ${description} DESTINATION lib/rota COMPONENT ${plugin_COMPONENT})
  endif()
endfunction()
