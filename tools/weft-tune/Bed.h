// One kernel's schedules side by side on a device: the same inputs for all, results compared, times in turns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TUNE_BED_H
#define WEFT_TUNE_BED_H

#include "Tensor.h"
#include "weft/runtime.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weft::tune {

using bundle::Error;
using bundle::ErrorCode;

/// A bundle that is open on a device, with its inputs.
class Program {
public:
  virtual ~Program() = default;
  /// Runs it once and copies the results.
  virtual Error run(std::vector<run::Tensor> &results) = 0;
  /// Appends the seconds of one run with cold caches.
  virtual Error time(std::vector<double> &seconds) = 0;
};

class Bed {
public:
  virtual ~Bed() = default;
  /// "NVIDIA H100 80GB HBM3", or what stands for it.
  virtual std::string getCard() const = 0;
  /// Whether it measures times.
  virtual bool hasClock() const { return true; }
  /// Inputs of the kernel whose first bundle is `path`; `dims`: extents of its symbols. Those of the last one are gone.
  virtual Error begin(const std::string &path, const std::map<std::string, int64_t> &dims) = 0;
  virtual std::vector<run::Tensor> &getInputs() = 0;
  virtual Error open(const std::string &path, std::unique_ptr<Program> &program) = 0;

  /// "cuda[:N]" or "emu:GPU".
  static Error create(const std::string &device, std::unique_ptr<Bed> &bed);
};

/// Opens bundles in processes of their own, so that the driver has their code when it is wanted, until `seconds` are
/// over or the last one is done.
void warmUp(const std::vector<std::string> &paths, const std::string &device, unsigned processes, double seconds);

/// The results of a bundle for the CPU.
Error runOnHost(const std::string &path, std::vector<run::Tensor> &inputs, std::vector<run::Tensor> &results);

/// "" if the results agree: integers are equal, and floats as far as sums in another order are.
std::string compareResults(const std::vector<run::Tensor> &got, const std::vector<run::Tensor> &want);

/// Seconds of a clock that never goes back.
double now();

} // namespace weft::tune

#endif // WEFT_TUNE_BED_H
