// LLVM's passes over a module, for CPU and GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_EMIT_PTX_RUNPASSES_H
#define WEFT_LIB_EMIT_PTX_RUNPASSES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Passes/PassBuilder.h"

namespace weft::emit {

/// Runs over `module` what `fill` adds.
inline llvm::Error runPasses(llvm::Module &module, llvm::TargetMachine &machine, llvm::PipelineTuningOptions tuning,
                             llvm::function_ref<llvm::Error(llvm::PassBuilder &, llvm::ModulePassManager &)> fill) {
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error failure = fill(builder, passes))
    return failure;
  passes.run(module, modules);
  return llvm::Error::success();
}

} // namespace weft::emit

#endif // WEFT_LIB_EMIT_PTX_RUNPASSES_H
