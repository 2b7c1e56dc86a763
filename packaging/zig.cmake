# A toolchain of zig's clang, which brings the headers and symbols of each glibc: what it compiles runs on this one and all later
# ones. scripts/dist makes the four tools and names the processor.
set(tools ${CMAKE_CURRENT_LIST_DIR}/../build/dist/$ENV{GNOMON_TARGET}/tools)
set(CMAKE_C_COMPILER ${tools}/cc)
set(CMAKE_CXX_COMPILER ${tools}/c++)
set(CMAKE_AR ${tools}/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${tools}/ranlib CACHE FILEPATH "")
if(NOT "$ENV{GNOMON_TARGET}" MATCHES "^${CMAKE_HOST_SYSTEM_PROCESSOR}-")
  set(CMAKE_SYSTEM_NAME Linux)
  string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "$ENV{GNOMON_TARGET}")
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR} -L /usr/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
endif()
