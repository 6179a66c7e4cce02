// Why a program is as it is: a part of its plan, and from there JSON for `weft explain`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes say what they decide in MLIR's remarks. The engine's streamer puts them down here, program by program, and at
// the end of Plan they become a `tg.decisions`, which is printed with the plan and read back with it. The JSON is
// written from that op and the kernels alone, so a program explains itself in the same way whether the compile stopped
// at its plan or not. docs/explain.md lists the fields.
#ifndef WEFT_PIPELINES_EXPLANATION_H
#define WEFT_PIPELINES_EXPLANATION_H

#include "mlir/IR/Remarks.h"
#include "weft/Pipelines/Compile.h"
#include "weft/Target/Device.h"
#include "llvm/Support/JSON.h"
#include <memory>

namespace weft {

class Explanation {
public:
  Explanation();
  ~Explanation();

  /// Categories that the engine must let through.
  static constexpr llvm::StringLiteral categories = "^(fusion|fold|plan|rewrite|levels|shard|overlap)";
  /// For `enableOptimizationRemarks`; may be called from any thread. The explanation must not outlive the context.
  std::unique_ptr<mlir::remark::detail::MLIRRemarkStreamerBase> makeStreamer();

  /// Takes the decisions of a plan that was read out of it. Call before the first program.
  void readPlan(mlir::ModuleOp planned);
  /// Adds the decisions of the program that was begun last, or of its variants, to its plan.
  void writePlan(mlir::ModuleOp planned);

  /// What follows is about the program for `gpu`, or for the CPU where it is null. Anything before is about all.
  void beginProgram(const Device *gpu);
  /// What follows is about the variant of that program for this interval.
  void beginVariant(llvm::StringRef interval);
  /// Whether remarks are taken down.
  void setListening(bool listens);
  /// Call with the kernels that schedules are for, before they are tiled.
  void measureKernels(mlir::ModuleOp program);
  /// Call after each phase of the program that was begun.
  void finishPhase(Phase phase, mlir::ModuleOp module);
  /// Call with the normalized module of the program or variant that was begun, before it is planned.
  void measureModel(mlir::ModuleOp normalized, int64_t nodes);

  /// The facts of the program for `target` ("cpu", "sm_90a"), which is lowered to `module`, or of its variants; nothing
  /// if there is none of the kind. Takes them away.
  std::vector<llvm::json::Object> takeProgram(llvm::StringRef target, mlir::ModuleOp module);

private:
  struct State;
  std::shared_ptr<State> state;
};

} // namespace weft

#endif // WEFT_PIPELINES_EXPLANATION_H
