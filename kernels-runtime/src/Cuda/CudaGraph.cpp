// Recorded launches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the header. The driver lets an executable graph be destroyed while it runs.
#include "CudaGraph.h"

#include <utility>

using namespace weft;
using namespace weft::cuda;
using namespace weft::bundle;

CudaGraph::~CudaGraph() {
  if (!executable)
    return;
  Context::Scope scope(*context);
  (void)context->getDriver().graphExecDestroy(executable);
}

Error CudaGraph::beginCapture(const Driver &driver, Handle stream) {
  return driver.check(driver.streamBeginCapture(stream, kCaptureThreadLocal), "cuStreamBeginCapture");
}

Error CudaGraph::endCapture(Handle stream) {
  const Driver &driver = context->getDriver();
  Handle graph = nullptr;
  Error error = driver.check(driver.streamEndCapture(stream, &graph), "cuStreamEndCapture");
  if (!error)
    error = take(graph);
  if (graph)
    (void)driver.graphDestroy(graph);
  return error;
}

Error CudaGraph::take(Handle graph) {
  const Driver &driver = context->getDriver();
  GraphUpdateInfo info = {};
  if (executable && driver.graphExecUpdate(executable, graph, &info) == result::Success)
    return {};
  if (Handle old = std::exchange(executable, nullptr))
    (void)driver.graphExecDestroy(old);
  return driver.check(driver.graphInstantiate(&executable, graph, 0), "cuGraphInstantiate");
}

Error CudaGraph::launch(Handle stream) const {
  const Driver &driver = context->getDriver();
  return driver.check(driver.graphLaunch(executable, stream), "cuGraphLaunch");
}
