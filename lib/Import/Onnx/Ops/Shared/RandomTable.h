// Random numbers of a known seed, as tables: those of ONNX's reference implementation, which numpy's RandomState draws.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RANDOMTABLE_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RANDOMTABLE_H

#include "weft/Import/Onnx/Handler.h"

namespace weft::onnx {

/// MT19937, seeded by one word as Matsumoto and Nishimura's init_genrand does.
class MersenneTwister {
public:
  explicit MersenneTwister(uint32_t seed);
  uint32_t next();
  /// 53 bits of [0, 1).
  double nextUniform();

private:
  static constexpr unsigned size = 624, middle = 397;
  uint32_t state[size];
  unsigned at = size;
};

/// Uniform numbers of [0, 1), f64, of extents `dims`; null after an error: these are symbolic or too many, or the node
/// has no seed, so that each run would draw others.
mlir::Value uniformTable(NodeContext &ctx, llvm::ArrayRef<mlir::AffineExpr> dims);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RANDOMTABLE_H
