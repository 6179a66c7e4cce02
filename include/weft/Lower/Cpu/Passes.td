// Passes of the CPU strategy: a kernel module of linalg ops on tensors becomes one native function of the kernel ABI.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LOWER_CPU_PASSES_TD
#define WEFT_LOWER_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

// The passes run in this order (weft::cpu::buildKernelPipeline). A *kernel module* holds one public function, whose index arguments
// are the kernel's symbols. Module attributes that the passes read and write:
//   tg.operand_dims, tg.result_dims   arrays of affine maps: extents of each operand and result over the symbols (absent: all static)
//   tg.ops                            names of the tg ops the kernel was made of
//   tg.tile_sizes                     tile of each dimension of the root op (0: whole); the plan (weft-cpu-choose-tiles)
//   tg.grid                           affine map of the symbols: number of grid points
//   tg.scratch                        affine map of the symbols: bytes of scratch memory of one worker

def RecordShapes : Pass<"weft-cpu-record", "::mlir::ModuleOp"> {
  let summary = "record extents and ops of a kernel before it is lowered to linalg";
  let description = [{
    Sets `tg.operand_dims`, `tg.result_dims` and `tg.ops` (names of the kernel's tg ops, for `explain`) from the kernel in `tg` form.
  }];
}

def FuseElementwise : Pass<"weft-cpu-fuse", "::mlir::ModuleOp"> {
  let summary = "fuse elementwise linalg ops into their consumers";
  let description = [{
    Generalises named ops, then folds elementwise producers (casts, transposes, arithmetic) into consumers. A producer with several
    uses, or one that its consumer would repeat along a broadcast dimension, is folded only if its body is cheap.
  }];
}

def Destination : Pass<"weft-cpu-destination", "::mlir::ModuleOp"> {
  let summary = "turn tensor arguments and results into memory";
  let description = [{
    `@kernel(tensor..., index...) -> tensor...` becomes `@kernel(memref..., index...)` with one argument per operand, then one per
    result, which the function writes. Extents of operands become expressions of the symbols.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::affine::AffineDialect", "::mlir::tensor::TensorDialect"];
}

def ChooseTiles : Pass<"weft-cpu-choose-tiles", "::mlir::ModuleOp"> {
  let summary = "choose the tile of the root op";
  let description = [{
    The root is the op that makes the kernel's result. `tg.tile_sizes` has an extent for each of its loops, 0 where it is whole. Those that
    are there stay, but have to be as many as there are loops, and not negative. This is what the CPU's plan decides; it needs the kernel in linalg, so the
    phase Plan finds it on a copy where it is printed, and Lower on its way where it is not.
  }];
}

def TileToGrid : Pass<"weft-cpu-tile", "::mlir::ModuleOp"> {
  let summary = "tile the root op over the grid and fuse its producers into the tile";
  let description = [{
    The parallel dimensions of the root (`weft-cpu-choose-tiles`) become one `scf.forall` of tiles of `tg.tile_sizes`, and producers are computed tile by
    tile inside. A kernel without such a root, or without tile sizes, stays as it is and runs as one grid point.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::affine::AffineDialect", "::mlir::tensor::TensorDialect"];
}

def Bufferize : Pass<"weft-cpu-bufferize", "::mlir::ModuleOp"> {
  let summary = "tensors become memory";
  let description = [{
    One-shot bufferisation inside the kernel function; temporaries become `memref.alloc`, copies become linalg ops.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::linalg::LinalgDialect"];
}

def LowerContractions : Pass<"weft-cpu-contract", "::mlir::ModuleOp"> {
  let summary = "contractions become packed panels and a register-tile kernel";
  let description = [{
    Recognises `out += f(x) * g(y)` generics whose maps are affine, sorts their dimensions into batch, M, N and K, packs operands
    into panels (which covers transposes, windows and type conversions alike) and multiplies register tiles with vector ops. Where M is
    at most 6 and a loop of N or K is contiguous, columns are read in place instead; where M is known at run time only, a branch reads them so for up to
    3 rows, one after the other. Functions of a field of few bits are looked up in a register. Where the innermost loop of K takes four
    neighbouring bytes of both factors, u8 and i8, they are one element, and one instruction (or, without VNNI, two of 16 bits) multiplies and adds all four.
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", "512", "width of a vector register in bits">,
    Option<"registerRows", "register-rows", "unsigned", "8", "rows of the register tile">,
    Option<"addsQuads", "adds-quads", "bool", "false", "four products of u8 by i8 are added up in i32 by one instruction (AVX-512 VNNI)">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect", "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect"];
}

def LowerToLoops : Pass<"weft-cpu-loops", "::mlir::ModuleOp"> {
  let summary = "remaining linalg ops become loops in an order that vectorises";
  let description = [{
    The innermost loop is the dimension with the best strides. Where that is a reduction, the combiner may be reassociated (the
    licence of reductions).
  }];
  let options = [Option<"fastMath", "fast-math", "bool", "false", "set fastmath on all floating-point ops">];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect"];
}

def PlaceScratch : Pass<"weft-cpu-scratch", "::mlir::ModuleOp"> {
  let summary = "temporaries move to the stack or to scratch arguments";
  let description = [{
    Each `memref.alloc` gets an upper bound on its size over the kernel's symbols. Small constant ones live on the stack of the
    function; the others become arguments, whose sizes are listed in the module attribute `tg.scratch_parts`.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::affine::AffineDialect"];
}

def GridLoop : Pass<"weft-cpu-grid", "::mlir::ModuleOp"> {
  let summary = "the grid becomes one loop over [begin, end)";
  let description = [{
    Appends the arguments `begin` and `end`; the `scf.forall` becomes a loop over linear grid points. Sets `tg.grid`.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect"];
}

def KernelEntry : Pass<"weft-cpu-entry", "::mlir::ModuleOp"> {
  let summary = "add the function of the kernel ABI";
  let description = [{
    After the conversion to the LLVM dialect: `@entry(buffers, scalars, begin, end, scratch)` loads its pointers and calls the body.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // WEFT_LOWER_CPU_PASSES_TD
