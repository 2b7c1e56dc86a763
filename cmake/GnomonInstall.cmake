# `cmake --install`: the libraries, their headers, gnomon.h for C, the program with its manual pages and completions,
# find_package(gnomon COMPONENTS core lab), gnomon-core.pc and gnomon-lab.pc; in a release libgnomon and gnomon.pc in their place.
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/gnomon)
file(RELATIVE_PATH path_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)

# component: core or lab; `requires`: what its .pc file asks for; the rest: its headers. Each is a page that a stranger can use, and
# what it includes is among them: the install test compiles every one by itself. All other headers are this project's own.
function(gnomon_install component requires)
  if(GNOMON_BUNDLED AND NOT BUILD_SHARED_LIBS)  # an archive is of no use without those that it asks for
    return()
  endif()
  install(TARGETS gnomon_${component} EXPORT gnomon_${component})
  install(EXPORT gnomon_${component} NAMESPACE gnomon:: DESTINATION ${config_folder} FILE gnomonTargets-${component}.cmake)
  foreach(header IN LISTS ARGN)
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES gnomon/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gnomon/${folder})
  endforeach()
  set(name gnomon-${component})
  set(library gnomon_${component})
  configure_file(cmake/gnomon.pc.in ${PROJECT_BINARY_DIR}/gnomon-${component}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/gnomon-${component}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

gnomon_install(core ""
  core/array.h
  core/error.h
  core/standard.h
  core/text.h
  core/view.h
  encodings/entry.h
  encodings/options.h
  encodings/params.h
  encodings/positions.h
  encodings/search.h
  kernels/key_cache.h
  kernels/rotate.h
  kernels/rows.h
  nn/alone.h
  nn/attention.h
  spec/spec.h
)
install(FILES gnomon/c/gnomon.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(GNOMON_LAB)
  gnomon_install(lab gnomon-core
    core/file.h
    models/check/check.h
    models/check/dump.h
    models/explain/differences.h
    models/explain/explain.h
    models/extend/extend.h
    models/lint/lint.h
    models/resolve/config.h
    models/resolve/numbers.h
    models/resolve/resolved.h
    pages/check.h
    pages/explain.h
    pages/extend.h
    pages/lint.h
  )
endif()
if(TARGET gnomon_alone)
  set(name gnomon)
  set(library gnomon)
  configure_file(cmake/gnomon.pc.in ${PROJECT_BINARY_DIR}/gnomon.pc @ONLY)
  install(TARGETS gnomon_alone COMPONENT program)
  install(FILES gnomon/c/gnomon.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT program)
  install(FILES ${PROJECT_BINARY_DIR}/gnomon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT program)
endif()
if(GNOMON_CLI)
  install(TARGETS gnomon_cli COMPONENT program)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT program)
endif()
configure_package_config_file(cmake/gnomonConfig.cmake.in ${PROJECT_BINARY_DIR}/gnomonConfig.cmake INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gnomonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gnomonConfig.cmake ${PROJECT_BINARY_DIR}/gnomonConfigVersion.cmake DESTINATION ${config_folder})
