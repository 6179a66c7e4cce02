// See the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tuner.h"
#include "Bed.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>
#include <thread>
#include <unistd.h>

using namespace weft;
using namespace weft::tune;
using run::Tensor;
namespace fs = std::filesystem;

static const char *const kListName = "candidates.jsonl", *const kTimesName = "times.jsonl",
                         *const kSchema = "weft.records/1";

//===--- What there is to do ---===//

std::string Kernel::getKey() const {
  Fields key = candidates.front().line;
  key.values["device"] = bundle::quoteJson(device);
  return tune::getKey(key);
}

std::string tune::getKey(const Fields &record) {
  return record.getRaw("subgraph") + record.getRaw("device") + record.getRaw("shapes");
}

/// The kernels of one list.
static Error readList(const fs::path &folder, std::vector<Kernel> &kernels) {
  std::vector<Fields> lines;
  bool isTorn = false;
  fs::path list = folder / kListName;
  if (Error error = readLines(list.string(), lines, isTorn))
    return error;
  if (lines.empty() || lines.front().getText("schema") != "weft.candidates/1")
    return Error(ErrorCode::Input, bundle::quote(list.string()) + ": expected schema weft.candidates/1, as `weft "
                                                                  "compile --emit=candidates` writes it");
  std::string last;
  for (size_t i = 1; i < lines.size(); ++i) {
    std::string name = lines[i].getText("bundle");
    if (name.empty() || name.find('/') != name.npos || lines[i].getText("subgraph").empty() ||
        lines[i].getText("schedule").empty() || lines[i].getRaw("shapes").empty())
      return Error(ErrorCode::Input, bundle::quote(list.string()) + ": line " + std::to_string(i + 1) +
                                         ": expected bundle, subgraph, shapes and schedule");
    std::string key = tune::getKey(lines[i]);
    if (key != last) {
      kernels.emplace_back();
      kernels.back().name = lines[i].getText("kernel");
      kernels.back().device = lines.front().getText("device");
      kernels.back().version = lines.front().getText("version");
      std::string reference = lines[i].getText("reference");
      if (!reference.empty() && reference.find('/') == reference.npos)
        kernels.back().reference = (folder / reference).string();
    }
    last = key;
    kernels.back().candidates.push_back({(folder / name).string(), lines[i]});
  }
  return {};
}

Error tune::readKernels(const std::string &folder, std::vector<Kernel> &kernels) {
  std::error_code code;
  std::vector<fs::path> folders;
  if (fs::exists(fs::path(folder) / kListName, code))
    folders.emplace_back(folder);
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code))
    if (fs::exists(at->path() / kListName, code))
      folders.push_back(at->path());
  std::sort(folders.begin(), folders.end());
  if (folders.empty())
    return Error(ErrorCode::Input, bundle::quote(folder) + ": expected a folder that `weft compile --emit=candidates` "
                                                           "made, or one of several, got none");
  std::vector<Kernel> found;
  for (const fs::path &each : folders)
    if (Error error = readList(each, found))
      return error;
  std::set<std::string> keys;
  for (Kernel &kernel : found)
    if (keys.insert(kernel.getKey()).second)
      kernels.push_back(std::move(kernel));
  return {};
}

//===--- One kernel ---===//

namespace {

/// A schedule that is being timed.
struct Entrant {
  const Candidate *candidate = nullptr;
  std::unique_ptr<Program> program;
  std::vector<double> seconds;

  double getMedian() const { return getQuantile(0.5); }
  double getSpread() const { return (getQuantile(0.75) - getQuantile(0.25)) / getMedian(); }

private:
  double getQuantile(double part) const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[size_t(part * double(sorted.size() - 1) + 0.5)];
  }
};

class Tuner {
public:
  Tuner(Options options, std::unique_ptr<Bed> bed, std::set<std::string> known)
      : options(std::move(options)), bed(std::move(bed)), known(std::move(known)) {}

