// A lowered kernel as a part of a launch of several: what it needs, and what it would cost the others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_MERGE_PART_H
#define WEFT_EMIT_MERGE_PART_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "weft/Target/Device.h"
#include <string>
#include <vector>

namespace weft::emit {

inline constexpr int64_t kWarpThreads = 32;
/// Of one launch: parts, parameters in bytes (the driver takes 4 KB), tensor maps (the bundle takes 16).
inline constexpr size_t kMostParts = 12, kMostParameterBytes = 3072, kMostTensorMaps = 16;

/// What the CTAs of a part write and read (weft/Target/RowBlocks.h): `ctas` of them make a block of rows.
struct RowBlocks {
  int64_t ctas = 0, blocks = 0;            ///< 0: nothing is known of them.
  std::vector<int64_t> writes;             ///< Of each result, elements of a block; 0: any.
  std::vector<std::vector<int64_t>> reads; ///< Of each input: step, first, last; empty: any.
};

/// A lowered kernel that can be a part.
struct Part {
  mlir::ModuleOp module;
  mlir::LLVM::LLVMFuncOp function;
  unsigned buffers = 0, scalars = 0, maps = 0;      ///< Parameters, in this order.
  unsigned inputs = 0;                              ///< Of the buffers, the first ones.
  int64_t grid = 0, warps = 0, shared = 0;          ///< CTAs; of a CTA, bytes of dynamic shared memory.
  int64_t registers = 0;                            ///< Of a thread, about.
  std::vector<std::pair<unsigned, int64_t>> steady; ///< Inputs that nobody writes, and their bytes.
  RowBlocks rows;
  bool hasBulk = false;       ///< It reads or writes global memory through the asynchronous proxy.
  bool waitsForGrids = false; ///< For the kernels before it (griddepcontrol.wait): it may start while they run.
  bool isMap = false;         ///< No products by matrix instructions: memory bounds it.
  double bytes = 0;           ///< Of all that it reads and writes, each once.

  size_t parameterBytes() const { return 8 * (buffers + scalars) + 128 * maps; }
  llvm::StringRef getName() const { return mlir::ModuleOp(module).getSymName().value_or("kernel"); }
};

/// An operand of a part that another part of its launch writes.
struct Wire {
  unsigned reader = 0, input = 0;  ///< Part, and which of its inputs.
  unsigned writer = 0, result = 0; ///< Part before it, and which of its results.
};

/// What a block of rows of the reader has to wait for: elements `step` b + `first` to `step` b + `last` of the wire's
/// tensor, of which a block of the writer's makes `written`; all of the writer if `written` is 0.
struct Need {
  int64_t step = 0, first = 0, last = 0, written = 0;
};
Need findNeed(llvm::ArrayRef<Part> parts, const Wire &wire);

/// Blocks of a part's rows that share a counter, so that a part has at most `kMostBlocks` of them.
inline constexpr int64_t kMostBlocks = 256;
int64_t countShared(const RowBlocks &rows);

/// CTAs of the two parts of a chain that make a group: the reader's need nothing of later groups.
struct Interleaving {
  int64_t writers = 0, readers = 0, groups = 0;
};
/// The order chain<height>: groups of `height` blocks of the first part's rows, each followed by the second part's rows
/// that need them. None (with the reason) where the launch has not two parts that go by rows in step.
std::optional<Interleaving> findInterleaving(llvm::ArrayRef<Part> parts, llvm::ArrayRef<Wire> wires, int64_t height,
                                             std::string &reason);

/// The attribute `name` of `module`, 0 if there is none.
int64_t readInteger(mlir::ModuleOp module, llvm::StringRef name);

/// None for kernels whose grid depends on symbols, that have clusters, or that wait for the grids before them.
std::optional<Part> readPart(mlir::ModuleOp module);

/// CTAs of a launch of these parts on an SM.
int64_t countResident(llvm::ArrayRef<Part> parts, const Device &device);

/// Why the last of `parts` is better off in a launch of its own than behind the others; empty if it is not: together
/// some part has fewer CTAs on an SM than it can fill, or there are more parameters than a launch takes. What memory
/// bounds may have fewer where its bytes then take less time more than a launch; a map's do where too few are under
/// way.
std::string findObstacle(llvm::ArrayRef<Part> parts, const Device &device);

} // namespace weft::emit

#endif // WEFT_EMIT_MERGE_PART_H
