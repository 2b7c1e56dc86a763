# `cmake --install`: the libraries, their headers, gnomon.h for C, the program with its manual pages and completions,
# find_package(gnomon COMPONENTS core lab), gnomon-core.pc and
# gnomon-lab.pc.
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/gnomon)
file(RELATIVE_PATH path_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)

# component: core or lab; `requires`: what its .pc file asks for; the rest: its folders.
function(gnomon_install component requires)
  install(TARGETS gnomon_${component} EXPORT gnomon_${component})
  install(EXPORT gnomon_${component} NAMESPACE gnomon:: DESTINATION ${config_folder} FILE gnomonTargets-${component}.cmake)
  # What only this project's own files include stays here.
  foreach(folder IN LISTS ARGN)
    install(DIRECTORY gnomon/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gnomon FILES_MATCHING PATTERN "*.h"
            PATTERN "*-inl.h" EXCLUDE PATTERN fixed_team.h EXCLUDE PATTERN matmul_block.h EXCLUDE PATTERN multiply.h EXCLUDE)
  endforeach()
  configure_file(cmake/gnomon.pc.in ${PROJECT_BINARY_DIR}/gnomon-${component}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/gnomon-${component}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

gnomon_install(core "" core kernels encodings spec nn)
install(FILES gnomon/c/gnomon.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(GNOMON_LAB)
  gnomon_install(lab gnomon-core files models lens study report pages)
endif()
if(GNOMON_CLI)
  install(TARGETS gnomon_cli)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR})
endif()
configure_package_config_file(cmake/gnomonConfig.cmake.in ${PROJECT_BINARY_DIR}/gnomonConfig.cmake INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gnomonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gnomonConfig.cmake ${PROJECT_BINARY_DIR}/gnomonConfigVersion.cmake DESTINATION ${config_folder})
