// A kernel with offsets in shared memory as a part of a launch of several: what it needs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SCHEDULE_LAUNCHPART_H
#define WEFT_SCHEDULE_LAUNCHPART_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Target/Device.h"
#include <string>
#include <vector>

namespace weft::schedule {

inline constexpr int64_t kWarpThreads = 32;
/// Of one launch: parts, parameters in bytes (the driver takes 4 KB), tensor maps (the bundle takes 16).
inline constexpr size_t kMostParts = 24, kMostParameterBytes = 4000, kMostTensorMaps = 16;

/// What the CTAs of a part write and read (weft/Target/RowBlocks.h): `ctas` of them make a block of rows.
struct RowBlocks {
  int64_t ctas = 0, blocks = 0;            ///< 0: nothing is known of them.
  std::vector<int64_t> writes;             ///< Of each result, elements of a block; 0: any.
  std::vector<std::vector<int64_t>> reads; ///< Of each input: step, first, last; empty: any.
};

/// A kernel that can be a part.
struct Part {
  mlir::ModuleOp module;
  mlir::func::FuncOp function;
  unsigned buffers = 0, symbols = 0, maps = 0; ///< Parameters: tensors, symbols, and tensor maps at most.
  unsigned inputs = 0;                         ///< Of the buffers, the first ones.
  mlir::AffineMap ctas;                        ///< Of the symbols: the least of its results.
  int64_t grid = 0, warps = 0, shared = 0;     ///< CTAs, 0: they depend on symbols; of a CTA, bytes of shared memory.
  int64_t registers = 0;                       ///< Of a thread, about.
  RowBlocks rows;
  bool isMap = false; ///< No products by matrix instructions: memory bounds it.
  double bytes = 0;   ///< Of all that it reads and writes, each once.

  /// A tensor map comes with a scalar for each extent and stride at most.
  size_t parameterBytes() const { return 8 * (buffers + symbols) + (128 + 9 * 8) * maps; }
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

/// CTAs of a kernel's launch as a map of its symbols, the least of the results: one (a cluster) for each tile, or, of
/// persistent ones, at most one for each SM.
mlir::AffineMap findGrid(mlir::func::FuncOp kernel);
/// CTAs of a grid that depends on no symbol, else 0.
int64_t findStaticGrid(mlir::AffineMap grid);

/// The kernel that a dispatch starts. None for kernels whose CTAs meet: in clusters, or in variables of the module.
std::optional<Part> readPart(tg::DispatchOp dispatch, mlir::ModuleOp module);

/// What keeps parts from sharing a launch whatever it would gain; empty: nothing.
std::string findLimit(llvm::ArrayRef<Part> parts, const Device &device);

/// CTAs of a launch of these parts that an SM has at once, with as many registers a thread as that leaves; 0: none.
int64_t countResident(llvm::ArrayRef<Part> parts, const Device &device);
int64_t countResident(int64_t warps, int64_t shared, int64_t registers, const Device &device);

/// Dispatches that start as one kernel, writers before readers; `parts` is empty for a kernel that cannot be a part.
struct Launch {
  llvm::SmallVector<tg::DispatchOp> dispatches;
  llvm::SmallVector<Part> parts;
};

/// Whether kernels of the program may start together: levels know operands only, and a launch may not reach across an
/// op that binds symbols or runs a body.
bool canShareLaunches(mlir::func::FuncOp main);

/// Operands of the launch's dispatches that its other dispatches write.
llvm::SmallVector<Wire> findWires(const Launch &launch);

/// The same for launches of the same parts that are wired in the same way: they are one kernel.
std::string nameLaunch(const Launch &launch, llvm::ArrayRef<Wire> wires);

} // namespace weft::schedule

#endif // WEFT_SCHEDULE_LAUNCHPART_H
