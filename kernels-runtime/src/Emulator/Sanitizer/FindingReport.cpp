// Findings for people and for programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages come from PTX text and may hold anything: JSON strings are escaped.

#include "Emulator/Sanitizer/FindingReport.h"

#include <cinttypes>
#include <cstdio>

using namespace weft::emu;

std::string weft::emu::formatFindings(const std::vector<Finding> &findings) {
  std::string text;
  for (const Finding &finding : findings) {
    text += finding.kind + ": " + finding.message;
    if (finding.count > 1)
      text += " (" + std::to_string(finding.count) + " times)";
    text += "\n";
  }
  return text;
}

static std::string triple(const Dim3 &value) {
  return "[" + std::to_string(value.x) + ", " + std::to_string(value.y) + ", " + std::to_string(value.z) + "]";
}

std::string weft::emu::formatFindingsJson(const std::vector<Finding> &findings) {
  std::string text = "[";
  for (size_t i = 0; i < findings.size(); ++i) {
    const Finding &finding = findings[i];
    char address[32];
    snprintf(address, sizeof(address), "\"0x%" PRIx64 "\"", finding.address);
    text += i ? ",\n " : "\n ";
    text += "{\"kind\": " + bundle::quoteJson(finding.kind) + ", \"kernel\": " + bundle::quoteJson(finding.kernel) +
            ", \"line\": " + std::to_string(finding.line) + ", \"column\": " + std::to_string(finding.column) +
            ", \"cta\": " + triple(finding.cta) + ", \"thread\": " + triple(finding.thread) +
            ", \"address\": " + address + ", \"count\": " + std::to_string(finding.count) +
            ", \"message\": " + bundle::quoteJson(finding.message) + "}";
  }
  return text + "\n]\n";
}
