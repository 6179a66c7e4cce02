// Checks of the bundle's tables.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strings, metadata, kernels, constants, weights and code variants; entries are in ValidateEntry.cpp.
#include "Validate.h"

#include <algorithm>
#include <cinttypes>
#include <vector>

using namespace weft::bundle;

Error weft::bundle::checkRange(const char *table, uint32_t first, uint32_t count, uint32_t size, uint32_t &next) {
  if (first != next)
    return invalid("expected its range of %s to begin at %u, got %u", table, next, first);
  if (count > size - next)
    return invalid("its range of %s [%u, +%u) leaves the table of %u", table, first, count, size);
  next += count;
  return {};
}

Error weft::bundle::checkString(const Tables &tables, const char *what, uint32_t string) {
  if (string >= tables.strings.size)
    return invalid("%s: string %u does not exist (%u strings)", what, string, tables.strings.size);
  return {};
}

static Error validateStrings(const Tables &tables) {
  const char *text = reinterpret_cast<const char *>(tables.stringBytes.data);
  uint64_t next = 0, size = tables.stringBytes.size;
  for (uint32_t i = 0; i < tables.strings.size; ++i) {
    const StringRecord &record = tables.strings[i];
    if (record.offset != next)
      return invalid("string %u: expected offset %" PRIu64 ", got %u", i, next, record.offset);
    if (record.size > kMaxStringBytes)
      return invalid("string %u: expected at most %u bytes, got %u", i, kMaxStringBytes, record.size);
    if (uint64_t(record.size) + 1 > size - next)
      return invalid("string %u: %u bytes leave the section of %" PRIu64, i, record.size, size);
    std::string_view view(text + record.offset, record.size);
    if (text[record.offset + record.size] != 0 || view.find('\0') != view.npos)
      return invalid("string %u: expected exactly one NUL, after the last byte", i);
    if (!isUtf8(view))
      return invalid("string %u: not UTF-8: %s", i, quote(view).c_str());
    next += uint64_t(record.size) + 1;
  }
  if (next != size)
    return invalid("strings: %" PRIu64 " unused bytes at the end of the section", size - next);
  return {};
}

/// Fails if two of the names are equal. First by number: what is left are different strings of the file, so that
/// comparing them costs no more than the file's size times a logarithm, however long they are and however many records
/// there are.
static Error checkUnique(const Tables &tables, const char *what, std::vector<uint32_t> names) {
  auto fail = [&](uint32_t name) { return invalid("%s %s occurs twice", what, quote(tables.getString(name)).c_str()); };
  std::sort(names.begin(), names.end());
  for (size_t i = 1; i < names.size(); ++i)
    if (names[i - 1] == names[i])
      return fail(names[i]);
  std::sort(names.begin(), names.end(),
            [&](uint32_t a, uint32_t b) { return tables.getString(a) < tables.getString(b); });
  for (size_t i = 1; i < names.size(); ++i)
    if (tables.getString(names[i - 1]) == tables.getString(names[i]))
      return fail(names[i]);
  return {};
}

static Error validateMetadata(const Tables &tables) {
  std::vector<uint32_t> keys;
  for (const MetadataRecord &record : tables.metadata) {
    if (Error error = checkString(tables, "metadata", record.key))
      return error;
    if (Error error = checkString(tables, "metadata", record.value))
      return error;
    keys.push_back(record.key);
  }
  return checkUnique(tables, "metadata key", std::move(keys));
}

static Error validateKernels(const Tables &tables) {
  uint32_t nextOrigin = 0;
  for (uint32_t i = 0; i < tables.kernels.size; ++i) {
    const KernelRecord &kernel = tables.kernels[i];
    std::string where = "kernel " + std::to_string(i);
    if (Error error = checkString(tables, "name", kernel.name))
      return std::move(error).within(where);
    if (Error error = checkRange("Origins", kernel.firstOrigin, kernel.originCount, tables.origins.size, nextOrigin))
      return std::move(error).within(where);
    if (kernel.reserved)
      return invalid("%s: reserved field is not zero", where.c_str());
  }
  for (uint32_t origin : tables.origins)
    if (Error error = checkString(tables, "origin", origin))
      return error;
  if (nextOrigin != tables.origins.size)
    return invalid("Origins: %u records belong to no kernel", tables.origins.size - nextOrigin);
  return {};
}

