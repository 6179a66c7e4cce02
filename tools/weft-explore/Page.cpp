// One file out of an .html: `<!-- styles -->` and `<!-- scripts -->` become the files' texts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Page.h"
#include "weft/Plan/Cost/Configuration.h"
#include "llvm/Support/Base64.h"

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

/// `frame` with devices, models, `data` (script statements), scripts and styles in it.
static std::string fillPage(StringRef frame, const std::string &data, llvm::ArrayRef<const char *> scripts,
                            llvm::ArrayRef<const char *> styles) {
  std::string page = getFile(frame).str(), style;
  std::string script = "<script>const weftDevices = " + escapeForScript(listDevices()) + ";\nconst weftModels = \"" +
                       llvm::encodeBase64(getFile("models.wasm")) + "\";\n" + data + "</script>\n";
  for (const char *name : scripts)
    script += "<script>\n" + getFile(name).str() + "</script>\n";
  for (const char *name : styles)
    style += "<style>\n" + getFile(name).str() + "</style>\n";
  replace(page, "<!-- styles -->", style);
  replace(page, "<!-- scripts -->", script);
  return page;
}

std::string weft::explore::makePage(StringRef launches) {
  return fillPage("index.html", "const weftLaunches = " + (launches.empty() ? "null" : escapeForScript(launches)) + ";",
                  {"models.js", "state.js", "grid.js", "charts.js", "app.js"}, {"style.css"});
}

std::string weft::explore::makeReport(StringRef explanation) {
  return fillPage(
      "report.html", "const weftExplanation = " + escapeForScript(explanation) + ";",
      {"models.js", "state.js", "grid.js", "report-graph.js", "report-tables.js", "report-roofline.js", "report.js"},
      {"style.css", "report.css"});
}
