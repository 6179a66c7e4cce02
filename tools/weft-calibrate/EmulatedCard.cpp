// A GPU of the PTX emulator: that the benchmarks run, not what they measure.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CalibratedCard.h"
#include "Emulator/EmulatorDevice.h"
#include "Emulator/Exec/Card.h"

#include <map>

using namespace weft;
using namespace weft::calibrate;

namespace {
class EmulatedCard : public CalibratedCard {
public:
  Error open(const std::string &text);
  const CardDescription &getDescription() const override { return description; }
  Error load(const std::string &ptx) override;
  Error allocate(uint64_t bytes, uint64_t &address) override;
  Error read(uint64_t address, void *target, uint64_t bytes) override { return card->read(address, target, bytes); }

private:
  Error run(const KernelStart &start, int count, double &seconds) override;
  CardDescription description;
  emu::LaunchOptions options;
  std::unique_ptr<emu::Emulator> card;
  std::map<std::string, uint32_t> modules; ///< By entry.
};
} // namespace

Error EmulatedCard::open(const std::string &text) {
  std::string name;
  if (Error error = emu::parseCard(text, name, options))
    return error;
  if (Error error = emu::Emulator::create(name, card))
    return error;
  const emu::Card &known = card->card();
  description = {
      {"emulated " + std::string(known.name), std::string(known.architecture), "emulator", known.sms, known.l2Bytes},
      /*isEmulated=*/true};
  options.stopsAtFinding = true;
  return {};
}

Error EmulatedCard::load(const std::string &ptx) {
  uint32_t module = 0;
  std::vector<emu::EntryInfo> entries;
  if (Error error = card->load(ptx, "weft-calibrate", module))
    return error;
  if (Error error = card->entries(module, entries))
    return error;
  for (const emu::EntryInfo &entry : entries)
    modules[entry.name] = module;
  return {};
}

Error EmulatedCard::allocate(uint64_t bytes, uint64_t &address) {
  if (Error error = card->allocate(bytes, address))
    return error;
  std::vector<uint8_t> zeros(bytes);
  return card->write(address, zeros.data(), bytes);
}

Error EmulatedCard::run(const KernelStart &start, int count, double &seconds) {
  auto module = modules.find(start.entry);
  if (module == modules.end())
    return Error(ErrorCode::Internal, "no kernel " + bundle::quote(start.entry));
  emu::LaunchSpec spec;
  spec.module = module->second;
  spec.entry = start.entry;
  spec.grid.x = uint32_t(start.grid);
  spec.block.x = uint32_t(start.block);
  spec.cluster.x = uint32_t(start.cluster);
  spec.parameters = start.parameters.data();
  spec.parameterBytes = start.parameters.size() * sizeof(uint64_t);
  spec.options = options;
  seconds = 0;
  for (int i = 0; i < count; ++i) {
    emu::LaunchResult result;
    if (Error error = card->launch(spec, result))
      return error;
    seconds += double(result.warpInstructions) / double(description.sms) / (1e6 * card->card().clockMhz);
  }
  return {};
}

Error calibrate::openEmulatedCard(const std::string &text, std::unique_ptr<CalibratedCard> &card) {
  auto created = std::make_unique<EmulatedCard>();
  if (Error error = created->open(text))
    return error;
  card = std::move(created);
  return {};
}
