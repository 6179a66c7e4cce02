// A launch and a machine as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the explorer's page exports, `weft explore --numbers` computes and `weft counters` predicts: docs/explorer.md
// has the fields.
#ifndef WEFT_PLAN_COST_CONFIGURATION_H
#define WEFT_PLAN_COST_CONFIGURATION_H

#include "weft/Plan/Cost/Bounds.h"
#include "weft/Plan/Cost/Simulate.h"
#include "weft/Target/DeviceTable.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace weft::plan {

/// What multiplies; Unknown: no instructions are predicted.
enum class MatrixEngine : uint8_t { Unknown, Simt, Mma, Wgmma };

/// What matrix units execute in a launch as it was compiled: instructions of all warps, and bytes of shared memory that
/// they read, of each of `tiles` tiles and of each step of the model. Where both are there a tile's own are those of
/// one of its steps.
struct MatrixWork {
  bool isGmma = false; ///< wgmma, else mma.sync.
  double tiles = 0, fixed = 0, fixedBytes = 0, perStep = 0, perStepBytes = 0;
};

struct Configuration {
  enum class Kind : uint8_t { Gemm, Chain, Attention, Tiles };

  std::string name;
  Kind kind = Kind::Gemm;
  MatrixEngine engine = MatrixEngine::Unknown;
  std::optional<MatrixWork> matrix; ///< Else counted by `engine` and tile, of kinds that have one tile shape.
  int64_t warps = 4;                ///< Of a block, those that multiply.
  bool isPersistent = false;        ///< Blocks take several tiles.
  int64_t headDim = 128;            ///< Attention only.
  LaunchModel launch;
  AffineGroup group; ///< Without statements the bound is what is compulsory.
  MachineModel machine;
  Traversal traversal;
  int64_t elementBytes = 2;
  int64_t tileM = 128, tileN = 128, tileK = 64;
  const Device *device = nullptr; ///< Null where the machine is described by hand.
  llvm::json::Object measured;    ///< Metrics of ncu by name; may be empty.
  llvm::json::Object source;      ///< What was read, without predictions.
};

/// Reads one configuration. On failure returns false and says in `error` which field is wrong.
bool readConfiguration(const llvm::json::Value &value, Configuration &result, std::string &error,
                       const DeviceTable &devices = {});

/// An array of configurations, one, or an object with an array `launches`; from a file's text.
bool readConfigurations(llvm::StringRef text, std::vector<Configuration> &result, std::string &error,
                        const DeviceTable &devices = {});

/// The problem of kind `tiles` of a launch of one stage; for the bound with `batch` products of m x n x k elements
/// where there are some, else the group, if there is one.
struct ProductExtents {
  int64_t batch = 1, m = 1, n = 1, k = 1;
};
llvm::json::Object writeTilesLaunch(const LaunchModel &launch, const std::optional<ProductExtents> &product,
                                    const AffineGroup *group = nullptr);

llvm::json::Object writeMatrixWork(const MatrixWork &work);

/// The bytes that any schedule of the launch moves between the L2 and DRAM, at least the compulsory ones.
bool computeBound(const Configuration &configuration, TrafficBound &bound, std::string &error);

/// SMs, cache and halves of a device; one block on each SM.
MachineModel makeMachine(const Device &device);

} // namespace weft::plan

#endif // WEFT_PLAN_COST_CONFIGURATION_H
