// tk.launch: the code of several kernels in one function, and what binds them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A task is lowered as a kernel of its own is, in a function of its own, whose last parameters are the number of its
// CTA and how many its kernel has. The launch's function then takes the bodies: one branch for each, or a loop over the
// CTA's tasks with the branches in it.
//
// Counters in global memory tell who waits that others are done. There are two sets of them: a launch counts in one and
// clears the other, which the next one counts in, so counts need no history and may be others for other extents. A word
// for each CTA says which: all CTAs run in each launch. Launches of one module on one session come one after the
// other, and its memory is the session's own.
#ifndef WEFT_LIB_LOWER_TILEKERNELTONVVM_LAUNCHLOWERING_H
#define WEFT_LIB_LOWER_TILEKERNELTONVVM_LAUNCHLOWERING_H

#include "KernelInfo.h"

namespace weft::gpu {

class LaunchLowering {
public:
  LaunchLowering(mlir::func::FuncOp kernel, tk::LaunchOp launch);

  unsigned size() const { return tasks.size(); }
  mlir::func::FuncOp getFunction(unsigned task) const { return tasks[task].function; }
  /// Adds its parameters to a task's function, ahead of its lowering.
  LaunchFrame makeFrame(unsigned task);
  /// Of a function that was lowered: its parameter, i32.
  mlir::Value getCta(unsigned task) const;
  /// A function that was lowered, ahead of what it asks for at its begin: there it will wait.
  void take(unsigned task, std::shared_ptr<KernelInfo> info);
  /// The function of all tasks, when these are there; theirs are gone. Fails if a number of CTAs is neither known nor a
  /// product.
  mlir::FailureOr<mlir::func::FuncOp> finish();
  int64_t getWarps() const { return warps; }
  /// CTAs that an SM must be able to hold at once.
  int64_t getCtasOfSm() const;

private:
  struct Task {
    tk::TaskOp op;
    mlir::func::FuncOp function;
    std::shared_ptr<KernelInfo> info;
    mlir::Operation *begin = nullptr; ///< Of what comes behind the waits.
    bool copiesInGroups = false, usesBulk = false, storesInBulk = false;
    mlir::Value ctas; ///< i32, in the launch's function.
    int64_t firstCounter = 0, counters = 0;
    unsigned firstMap = 0; ///< Of the launch's parameters, its first tensor map.
  };

  mlir::Value makeInt(int64_t value);
  mlir::Value isBelow(mlir::Value value, mlir::Value bound);
  void emit(llvm::StringRef text, mlir::ValueRange operands = {}, llvm::StringRef constraints = "");
  mlir::Value load(llvm::StringRef text, mlir::Value address);
  mlir::Value move(mlir::Value address, mlir::Value count, int64_t bytes);
  /// What `build` emits runs where the condition holds.
  void when(mlir::Value condition, llvm::function_ref<void()> build);

  void makeFunction();
  void evaluateCtas();
  void emitTask(Task &task, mlir::Value cta);
  void emitBody(Task &task, mlir::Value cta);
  void emitWaits(Task &task, mlir::Value cta);
  void emitPolls(tk::AwaitAttr await, mlir::Value cta, int64_t threads);
  void emitEnd(Task &task, mlir::Value cta);
  void emitInOrder(unsigned task, mlir::Value number);
  void emitInTurns(mlir::Value number);
  void emitLoop();
  void collectAttributes();
  std::optional<int64_t> countTasks() const;
  int64_t countCtas() const;

  mlir::func::FuncOp kernel, whole;
  tk::LaunchOp launch;
  mlir::OpBuilder builder;
  mlir::Location loc;
  std::vector<Task> tasks;
  int64_t warps = 1, counters = 0, resident = 0;
  mlir::Value thread, base; ///< In the launch's function: i32, and the first counter of this launch's set.
};

} // namespace weft::gpu

#endif // WEFT_LIB_LOWER_TILEKERNELTONVVM_LAUNCHLOWERING_H
