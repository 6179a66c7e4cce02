// A model that is no bundle yet: compiled by weft-compile into a temporary one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/CompiledModel.h"
#include "Explain.h"

using namespace weft;
using bundle::Error;

Error weft::explain::compileAndLoad(const std::string &folder, const std::string &path,
                                    const std::vector<std::string> &flags, const Symbols &symbols,
                                    const DeviceTable &devices, Model &model) {
  std::vector<std::string> all = {"--weights=omit"};
  all.insert(all.end(), flags.begin(), flags.end());
  tools::CompiledModel compiled;
  if (Error error = compiled.compile(folder, path, all))
    return error;
  return loadBundle(compiled.getPath(), symbols, devices, model);
}
