// Where the build put what the tests load.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defined in one generated file: a path in the compiler's commands would keep clones from sharing the tests' objects
// through ccache.
#ifndef WEFT_TEST_TESTPATHS_H
#define WEFT_TEST_TESTPATHS_H

namespace weft::test {

extern const char *const kernelsLibrary;  ///< Kernels.c as a shared library.
extern const char *const fakeCudaLibrary; ///< Cuda/FakeCuda.cpp as a shared library.
extern const char *const fakeNcclLibrary; ///< Comm/FakeNccl.cpp as a shared library.
extern const char *const kernelsPtx;      ///< The folder Emulator/Kernels.

} // namespace weft::test

#endif // WEFT_TEST_TESTPATHS_H
