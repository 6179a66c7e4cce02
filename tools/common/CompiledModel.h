// A model where a bundle is expected: compiled by weft-compile into a temporary file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_COMMON_COMPILEDMODEL_H
#define WEFT_TOOLS_COMMON_COMPILEDMODEL_H

#include "weft/Bundle/Error.h"

#include <string>
#include <vector>

namespace weft::tools {

/// The folder of this executable, without a final slash; empty if the system does not say.
std::string getOwnFolder();

/// True for names that end in ".weft".
bool isBundle(const std::string &path);
/// True for names that end in ".onnx".
bool isModel(const std::string &path);

/// A bundle in the folder of temporary files, which is removed with this object.
class CompiledModel {
public:
  CompiledModel() = default;
  CompiledModel(const CompiledModel &) = delete;
  CompiledModel &operator=(const CompiledModel &) = delete;
  ~CompiledModel();

  /// Once. `folder`: where weft-compile is; what it has to say goes to stderr. The error's code is its exit code.
  bundle::Error compile(const std::string &folder, const std::string &model, const std::vector<std::string> &flags);
  const std::string &getPath() const { return path; }

private:
  std::string path;
};

/// Where `path` is a model, compiles it for the device that runs it ("cpu", "emu:H100"; for a GPU `flags` must name
/// the target) with the weft-compile beside this executable; `bundle` is then the file to open. Else flags are an
/// error.
bundle::Error compileIfModel(const std::string &path, const std::string &device, const std::vector<std::string> &flags,
                             CompiledModel &compiled, std::string &bundle);

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_COMPILEDMODEL_H
