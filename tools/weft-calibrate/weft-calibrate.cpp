// weft-calibrate [--device=cuda:0] [--rank=R/N@HOST:PORT] [-o FILE.json]: microbenchmarks of a GPU, as a table with
// date and method.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/CommandLine.h"
#include "Calibration.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>

using namespace weft;
using namespace weft::calibrate;

static Error openCard(const std::string &device, std::unique_ptr<CalibratedCard> &card) {
  if (device.rfind("emu:", 0) == 0)
    return openEmulatedCard(device.substr(4), card);
  unsigned ordinal = 0;
  std::string number = device.rfind("cuda:", 0) == 0 ? device.substr(5) : device == "cuda" ? "0" : "";
  auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), ordinal);
  if (number.empty() || code != std::errc() || end != number.data() + number.size())
    return Error(ErrorCode::Usage, "--device: expected cuda, cuda:N or emu:GPU, got " + bundle::quote(device));
  return openCudaCard(ordinal, card);
}

/// Of the CPU only what goes from process to process.
static Error runLinks(const std::string &device, const std::string &rank) {
  LinkTimes links;
  if (Error error = measureLinks(device, rank, links))
    return error;
  std::printf("{\"device\": \"%s\",%s}\n", device.c_str(), formatLinks(links).c_str());
  return {};
}

static Error run(const std::string &device, const std::string &rank, const std::string &output) {
  std::unique_ptr<CalibratedCard> card;
  Calibration calibration;
  if (!rank.empty() && device == "cpu")
    return runLinks(device, rank);
  if (Error error = openCard(device, card))
    return error;
  Error failure = rank.empty() ? Error() : measureLinks(device, rank, calibration.links);
  if (!failure)
    failure = calibrateCard(*card, calibration);
  if (failure && calibration.steps == 0)
    return failure;
  std::string text = formatCalibration(calibration); // Also what was measured before a failure.
  std::FILE *file = output == "-" ? stdout : std::fopen(output.c_str(), "w");
  bool isWritten = file && std::fputs(text.c_str(), file) >= 0 && std::fflush(file) == 0;
  if (file && file != stdout)
    isWritten &= std::fclose(file) == 0;
  if (failure)
    return failure;
  return isWritten ? Error() : Error(ErrorCode::Input, "-o: cannot write " + bundle::quote(output));
}

int main(int argc, char **argv) {
  std::string device = "cuda:0", output = "-", rank;
  CLI::App app("Measure a GPU: bandwidths, effective L2, latencies, launches, barriers, matrix units",
               "weft-calibrate");
  app.add_option("--device", device, "cuda:N (default cuda:0), or emu:GPU to see that the benchmarks run");
  app.add_option("--rank", rank,
                 "R/N@HOST:PORT, or env: this process is rank R of N, each with a GPU (or --device=cpu); links between "
                 "them are measured, too");
  app.add_option("-o", output, "Where the table goes (JSON; -: standard output)")->option_text("FILE");
  int exitCode = 0;
  if (tools::parse(app, argc, argv, exitCode))
    return exitCode;
  Error error = run(device, rank, output);
  return error ? tools::reportError("weft-calibrate", error) : 0;
}
