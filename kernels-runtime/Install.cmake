# What `cmake --install BUILD --prefix PREFIX` gives to those who run bundles: the shared library, its header, a CMake package
# (find_package(weft-runtime), target weft::runtime), a pkg-config file, and the Python package below the library, which it finds from
# there. All of it may be moved as a whole.
include(CMakePackageConfigHelpers)
set(_weft_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft-runtime)

set_target_properties(weft_runtime PROPERTIES EXPORT_NAME runtime)
install(TARGETS weft_runtime EXPORT weft-runtime LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(FILES include/weft/runtime.h include/weft/bundle_format.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft COMPONENT runtime)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

install(EXPORT weft-runtime NAMESPACE weft:: FILE weft-runtime-config.cmake DESTINATION ${_weft_package_dir} COMPONENT runtime)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/weft-runtime-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weft-runtime-config-version.cmake DESTINATION ${_weft_package_dir} COMPONENT runtime)

# pkg-config knows the folder of its file: the way from there to the prefix keeps the tree movable.
file(RELATIVE_PATH WEFT_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(weft-runtime.pc.in weft-runtime.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weft-runtime.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT runtime)

install(DIRECTORY python/weft DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft/python COMPONENT runtime
        FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
