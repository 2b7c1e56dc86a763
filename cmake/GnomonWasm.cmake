# libc++ with exceptions for WebAssembly, compiled of the sources that zig brings: the library that zig makes itself has none, and
# no files. Everything that is linked after this file gets it.
set(cxx ${GNOMON_ZIG}/lib/libcxx)
set(cxxabi ${GNOMON_ZIG}/lib/libcxxabi)
file(GLOB sources ${cxx}/src/*.cpp ${cxx}/src/filesystem/*.cpp ${cxx}/src/ryu/*.cpp)
list(FILTER sources EXCLUDE REGEX "/(atomic|barrier|condition_variable.*|future|mutex.*|shared_mutex|thread).cpp$")  # of threads
foreach(part abort_message cxa_aux_runtime cxa_default_handlers cxa_demangle cxa_exception cxa_exception_storage cxa_guard cxa_handlers cxa_personality
             cxa_vector cxa_virtual fallback_malloc private_typeinfo stdlib_exception stdlib_new_delete stdlib_stdexcept stdlib_typeinfo)
  list(APPEND sources ${cxxabi}/src/${part}.cpp)
endforeach()
# The tag of C++'s exceptions, which the code that throws names.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/tag.s CONTENT "\t.globl __cpp_exception\n\t.tagtype __cpp_exception i32\n__cpp_exception:\n")
# The only thread ends with the program.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/thread_atexit.c CONTENT "
int __cxa_atexit(void (*destroy)(void*), void* object, void* library);
int __cxa_thread_atexit(void (*destroy)(void*), void* object, void* library) { return __cxa_atexit(destroy, object, library); }
")
# WASI copies no files, which nothing here asks for.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/copy_file_range.h CONTENT "#include <unistd.h>\nextern \"C\" ssize_t copy_file_range(int, off_t*, int, off_t*, size_t, unsigned);\n")
set_source_files_properties(${cxx}/src/filesystem/operations.cpp PROPERTIES COMPILE_OPTIONS "-include;${PROJECT_BINARY_DIR}/generated/copy_file_range.h")
enable_language(C ASM)
add_library(wasm_cxx STATIC ${sources} ${GNOMON_ZIG}/lib/libunwind/src/Unwind-wasm.c ${PROJECT_BINARY_DIR}/generated/tag.s
            ${PROJECT_BINARY_DIR}/generated/thread_atexit.c)
target_include_directories(wasm_cxx PRIVATE ${cxx}/src ${cxxabi}/include ${cxxabi}/src ${GNOMON_ZIG}/lib/libunwind/include ${cxx}/libc)
target_compile_definitions(wasm_cxx PRIVATE NDEBUG __WASM_EXCEPTIONS__ _LIBCPP_BUILDING_LIBRARY _LIBCXXABI_BUILDING_LIBRARY LIBCXX_BUILDING_LIBCXXABI
                           LIBCXXABI_NON_DEMANGLING_TERMINATE _LIBCXXABI_HAS_NO_THREADS _LIBUNWIND_HIDE_SYMBOLS)
target_compile_options(wasm_cxx PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-std=c++23> $<$<COMPILE_LANGUAGE:C>:-fwasm-exceptions -fdeclspec> -w)
link_libraries(wasm_cxx)
