# ortc_library(NAME sources... [LINK libs...] [NO_MLIR] [DEPENDS generated...]): one static library per folder.
function(ortc_library name)
  cmake_parse_arguments(ARG "NO_MLIR" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  if(NOT ARG_NO_MLIR)
    target_link_libraries(${name} PUBLIC ${ORTC_MLIR_LIBS})
    ortc_use_pch(${name})
    add_dependencies(${name} OrtcIRIncGen)
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK} fmt::fmt)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# All of the compiler shares one precompiled header: parsing MLIR's headers is most of a build.
function(ortc_use_pch name)
  if(NOT ORTC_PCH)
    return()
  endif()
  if(NOT TARGET ortcPch)
    file(WRITE ${CMAKE_BINARY_DIR}/pch.cpp "// anchor of the precompiled header\n")
    add_library(ortcPch OBJECT ${CMAKE_BINARY_DIR}/pch.cpp)
    target_precompile_headers(ortcPch PRIVATE ${CMAKE_SOURCE_DIR}/compiler/ir/Pch.h)
  endif()
  target_precompile_headers(${name} REUSE_FROM ortcPch)
endfunction()

# ortc_hot_loops(sources...): files of plain loops without MLIR, where -O3 pays although the rest is built with -O1.
function(ortc_hot_loops)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
    COMPILE_OPTIONS "-O3;-fno-math-errno;-fno-trapping-math;-ffp-contract=off;-fno-strict-aliasing")
endfunction()

# ortc_tablegen(TARGET file.td OUT args...): one generated file.
# ortc_unit_test(NAME sources... LINK libs...): a Catch2 program, run by ctest under the label "unit".
function(ortc_unit_test name)
  if(NOT ORTC_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "NO_MLIR" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} Catch2::Catch2 fmt::fmt)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300)
endfunction()
