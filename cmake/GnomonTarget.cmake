# What every target of this project is built with.
function(gnomon_target target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_definitions(${target} PRIVATE GNOMON_VERSION="${PROJECT_VERSION}" TOML_EXCEPTIONS=1)
  if(GNOMON_WARNINGS)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # of the strings of its own library g++ 12 says these at -O3, and is wrong (GCC bug 105651)
      target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
                             -Wno-stringop-overread)
    endif()
    # Errors are those of the compilers that the code was read with; a newer one may warn of more.
    if("${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" MATCHES "^(GNU 12|Clang 14)")
      target_compile_options(${target} PRIVATE -Werror)
    endif()
  endif()
  if(GNOMON_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${GNOMON_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${GNOMON_SANITIZE})
  endif()
  # AVX3_DL and SSSE3 add nothing to float32 code beside AVX3 and SSE2. On ARM g++ would compile for SVE as well, whose vectors
  # cannot stand in arrays.
  set(left_out HWY_SSSE3|HWY_AVX3_DL)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(left_out HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)
  endif()
  target_compile_definitions(${target} PRIVATE "HWY_DISABLED_TARGETS=(${left_out})")
endfunction()

# Sources of a target that read settings, plan, ask others to compute, or print: they have no inner loop. So they are compiled in
# less time, a fifth to a third. On a baseline without fused multiply-adds the level changes no bit of what they add up.
function(gnomon_compiles_quickly target pattern)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX ${pattern})
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
endfunction()

# Where a target that is installed finds this project's libraries, both as built and as installed: folders from $ORIGIN. What
# lies outside the system's folders (another oneDNN) is found where it was linked.
function(gnomon_finds target)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${ARGN}" BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
endfunction()

# What a shared library exports, by a version script in cmake/.
function(gnomon_exports target script)
  set(script ${PROJECT_SOURCE_DIR}/cmake/${script})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY" AND UNIX AND NOT APPLE)
    target_link_options(${target} PRIVATE -Wl,--version-script=${script})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
  endif()
endfunction()

# A library that is installed: gnomon_<component>, which users link as gnomon::<component>.
function(gnomon_library component)
  set(target gnomon_${component})
  add_library(gnomon::${component} ALIAS ${target})
  gnomon_target(${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${component} VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  gnomon_finds(${target} $ORIGIN)
  # C++ has no promise of a stable interface; the functions of gnomon.h have, and carry its number.
  gnomon_exports(${target} gnomon.map)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# The source files of the rows `macro(name)` in gnomon/<folder>/list.def.
function(gnomon_listed_sources folder macro result)
  set(list ${PROJECT_SOURCE_DIR}/gnomon/${folder}/list.def)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} rows REGEX "^${macro}\\(")
  list(TRANSFORM rows REPLACE "^${macro}\\(([a-z0-9_]+)\\).*" "gnomon/${folder}/\\1.cpp")
  set(${result} ${rows} PARENT_SCOPE)
endfunction()

# Files as an include of rows {"NAME", R"(content)"}, in the folder `into`: what is compiled in cannot be missing at run time.
function(gnomon_embed into)
  set(rows "")
  foreach(path IN LISTS ARGN)
    file(READ ${PROJECT_SOURCE_DIR}/${path} content)
    get_filename_component(name ${path} NAME_WE)
    string(APPEND rows "{\"${name}\", R\"file(${content})file\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${path})
  endforeach()
  file(CONFIGURE OUTPUT ${into} CONTENT "${rows}" @ONLY)
endfunction()

# The texts that stand beside the sources of a folder (gnomon/core/prose.h), each as an include "<path>.inc".
function(gnomon_prose)
  foreach(source IN LISTS ARGN)
    string(REGEX REPLACE "\\.cpp$" ".txt" path ${source})
    file(READ ${PROJECT_SOURCE_DIR}/${path} content)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${path}.inc CONTENT "GNOMON_PROSE(R\"file(${content})file\")\n" @ONLY)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${path})
  endforeach()
endfunction()
