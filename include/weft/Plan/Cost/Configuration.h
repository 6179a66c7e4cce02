//===- Configuration.h - A launch and a machine as JSON -----------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// What the explorer's page exports, `weft explore --numbers` computes and `weft counters` predicts: docs/explorer.md
// has the fields.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef WEFT_PLAN_COST_CONFIGURATION_H
#define WEFT_PLAN_COST_CONFIGURATION_H

#include "weft/Plan/Cost/Bounds.h"
#include "weft/Plan/Cost/Simulate.h"
#include "weft/Target/Device.h"
#include "llvm/Support/JSON.h"

namespace weft::plan {

/// What multiplies; Unknown: no instructions are predicted.
enum class MatrixEngine : uint8_t { Unknown, Simt, Mma, Wgmma };

struct Configuration {
  enum class Kind : uint8_t { Gemm, Chain, Attention };

  std::string name;
  Kind kind = Kind::Gemm;
  MatrixEngine engine = MatrixEngine::Unknown;
  int64_t warps = 4;         ///< Of a block, those that multiply.
  bool isPersistent = false; ///< Blocks take several tiles.
  int64_t headDim = 128;     ///< Attention only.
  LaunchModel launch;
  AffineGroup group;
  MachineModel machine;
  Traversal traversal;
  int64_t elementBytes = 2;
  int64_t tileM = 128, tileN = 128, tileK = 64;
  const Device *device = nullptr; ///< Null where the machine is described by hand.
  llvm::json::Object measured;    ///< Metrics of ncu by name; may be empty.
  llvm::json::Object source;      ///< What was read, without predictions.
};

/// Reads one configuration. On failure returns false and says in `error` which field is wrong.
bool readConfiguration(const llvm::json::Value &value, Configuration &result, std::string &error);

/// An array of configurations, one, or an object with an array `launches`; from a file's text.
bool readConfigurations(llvm::StringRef text, std::vector<Configuration> &result, std::string &error);

/// SMs, cache and halves of a device; one block on each SM.
MachineModel makeMachine(const Device &device);

} // namespace weft::plan

#endif // WEFT_PLAN_COST_CONFIGURATION_H
