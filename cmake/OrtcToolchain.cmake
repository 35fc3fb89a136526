# Compiler cache, linker, and warning flags. Everything here is optional: a plain g++ with bfd builds too.
find_program(ORTC_CCACHE ccache)
if(ORTC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The precompiled header is only cacheable when ccache is told not to look at time stamps.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${ORTC_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${ORTC_CCACHE})
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  find_program(ORTC_LLD NAMES ld.lld-19 ld.lld)
  if(ORTC_LLD)
    add_link_options(-fuse-ld=lld --ld-path=${ORTC_LLD})
  endif()
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Xclang> $<$<COMPILE_LANGUAGE:CXX>:-fno-pch-timestamp>)
endif()

# -O1 -g1: header parsing dominates, -O0 saves nothing, and the compiler itself is fast enough.
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -g1")
set(CMAKE_C_FLAGS_RELEASE "-O1 -g1")
add_compile_options(-Wall -Wextra -Wno-unused-parameter)
# Emitted or logged text never contains the path of the build machine.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections)
