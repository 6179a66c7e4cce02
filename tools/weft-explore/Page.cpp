// One file out of index.html: `<!-- styles -->` and `<!-- scripts -->` become the files' texts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Explore.h"

using namespace weft;
namespace json = llvm::json;
using llvm::StringRef;

static StringRef getFile(StringRef name) {
  for (const explore::WebFile &file : explore::getWebFiles())
    if (name == StringRef(file.name))
      return file.text;
  return "";
}

/// Name, SMs, L2 and its halves, DRAM bandwidth and matrix rate of every device.
static std::string listDevices() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  json::OStream out(stream);
  out.array([&] {
    for (const Device &device : getDevices()) {
      plan::MachineModel machine = plan::makeMachine(device);
      out.object([&] {
        out.attribute("name", device.name);
        out.attribute("sms", machine.sms);
        out.attribute("bytes", machine.cache.bytes);
        out.attribute("partitions", machine.cache.partitions);
        out.attribute("drift", machine.drift);
        out.attribute("smsPerPort", machine.smsPerPort);
        out.attribute("bandwidth", device.memoryBandwidth);
        out.attribute("flops", device.perSecond(device.matrix.f16));
      });
    }
  });
  return text;
}

/// JSON within a script element: "<" could end it.
static std::string escapeForScript(StringRef text) {
  std::string result;
  for (char c : text) {
    if (c == '<')
      result += "\\u003c";
    else
      result += c;
  }
  return result;
}

static void replace(std::string &text, StringRef mark, const std::string &by) {
  size_t place = text.find(mark.str());
  if (place != std::string::npos)
    text.replace(place, mark.size(), by);
}

std::string weft::explore::makePage(StringRef launches) {
  std::string page = getFile("index.html").str(), scripts;
  scripts += "<script>const weftDevices = " + escapeForScript(listDevices()) +
             ";\nconst weftLaunches = " + (launches.empty() ? "null" : escapeForScript(launches)) + ";</script>\n";
  for (const char *name : {"model.js", "orders.js", "bounds.js", "state.js", "grid.js", "charts.js", "app.js"})
    scripts += "<script>\n" + getFile(name).str() + "</script>\n";
  replace(page, "<!-- styles -->", "<style>\n" + getFile("style.css").str() + "</style>");
  replace(page, "<!-- scripts -->", scripts);
  return page;
}