  Error open(const std::string &folder);
  Error run(const std::vector<Kernel> &kernels);
  bool isLost() const { return lost; }

private:
  bool isSpent() const { return now() > options.end || timed >= options.trials; }
  Error tune(const Kernel &kernel);
  Error enter(const Kernel &kernel, const Candidate &candidate, std::vector<Tensor> &want,
              std::vector<Entrant> &entrants);
  Error race(std::vector<Entrant> &entrants);
  Error note(const Candidate &candidate, const char *status, double seconds = 0, const std::string &why = "");
  Error record(const Kernel &kernel, const std::vector<Entrant> &entrants);
  void tell(const std::string &text) const;

  Options options;
  std::unique_ptr<Bed> bed;
  std::set<std::string> known; ///< Keys that have a record.
  LineWriter times, records;
  std::set<std::string> excluded; ///< Bundles that are left out.
  std::string checkedBy;
  double start = now();
  size_t timed = 0, numRecords = 0;
  bool lost = false;
};

} // namespace

void Tuner::tell(const std::string &text) const {
  if (!options.isQuiet)
    std::fprintf(stderr, "weft-tune: %.0f s: %s\n", now() - start, text.c_str());
}

/// The keys that a file has records of; none if there is no file.
static Error readKnown(const std::string &path, std::set<std::string> &known) {
  std::vector<Fields> lines;
  bool isTorn = false;
  std::error_code code;
  if (!fs::exists(path, code))
    return {};
  if (Error error = readLines(path, lines, isTorn))
    return error;
  if (!lines.empty() && lines.front().getText("schema") != kSchema)
    return Error(ErrorCode::Input, bundle::quote(path) + ": expected schema " + kSchema + " in its first line");
  for (const Fields &line : lines)
    known.insert(getKey(line));
  return {};
}

Error Tuner::open(const std::string &folder) {
  std::vector<Fields> lines;
  bool isTorn = false;
  std::error_code code;
  std::string timesPath = (fs::path(folder) / kTimesName).string();
  if (fs::exists(timesPath, code))
    if (Error error = readLines(timesPath, lines, isTorn))
      return error;
  for (const Fields &line : lines) // The last word counts.
    if (std::string status = line.getText("status"); status == "begun" || status == "wrong" || status == "failed")
      excluded.insert(line.getText("bundle"));
    else
      excluded.erase(line.getText("bundle"));
  if (Error error = times.open(timesPath))
    return error;
  if (!bed->hasClock())
    return {};
  if (Error error = records.open(options.records))
    return error;
  return known.empty() ? records.write({{{"schema", bundle::quoteJson(kSchema)}}}) : Error();
}

Error Tuner::note(const Candidate &candidate, const char *status, double seconds, const std::string &why) {
  Fields line;
  line.values = {
      {"bundle", bundle::quoteJson(candidate.path)},   {"card", bundle::quoteJson(bed->getCard())},
      {"kernel", candidate.line.getRaw("kernel")},     {"model_seconds", candidate.line.getRaw("model_seconds")},
      {"schedule", candidate.line.getRaw("schedule")}, {"shapes", candidate.line.getRaw("shapes")},
      {"status", bundle::quoteJson(status)},           {"subgraph", candidate.line.getRaw("subgraph")}};
  char number[40];
  std::snprintf(number, sizeof number, "%.4g", seconds);
  if (seconds > 0)
    line.values["seconds"] = number;
  if (!why.empty())
    line.values["why"] = bundle::quoteJson(why);
  return times.write(line);
}

/// Opens and checks one schedule, and adds it to `entrants`. `want`: the results so far known to be right.
Error Tuner::enter(const Kernel &kernel, const Candidate &candidate, std::vector<Tensor> &want,
                   std::vector<Entrant> &entrants) {
  if (Error error = note(candidate, "begun"))
    return error;
  Entrant entrant;
  entrant.candidate = &candidate;
  std::vector<Tensor> got;
  Error problem = bed->open(candidate.path, entrant.program);
  if (!problem)
    problem = entrant.program->run(got);
  if (problem) {
    tell(kernel.name + ": left out: " + problem.getMessage());
    // A kernel that broke the GPU's context takes all others with it.
    if (!entrants.empty()) {
      std::vector<Tensor> again;
      lost = bool(entrants.front().program->run(again));
    }
    return note(candidate, "failed", 0, problem.getMessage());
  }
  if (want.empty())
    want = got;
  if (std::string difference = compareResults(got, want); !difference.empty()) {
    tell(kernel.name + ": left out: " + difference);
    return note(candidate, "wrong", 0, difference);
  }
  entrants.push_back(std::move(entrant));
  return note(candidate, "checked");
}

