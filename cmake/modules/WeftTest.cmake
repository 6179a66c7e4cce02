# Unit tests of plain C++. weft_add_unittest(NAME sources... [LINK libraries...]) makes the gtest binary NAME in bin/ and the
# CTest test of that name. Compiler rooms keep theirs in test/unit/<Room>, the runtime in kernels-runtime/test.
find_package(GTest REQUIRED)

function(weft_add_unittest name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gmock GTest::gtest_main)
  if("weft_mlir" IN_LIST ARG_LINK)
    weft_precompile(${name})
  endif()
  if(TARGET weft-headers)
    add_dependencies(${name} weft-headers)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 300)
endfunction()

# weft_add_fuzzer(NAME sources... [LINK libraries...]): the libFuzzer target weft-fuzz-NAME in bin/, which `./dev test --sanitize` runs.
function(weft_add_fuzzer name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(weft-fuzz-${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(weft-fuzz-${name} PRIVATE ${ARG_LINK})
  target_link_options(weft-fuzz-${name} PRIVATE -fsanitize=fuzzer)
  if(TARGET weft-headers)
    add_dependencies(weft-fuzz-${name} weft-headers)
  endif()
endfunction()
