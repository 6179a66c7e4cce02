// Another program, run to its end by any thread.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's way to limit the time of a child is SIGALRM, of which a process has one: with several threads the signal goes
// to another one, so that nobody ends a child that hangs, and each child that ends stops the clock of the others. Here
// a wait has its own clock, and the process keeps its signals.
#ifndef WEFT_SUPPORT_PROCESS_H
#define WEFT_SUPPORT_PROCESS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <chrono>
#include <string>

namespace weft {

struct ProcessResult {
  int exitCode = 0;
  std::string output; ///< Of stdout and stderr, as they came: the first 16 MiB.
};

/// Runs `arguments[0]`, a path, with these arguments and no input, and waits until it ends; not for what it starts in
/// turn. An error without the path if it cannot be started, ends by a signal, or takes longer than `limit`: then it is
/// killed.
llvm::Expected<ProcessResult> runProcess(llvm::ArrayRef<std::string> arguments, std::chrono::milliseconds limit);

} // namespace weft

#endif // WEFT_SUPPORT_PROCESS_H