/// Times all in turns; those that are clearly slower drop out after a few rounds.
Error Tuner::race(std::vector<Entrant> &entrants) {
  constexpr int warmUps = 2, firstRounds = 5, rounds = 15;
  constexpr double clearlySlower = 1.15;
  std::vector<double> unused;
  for (Entrant &each : entrants)
    for (int i = 0; i < warmUps; ++i)
      if (Error error = each.program->time(unused))
        return error;
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    for (Entrant &each : entrants)
      if (round < firstRounds || each.getMedian() <= clearlySlower * best)
        if (Error error = each.program->time(each.seconds))
          return error;
    best = entrants.front().getMedian();
    for (const Entrant &each : entrants)
      best = std::min(best, each.getMedian());
  }
  return {};
}

static std::string getDate() {
  std::time_t now = std::time(nullptr);
  std::tm day = {};
  char text[32];
  gmtime_r(&now, &day);
  std::strftime(text, sizeof text, "%Y-%m-%d", &day);
  return text;
}

/// The fastest; the planner's own where what it loses is less than what times tell apart.
Error Tuner::record(const Kernel &kernel, const std::vector<Entrant> &entrants) {
  constexpr double resolved = 0.98;
  const Entrant *planned = entrants.front().candidate == &kernel.candidates.front() ? &entrants.front() : nullptr;
  const Entrant *best = &entrants.front();
  for (const Entrant &each : entrants)
    if (each.getMedian() < best->getMedian())
      best = &each;
  if (planned && best->getMedian() > resolved * planned->getMedian())
    best = planned;
  auto number = [](double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.4g", value);
    return std::string(text);
  };
  Fields line;
  line.values = {{"card", bundle::quoteJson(bed->getCard())}, {"checked", bundle::quoteJson(checkedBy)},
                 {"date", bundle::quoteJson(getDate())},      {"device", bundle::quoteJson(kernel.device)},
                 {"kernel", bundle::quoteJson(kernel.name)},  {"schedule", best->candidate->line.getRaw("schedule")},
                 {"seconds", number(best->getMedian())},      {"shapes", best->candidate->line.getRaw("shapes")},
                 {"spread", number(best->getSpread())},       {"subgraph", best->candidate->line.getRaw("subgraph")},
                 {"trials", std::to_string(entrants.size())}, {"version", bundle::quoteJson(kernel.version)}};
  if (planned) {
    line.values["planned_seconds"] = number(planned->getMedian());
    line.values["planned"] = planned->candidate->line.getRaw("schedule");
    line.values["planned_model_seconds"] = planned->candidate->line.getRaw("model_seconds");
  }
  ++numRecords;
  char text[120];
  std::snprintf(text, sizeof text, ": %zu schedules, best %.1f us, planned %.1f us", entrants.size(),
                best->getMedian() * 1e6, planned ? planned->getMedian() * 1e6 : 0.0);
  tell(kernel.name + text);
  return records.write(line);
}

Error Tuner::tune(const Kernel &kernel) {
  std::map<std::string, int64_t> dims;
  if (std::optional<Fields> symbols = parseLine(kernel.candidates.front().line.getRaw("dims")))
    for (const auto &[name, value] : symbols->values)
      dims[name] = int64_t(symbols->getNumber(name).value_or(1));
  if (Error error = bed->begin(kernel.candidates.front().path, dims)) {
    tell(kernel.name + ": left out: " + error.getMessage());
    return note(kernel.candidates.front(), "failed", 0, error.getMessage());
  }
  std::vector<Tensor> want;
  std::vector<Entrant> entrants;
  checkedBy = "planned";
  if (!kernel.reference.empty()) {
    if (Error error = runOnHost(kernel.reference, bed->getInputs(), want))
      tell(kernel.name + ": checked by the planner's schedule: " + error.getMessage());
    else
      checkedBy = "cpu";
  }
  for (const Candidate &candidate : kernel.candidates) {
    if (lost)
      return {};
    if (excluded.count(candidate.path))
      continue;
    if (Error error = enter(kernel, candidate, want, entrants))
      return error;
    ++timed;
  }
  if (lost || entrants.empty() || !bed->hasClock())
    return {};
  if (Error error = race(entrants))
    return error;
  for (const Entrant &each : entrants)
    if (Error error = note(*each.candidate, "ok", each.getMedian()))
      return error;
  return record(kernel, entrants);
}

