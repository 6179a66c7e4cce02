// Loops and branches of the program, where import cannot decide them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_LOOPS_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_LOOPS_H

#include "weft/Import/Onnx/Handler.h"

namespace weft::onnx {

/// A value along whose dimension 0 a loop goes.
struct ScannedValue {
  mlir::Value value;
  bool isReversed = false;
};

/// What one turn gives.
struct LoopTurn {
  llvm::SmallVector<mlir::Value> carried; ///< Of the types of the initial values.
  llvm::SmallVector<mlir::Value> pieces;
};

struct LoopResults {
  llvm::SmallVector<mlir::Value> carried, collected;
};

/// A counted loop: `build` gets what is carried and the rows of what is scanned. Piece i is put at the index of its
/// turn, counted from the end where `collectedReversed[i]`.
mlir::FailureOr<LoopResults>
buildCountedLoop(NodeContext &ctx, llvm::StringRef name, mlir::AffineExpr trips, mlir::ValueRange initial,
                 llvm::ArrayRef<ScannedValue> scanned, llvm::ArrayRef<bool> collectedReversed,
                 llvm::function_ref<mlir::FailureOr<LoopTurn>(mlir::ValueRange carried, mlir::ValueRange rows)> build);

/// `value` as one of exactly `type`: the same element type and rank, extents that are assumed to be equal. Null after
/// an error.
mlir::Value matchType(NodeContext &ctx, mlir::Value value, mlir::Type type, const llvm::Twine &what);

/// `value`, a result of the body being built, with the static extents that `declared` gives in place of those that the
/// body computes from data: no type outside can speak of these. They are assumed to be equal.
mlir::Value withDeclaredExtents(NodeContext &ctx, mlir::Value value, const ::onnx::ValueInfoProto &declared);

/// `value` before conversions and other shapes of one element.
mlir::Value origin(mlir::Value value);

/// The one expression of symbols that a value of one element holds.
std::optional<mlir::AffineExpr> exprOf(NodeContext &ctx, mlir::Value value);

/// ONNX Loop whose number of turns is only known when the model runs.
llvm::LogicalResult importRuntimeLoop(NodeContext &ctx, const ::onnx::GraphProto &body);

/// Whether `body` gives input `i` of its loop to the next turn as it is.
bool isPassedOn(const ::onnx::GraphProto &body, unsigned i);

/// Whether all that `body` does with the sequence that input `i` of its loop is, is to put one element behind it: the
/// elements of all turns are then a scan output.
bool isOnlyAppended(const ::onnx::GraphProto &body, unsigned i);

/// ONNX Loop that carries sequences and whose number of turns is data: as many as make the sequence that is a result of
/// the model as long as the user says, which the program checks.
llvm::LogicalResult importToldLoop(NodeContext &ctx, const ::onnx::GraphProto &body);

/// ONNX If as a branch of the program. Extents in which the branches' results differ are symbols that the program
/// binds.
llvm::LogicalResult importRuntimeIf(NodeContext &ctx, mlir::Value condition, const ::onnx::GraphProto &thenGraph,
                                    const ::onnx::GraphProto &elseGraph);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_LOOPS_H
