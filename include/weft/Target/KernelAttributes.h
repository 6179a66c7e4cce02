// Attributes by which a lowered GPU kernel module says to Emit how it is started, and what else passes of several rooms
// know of it. docs/gpu-emit.md has an example.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_KERNELATTRIBUTES_H
#define WEFT_TARGET_KERNELATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace weft::gpu {

/// StringAttr: "sm_80", "sm_90a". Required.
inline constexpr llvm::StringLiteral targetAttr = "tk.target";
/// i64: warps of a CTA, 1 to 32. Required.
inline constexpr llvm::StringLiteral warpsAttr = "tk.warps";
/// i64: dynamic shared memory of a CTA in bytes; absent: 0.
inline constexpr llvm::StringLiteral sharedBytesAttr = "tk.shared_bytes";
/// i64: CTAs of the grid that wait for each other, which the GPU must hold at once; absent: none waits.
inline constexpr llvm::StringLiteral residentAttr = "tk.resident_ctas";
/// i64: CTAs of a cluster; absent: 1.
inline constexpr llvm::StringLiteral clusterAttr = "tk.cluster";
/// AffineMap of the kernel's symbols: number of CTAs, the least of its results. Required.
inline constexpr llvm::StringLiteral gridAttr = "tg.grid";
/// AffineMap of the kernel's symbols: the scalars that a dispatch passes, one for each i64 parameter. Absent: the
/// symbols themselves.
inline constexpr llvm::StringLiteral scalarsAttr = "tk.scalars";
/// Array of dictionaries, one for each tensor map parameter: {argument: i64 (buffer), box: array<i64>, swizzle: i64
/// (bytes: 0, 32, 64, 128), extents: affine map (elements), strides: affine map (bytes, of dimensions 1 and up)}, and
/// steps: array<i64> where the box does not have all elements from its first to its last. Dimension 0 is the innermost.
inline constexpr llvm::StringLiteral tensorMapsAttr = "tk.tensor_maps";
/// Array of i64, from outlining on: the operands that are inputs, weights or constants of the program at every dispatch
/// of the kernel, so that no kernel writes them while it runs. Absent: none is known.
inline constexpr llvm::StringLiteral steadyOperandsAttr = "tg.steady_operands";
/// Dictionary, from outlining on: a result is no tensor of its own, but the updates of a tg.scatter into memory that
/// the caller gives: {result: i64 (its number), type: that of the memory, updates: the type of the updates, to which
/// the result is reshaped, data_map, index_maps: as the scatter's, indices: i64 (the operand that has them), `places`:
/// its type there}. Types are over the kernel's symbols. CPU kernels have it, too.
inline constexpr llvm::StringLiteral intoAttr = "tg.into";
/// i64: lowest PTX ISA that has all the instructions, ten times the version (84); absent: the target's first.
inline constexpr llvm::StringLiteral ptxVersionAttr = "tk.ptx_version";

} // namespace weft::gpu

#endif // WEFT_TARGET_KERNELATTRIBUTES_H