Error Tuner::run(const std::vector<Kernel> &kernels) {
  std::vector<const Kernel *> left;
  for (const Kernel &kernel : kernels)
    if (!known.count(kernel.getKey()))
      left.push_back(&kernel);
  tell(std::to_string(left.size()) + " of " + std::to_string(kernels.size()) + " kernels are left to time");
  for (size_t i = 0; i < left.size() && !isSpent() && !lost; ++i) {
    tell("kernel " + std::to_string(i + 1) + " of " + std::to_string(left.size()) + ": " + left[i]->name);
    if (Error error = tune(*left[i]))
      return error;
  }
  tell(std::to_string(numRecords) + " records of " + std::to_string(timed) + " schedules" +
       (isSpent() ? "; the budget is spent: run it again to go on" : ""));
  return {};
}

Error tune::tuneKernels(const std::string &folder, const Options &options, bool &isLost) {
  std::vector<Kernel> kernels;
  if (Error error = readKernels(folder, kernels))
    return error;
  std::set<std::string> known;
  if (Error error = readKnown(options.records, known))
    return error;
  if (options.device.rfind("cuda", 0) == 0) { // Before this process has a context: it forks.
    constexpr double share = 0.4;             // Of the budget.
    std::vector<std::string> paths;
    for (const Kernel &kernel : kernels)
      for (const Candidate &candidate : kernel.candidates)
        if (paths.size() < options.trials && !known.count(kernel.getKey()))
          paths.push_back(candidate.path);
    unsigned processes = options.processes ? options.processes : std::max(std::thread::hardware_concurrency(), 1u);
    warmUp(paths, options.device, processes, std::min((options.end - now()) * share, 1e6));
  }
  std::unique_ptr<Bed> bed;
  if (Error error = Bed::create(options.device, bed))
    return error;
  Tuner tuner(options, std::move(bed), std::move(known));
  if (Error error = tuner.open(folder))
    return error;
  Error error = tuner.run(kernels);
  isLost = tuner.isLost();
  return error;
}

Error tune::mergeRecords(const std::vector<std::string> &inputs, const std::string &output) {
  std::vector<Fields> merged;
  std::map<std::string, size_t> places;
  for (const std::string &input : inputs) {
    std::vector<Fields> lines;
    bool isTorn = false;
    if (Error error = readLines(input, lines, isTorn))
      return error;
    if (lines.empty() || lines.front().getText("schema") != kSchema)
      return Error(ErrorCode::Input, bundle::quote(input) + ": expected schema " + kSchema + " in its first line");
    for (size_t i = 1; i < lines.size(); ++i) {
      auto [place, isNew] = places.try_emplace(getKey(lines[i]), merged.size());
      if (isNew)
        merged.push_back(lines[i]);
      else if (lines[i].getNumber("seconds").value_or(1e9) < merged[place->second].getNumber("seconds").value_or(1e9))
        merged[place->second] = lines[i];
    }
  }
  std::string partial = output + ".partial";
  std::error_code code;
  fs::remove(partial, code);
  {
    LineWriter writer;
    if (Error error = writer.open(partial))
      return error;
    if (Error error = writer.write({{{"schema", bundle::quoteJson(kSchema)}}}))
      return error;
    for (const Fields &record : merged)
      if (Error error = writer.write(record))
        return error;
  }
  fs::rename(partial, output, code);
  return code ? Error(ErrorCode::Input, "cannot write " + bundle::quote(output)) : Error();
}
