// A run as a trace: Chrome's JSON, which ui.perfetto.dev and chrome://tracing open. Times are microseconds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Runner.h"

#include <cstdio>

using namespace weft;
using namespace weft::run;
using namespace weft::bundle;

namespace {
/// Rows of the trace.
enum Row { HostRow = 1, KernelRow = 2 };
} // namespace

static std::string describeArguments(const weft_event &event, const weft_dispatch &dispatch) {
  if (event.kind == WEFT_EVENT_COPY)
    return "{\"bytes\": " + std::to_string(event.size) + "}";
  if (event.kind != WEFT_EVENT_DISPATCH)
    return "{}";
  std::string nodes;
  for (size_t i = 0; i < dispatch.origin_count; ++i)
    nodes += (i ? ", " : "") + quoteJson(dispatch.origins[i]);
  return "{\"nodes\": [" + nodes + "], \"grid\": " + std::to_string(event.size) + "}";
}

static std::string describeRow(Row row, const std::string &name) {
  return "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 1, \"tid\": " + std::to_string(row) +
         ", \"args\": {\"name\": " + quoteJson(name) + "}}";
}

Error Runner::writeTrace(const std::string &path) const {
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n" + describeRow(HostRow, "program") + ",\n" +
                     describeRow(KernelRow, "kernels on " + options.device);
  weft_event event, first = {};
  for (size_t i = 0; weft_session_event(session.get(), i, &event) == 0; ++i)
    if (event.kind == WEFT_EVENT_RUN)
      first = event;
  for (size_t i = 0; weft_session_event(session.get(), i, &event) == 0; ++i) {
    weft_dispatch dispatch = {};
    std::string name = event.kind == WEFT_EVENT_RUN      ? "run " + getEntryName()
                       : event.kind == WEFT_EVENT_SHAPES ? "extents and memory"
                                                         : "copy";
    if (event.kind == WEFT_EVENT_DISPATCH) {
      weft_session_dispatch(session.get(), size_t(event.dispatch), &dispatch);
      name = dispatch.kernel;
    }
    char times[128];
    std::snprintf(times, sizeof times, "\"ts\": %.3f, \"dur\": %.3f", double(event.begin_ns - first.begin_ns) / 1e3,
                  double(event.duration_ns) / 1e3);
    text += ",\n{\"ph\": \"X\", \"name\": " + quoteJson(name) +
            ", \"pid\": 1, \"tid\": " + std::to_string(event.kind == WEFT_EVENT_DISPATCH ? KernelRow : HostRow) + ", " +
            times + ", \"args\": " + describeArguments(event, dispatch) + "}";
  }
  text += "\n]}\n";
  std::FILE *file = std::fopen(path.c_str(), "w");
  bool isWritten = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file)
    isWritten &= std::fclose(file) == 0;
  return isWritten ? Error() : Error(ErrorCode::Input, "--trace: cannot write " + quote(path));
}