/// True if [offset, offset + size) lies in [0, limit).
static bool isInside(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

static Error validateWeightOrder(const Tables &tables, const WeightOrderRecord &record) {
  if (record.weight >= tables.weights.size)
    return invalid("weight %u does not exist", record.weight);
  if (record.rank < 1 || record.rank > 8 || record.elementBytes == 0 || record.reserved != 0)
    return invalid("expected a rank of 1 to 8 and elements of at least a byte, got %u and %u", unsigned(record.rank),
                   unsigned(record.elementBytes));
  uint64_t bytes = record.elementBytes;
  unsigned seen = 0;
  for (unsigned d = 0; d < 8; ++d) {
    if (d >= record.rank && (record.order[d] != 0 || record.extents[d] != 0))
      return invalid("expected zeros from dimension %u on", unsigned(record.rank));
    if (d >= record.rank)
      continue;
    if (record.order[d] >= record.rank || seen >> record.order[d] & 1)
      return invalid("expected a permutation of %u dimensions", unsigned(record.rank));
    seen |= 1u << record.order[d];
    if (__builtin_mul_overflow(bytes, record.extents[d], &bytes))
      return invalid("extents overflow");
  }
  uint64_t size = tables.weights[record.weight].size;
  if (const WeightPartRecord *part = findRecord(tables.weightParts, record.weight))
    size /= part->parts;
  if (bytes != size)
    return invalid("expected extents of %" PRIu64 " bytes, got %" PRIu64, size, bytes);
  return {};
}

static Error validateWeightParts(const Tables &tables) {
  for (uint32_t i = 0; i < tables.weightParts.size; ++i) {
    const WeightPartRecord &record = tables.weightParts[i];
    std::string where = "weight part " + std::to_string(i);
    if (i > 0 && record.weight <= tables.weightParts[i - 1].weight)
      return invalid("%s: expected a weight above %u", where.c_str(), tables.weightParts[i - 1].weight);
    if (record.weight >= tables.weights.size)
      return invalid("%s: weight %u does not exist", where.c_str(), record.weight);
    if (record.parts < 2 || record.parts > kMaxRanks)
      return invalid("%s: expected 2 to %u parts, got %u", where.c_str(), kMaxRanks, record.parts);
    uint64_t bytes;
    if (__builtin_mul_overflow(record.outer, record.parts, &bytes) ||
        __builtin_mul_overflow(bytes, record.pieceBytes, &bytes) || bytes != tables.weights[record.weight].size)
      return invalid("%s: expected pieces of %" PRIu64 " bytes in all", where.c_str(),
                     tables.weights[record.weight].size);
  }
  return {};
}

static Error validateWeightOrders(const Tables &tables) {
  for (uint32_t i = 0; i < tables.weightOrders.size; ++i) {
    std::string where = "weight order " + std::to_string(i);
    if (i > 0 && tables.weightOrders[i].weight <= tables.weightOrders[i - 1].weight)
      return invalid("%s: expected a weight above %u", where.c_str(), tables.weightOrders[i - 1].weight);
    if (Error error = validateWeightOrder(tables, tables.weightOrders[i]))
      return std::move(error).within(where);
  }
  return {};
}

static Error validateData(const Tables &tables) {
  for (uint32_t i = 0; i < tables.constants.size; ++i) {
    const DataRecord &data = tables.constants[i];
    if (data.offset % kBufferAlignment)
      return invalid("constant %u: offset %" PRIu64 " is not a multiple of 64", i, data.offset);
    if (!isInside(data.offset, data.size, tables.constantBytes.size))
      return invalid("constant %u: offset %" PRIu64 " and size %" PRIu64 " leave the section of %" PRIu64 " bytes", i,
                     data.offset, data.size, tables.constantBytes.size);
  }
  for (uint32_t i = 0; i < tables.weights.size; ++i) {
    const WeightRecord &weight = tables.weights[i];
    std::string where = "weight " + std::to_string(i);
    if (Error error = checkString(tables, "name", weight.name))
      return std::move(error).within(where);
    if (weight.path != kNone) {
      if (Error error = checkString(tables, "path", weight.path))
        return std::move(error).within(where);
      if (!isInside(weight.offset, weight.size, INT64_MAX))
        return invalid("%s: offset %" PRIu64 " plus size %" PRIu64 " overflows", where.c_str(), weight.offset,
                       weight.size);
      continue;
    }
    if (weight.offset % kBufferAlignment)
      return invalid("%s: offset %" PRIu64 " is not a multiple of 64", where.c_str(), weight.offset);
    if (!isInside(weight.offset, weight.size, tables.weightDataBytes))
      return invalid("%s: offset %" PRIu64 " and size %" PRIu64 " leave the section of %" PRIu64 " bytes",
                     where.c_str(), weight.offset, weight.size, tables.weightDataBytes);
  }
  if (Error error = validateWeightParts(tables)) // Before orders, which are of parts.
    return error;
  return validateWeightOrders(tables);
}

static Error validateVariants(const Tables &tables) {
  uint32_t nextFeature = 0;
  std::vector<bool> used(tables.sections.size);
  for (uint32_t i = 0; i < tables.variants.size; ++i) {
    const VariantRecord &variant = tables.variants[i];
    std::string where = "code variant " + std::to_string(i);
    if (Error error = checkString(tables, "target", variant.target))
      return std::move(error).within(where);
    if (variant.featureCount > kMaxFeatures)
      return invalid("%s: expected at most %u features, got %u", where.c_str(), kMaxFeatures, variant.featureCount);
    if (Error error =
            checkRange("Features", variant.firstFeature, variant.featureCount, tables.features.size, nextFeature))
      return std::move(error).within(where);
    if (variant.section >= tables.sections.size ||
        tables.sections[variant.section].kind != uint32_t(SectionKind::NativeCode))
      return invalid("%s: section %u is not a NativeCode section", where.c_str(), variant.section);
    if (used[variant.section])
      return invalid("%s: section %u belongs to another variant", where.c_str(), variant.section);
    used[variant.section] = true;
  }
  for (uint32_t feature : tables.features)
    if (Error error = checkString(tables, "feature", feature))
      return error;
  if (nextFeature != tables.features.size)
    return invalid("Features: %u records belong to no code variant", tables.features.size - nextFeature);
  return {};
}

static Error validateEntries(const Tables &tables) {
  EntryCursors cursors;
  std::vector<uint32_t> names;
  for (uint32_t i = 0; i < tables.entries.size; ++i) {
    const EntryRecord &entry = tables.entries[i];
    if (Error error = checkString(tables, "entry name", entry.name))
      return error;
    names.push_back(entry.name);
    if (Error error = validateEntry(tables, i, cursors))
      return std::move(error).within("entry " + quote(tables.getString(entry.name)));
    EntryView view = getEntry(tables, i);
    const std::pair<const char *, Table<PortRecord>> ports[] = {{"input", view.inputs}, {"output", view.outputs}};
    for (auto [what, list] : ports) {
      std::vector<uint32_t> portNames;
      for (const PortRecord &port : list)
        portNames.push_back(port.name);
      if (Error error = checkUnique(tables, what, std::move(portNames)))
        return error;
    }
    std::vector<uint32_t> symbolNames;
    for (const SymbolRecord &symbol : view.symbols)
      symbolNames.push_back(symbol.name);
    if (Error error = checkUnique(tables, "symbol", std::move(symbolNames)))
      return error;
  }
  const std::pair<const char *, uint32_t> leftovers[] = {
      {"Symbols", tables.symbols.size - cursors.symbols},
      {"Ports", tables.ports.size - cursors.ports},
      {"Instructions", tables.instructions.size - cursors.instructions},
      {"Buffers", tables.buffers.size - cursors.buffers},
      {"Extents", tables.extents.size - cursors.extents},
      {"Commands", tables.commands.size - cursors.commands},
      {"Arguments", tables.arguments.size - cursors.arguments},
      {"Scalars", tables.scalars.size - cursors.scalars},
  };
  for (auto [table, count] : leftovers)
    if (count)
      return invalid("%s: %u records belong to no entry", table, count);
  return checkUnique(tables, "entry", std::move(names));
}

/// Ports of one type and size, each in one alias.
static Error validateAlias(const Tables &tables, const AliasRecord &alias) {
  if (alias.entry >= tables.entries.size || alias.reserved)
    return invalid("expected one of %u entries, got %u", tables.entries.size, alias.entry);
  EntryView entry = getEntry(tables, alias.entry);
  if (alias.output >= entry.outputs.size || alias.input >= entry.inputs.size)
    return invalid("output %u or input %u does not exist", alias.output, alias.input);
  const BufferRecord &output = entry.buffers[entry.outputs[alias.output].buffer],
                     &input = entry.buffers[entry.inputs[alias.input].buffer];
  bool isSame = output.dtype == input.dtype && output.rank == input.rank && output.sizeRegister == input.sizeRegister;
  for (uint32_t d = 0; isSame && d < output.rank; ++d)
    isSame = tables.extents[output.firstExtent + d] == tables.extents[input.firstExtent + d];
  return isSame ? Error() : invalid("output %u has not the type and extents of input %u", alias.output, alias.input);
}

static Error validateAliases(const Tables &tables) {
  std::vector<bool> isUsed; // The inputs of the entry at hand.
  for (uint32_t i = 0; i < tables.aliases.size; ++i) {
    const AliasRecord &alias = tables.aliases[i];
    std::string where = "alias " + std::to_string(i);
    if (Error error = validateAlias(tables, alias))
      return std::move(error).within(where);
    const AliasRecord *before = i ? &tables.aliases[i - 1] : nullptr;
    bool isSameEntry = before && before->entry == alias.entry;
    if (before && (before->entry > alias.entry || (isSameEntry && before->output >= alias.output)))
      return invalid("%s: expected aliases sorted by entry and output", where.c_str());
    if (!isSameEntry)
      isUsed.assign(tables.entries[alias.entry].inputCount, false);
    if (isUsed[alias.input])
      return invalid("%s: input %u has an alias already", where.c_str(), alias.input);
    isUsed[alias.input] = true;
  }
  return {};
}

Error weft::bundle::validateTables(const Tables &tables) {
  Error (*const checks[])(const Tables &) = {validateStrings,  validateMetadata, validateKernels, validateData,
                                             validateVariants, validateGpuCode,  validateEntries, validateAliases};
  for (auto *check : checks)
    if (Error error = check(tables))
      return error;
  return {};
}
