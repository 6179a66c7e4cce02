# Finds LLVM/MLIR 22 and defines the macros that keep each room's CMakeLists to a few lines.
# LLVM's version file accepts only an exact major.minor, so the major version is checked by hand.
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "expected LLVM/MLIR 22, got ${LLVM_VERSION}; try -DMLIR_DIR=/usr/lib/llvm-22/lib/cmake/mlir")
endif()
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# The packages are built without exceptions and with RTTI; our compiler libraries follow. HandleLLVMOptions is not used: it would
# force flags on the runtime as well.
add_library(weft_compiler_flags INTERFACE)
target_include_directories(weft_compiler_flags INTERFACE ${WEFT_SOURCE_DIR}/include ${WEFT_BINARY_DIR}/include)
target_include_directories(weft_compiler_flags SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_options(weft_compiler_flags INTERFACE -fno-exceptions -Wall -Wextra -Wno-unused-parameter -ffunction-sections)
# The packages are built with NDEBUG, which changes the layout of what their headers declare (pass statistics); a mismatch is silent
# memory corruption, whatever our own build type is.
target_compile_definitions(weft_compiler_flags INTERFACE NDEBUG)
separate_arguments(_weft_llvm_defs NATIVE_COMMAND ${LLVM_DEFINITIONS})
target_compile_definitions(weft_compiler_flags INTERFACE ${_weft_llvm_defs})

# Nine tenths of the time of a compilation go to the headers of LLVM and MLIR. They are precompiled once for all targets of the compiler.
# Executables are compiled with -fPIC as libraries are: a precompiled header serves one of the two.
if(WEFT_PRECOMPILE)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/Precompiled.cpp CONTENT "// CMake asks for a source beside the headers.\n")
  add_library(weft_precompiled OBJECT ${CMAKE_CURRENT_BINARY_DIR}/Precompiled.cpp)
  target_link_libraries(weft_precompiled PRIVATE weft_compiler_flags)
  target_include_directories(weft_precompiled PRIVATE ${WEFT_SOURCE_DIR}/cmake)
  target_precompile_headers(weft_precompiled PRIVATE <Precompiled.h>) # No path of this clone in the header that CMake writes.
  target_compile_options(weft_compiler_flags INTERFACE -fPIC)
  weft_same_headers(weft_precompiled)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # libstdc++ switches this warning off around its own uses (std::stable_sort); a precompiled header forgets that.
    target_compile_options(weft_compiler_flags INTERFACE -Wno-deprecated-declarations)
  endif()
endif()

# weft_precompile(TARGET): give TARGET, which links weft_compiler_flags, the precompiled headers.
function(weft_precompile target)
  if(WEFT_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM weft_precompiled)
  endif()
endfunction()

# weft_archives(OUT TARGETS...): the files of these static libraries of MLIR and of all that they need of MLIR.
function(weft_archives out)
  set(pending ${ARGN})
  set(seen "")
  set(files "")
  while(pending)
    list(POP_FRONT pending library)
    if(library IN_LIST seen OR NOT library MATCHES "^MLIR" OR NOT TARGET ${library})
      continue()
    endif()
    list(APPEND seen ${library})
    get_target_property(kind ${library} TYPE)
    if(kind STREQUAL STATIC_LIBRARY)
      list(APPEND files $<TARGET_FILE:${library}>)
      get_target_property(needs ${library} INTERFACE_LINK_LIBRARIES)
      if(needs)
        string(REGEX REPLACE "\\$<LINK_ONLY:([^>]*)>" "\\1" needs "${needs}")
        list(APPEND pending ${needs})
      endif()
    endif()
  endwhile()
  set(${out} ${files} PARENT_SCOPE)
endfunction()

# The static archives of LLVM and MLIR, as files: the packages' static targets name the shared libLLVM as what they need. lld takes what it needs of
# them, in any order.
get_property(_weft_dialects GLOBAL PROPERTY MLIR_DIALECT_LIBS)
get_property(_weft_conversions GLOBAL PROPERTY MLIR_CONVERSION_LIBS)
get_property(_weft_extensions GLOBAL PROPERTY MLIR_EXTENSION_LIBS)
weft_archives(_weft_mlir_archives ${_weft_dialects} ${_weft_conversions} ${_weft_extensions} MLIROptLib MLIRTranslateLib
              MLIRRegisterAllDialects MLIRRegisterAllExtensions MLIRRegisterAllPasses
              MLIRTargetLLVMIRExport MLIRBuiltinToLLVMIRTranslation MLIRLLVMToLLVMIRTranslation MLIRNVVMToLLVMIRTranslation)
set(_weft_llvm_archives "")
foreach(library ${LLVM_AVAILABLE_LIBS})
  if(NOT library MATCHES "^LLVM" OR NOT TARGET ${library}) # Polly and BOLT are packaged elsewhere.
    continue()
  endif()
  get_target_property(kind ${library} TYPE)
  if(kind STREQUAL STATIC_LIBRARY)
    list(APPEND _weft_llvm_archives $<TARGET_FILE:${library}>)
  endif()
endforeach()
set(WEFT_LLVM_ARCHIVES ${_weft_mlir_archives} ${_weft_llvm_archives} -l:libz.a -l:libzstd.a)

# What every compiler library links: the shared libMLIR and libLLVM, or the static archives for a stand-alone binary.
add_library(weft_mlir INTERFACE)
if(WEFT_STATIC_LLVM)
  target_link_libraries(weft_mlir INTERFACE ${WEFT_LLVM_ARCHIVES} pthread ${CMAKE_DL_LIBS} m)
else()
  target_link_libraries(weft_mlir INTERFACE MLIR LLVM)
endif()

# weft_add_library(NAME sources... [LINK libs...] [DEPENDS targets...]): one static library of the compiler.
function(weft_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC weft_compiler_flags weft_mlir ${ARG_LINK})
  weft_precompile(${name})
  add_dependencies(${name} weft-headers ${ARG_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY WEFT_COMPILER_LIBRARIES ${name})
endfunction()

# weft_add_tool(NAME sources... [LINK libs...]): a compiler tool in bin/.
function(weft_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE weft_compiler_flags ${ARG_LINK} weft_mlir)
  weft_precompile(${name})
  add_dependencies(${name} weft-headers)
  if(WEFT_STATIC_LLVM) # A shared LLVM beside the archives would bring everything in twice.
    add_custom_command(TARGET ${name} POST_BUILD VERBATIM
      COMMAND sh -c "! ${CMAKE_READELF} -d $<TARGET_FILE:${name}> | grep -E 'NEEDED.*lib(MLIR|LLVM)'")
  endif()
endfunction()

# weft_tablegen(TD (OUTPUT FLAG)...): run mlir-tblgen on TD of the current folder; outputs join the target weft-headers.
add_custom_target(weft-headers)
if(WEFT_PRECOMPILE)
  add_dependencies(weft_precompiled weft-headers)
endif()
function(weft_tablegen td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  string(MAKE_C_IDENTIFIER "tblgen_${CMAKE_CURRENT_SOURCE_DIR}_${td}" target)
  set(pairs ${ARGN})
  while(pairs)
    list(POP_FRONT pairs output flags)
    separate_arguments(flags)
    mlir_tablegen(${output} ${flags} EXTRA_INCLUDES ${WEFT_SOURCE_DIR}/include ${MLIR_INCLUDE_DIRS})
  endwhile()
  add_public_tablegen_target(${target})
  add_dependencies(weft-headers ${target})
endfunction()
