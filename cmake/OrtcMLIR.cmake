# Debian's MLIR 19. Defines ORTC_MLIR_LIBS and the tablegen functions. Needs the path: LLVM 14's config is often
# installed beside it, and CMake would find that one first.
find_package(MLIR 19.1 REQUIRED CONFIG PATHS /usr/lib/llvm-19/lib/cmake/mlir NO_DEFAULT_PATH)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(ORTC_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_compile_options(${ORTC_LLVM_DEFINITIONS} -fvisibility-inlines-hidden)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})

if(ORTC_STATIC_MLIR)
  # Debian's archives all name the shared library's target `LLVM`; link the archives that are really used instead.
  foreach(t IN LISTS MLIR_EXPORTED_TARGETS)
    get_target_property(deps ${t} INTERFACE_LINK_LIBRARIES)
    if(deps)
      list(REMOVE_ITEM deps LLVM)
      set_target_properties(${t} PROPERTIES INTERFACE_LINK_LIBRARIES "${deps}")
    endif()
  endforeach()
  foreach(t IN LISTS LLVM_AVAILABLE_LIBS)
    if(TARGET ${t})
      get_target_property(deps ${t} INTERFACE_LINK_LIBRARIES)
      if(deps MATCHES "zstd")
        string(REGEX REPLACE "zstd::libzstd_shared" "-l:libzstd.so.1" deps "${deps}")
        set_target_properties(${t} PROPERTIES INTERFACE_LINK_LIBRARIES "${deps}")
      endif()
    endif()
  endforeach()
  set(ORTC_MLIR_LIBS
      MLIRFuncDialect MLIRArithDialect MLIRArithTransforms MLIRMathDialect MLIRMathTransforms
      MLIRSCFDialect MLIRSCFTransforms MLIRMemRefDialect MLIRMemRefTransforms MLIRTensorDialect
      MLIRTensorTransforms MLIRTensorInferTypeOpInterfaceImpl MLIRLinalgDialect MLIRLinalgTransforms
      MLIRBufferizationDialect MLIRVectorDialect MLIRGPUDialect MLIRAffineDialect MLIRDialectUtils
      MLIRGPUToSPIRV MLIRMathToSPIRV MLIRArithToSPIRV MLIRSCFToSPIRV MLIRSPIRVDialect
      MLIRSPIRVTransforms MLIRSPIRVSerialization MLIRTransforms MLIROptLib MLIRParser MLIRPass
      LLVMSupport LLVMTargetParser LLVMBinaryFormat)
else()
  set(ORTC_MLIR_LIBS MLIR LLVM)
endif()
# What a library that needs no MLIR links to use LLVM's file and hash classes.
set(ORTC_LLVM_SUPPORT LLVM)
if(ORTC_STATIC_MLIR)
  set(ORTC_LLVM_SUPPORT LLVMSupport)
endif()
