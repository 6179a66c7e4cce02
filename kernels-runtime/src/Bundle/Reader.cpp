// Checked view of a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file level: header, versions, section table, hashes. What the records say is checked by ValidateTables and
// ValidateEntry.
#include "weft/Bundle/Reader.h"
#include "Validate.h"
#include "weft/Bundle/Hash.h"

#include <cinttypes>
#include <cstddef>
#include <cstring>

using namespace weft::bundle;

#ifndef WEFT_VERSION
#define WEFT_VERSION "0.0.0"
#endif

namespace {
struct KindInfo {
  SectionKind kind;
  const char *name;
  uint32_t recordBytes;
};
} // namespace

static constexpr KindInfo kinds[] = {
    {SectionKind::StringIndex, "StringIndex", sizeof(StringRecord)},
    {SectionKind::StringBytes, "StringBytes", 1},
    {SectionKind::Metadata, "Metadata", sizeof(MetadataRecord)},
    {SectionKind::Symbols, "Symbols", sizeof(SymbolRecord)},
    {SectionKind::Entries, "Entries", sizeof(EntryRecord)},
    {SectionKind::Ports, "Ports", sizeof(PortRecord)},
    {SectionKind::Instructions, "Instructions", sizeof(InstructionRecord)},
    {SectionKind::Buffers, "Buffers", sizeof(BufferRecord)},
    {SectionKind::Extents, "Extents", 4},
    {SectionKind::Commands, "Commands", sizeof(CommandRecord)},
    {SectionKind::Arguments, "Arguments", sizeof(ArgumentRecord)},
    {SectionKind::Scalars, "Scalars", 4},
    {SectionKind::Kernels, "Kernels", sizeof(KernelRecord)},
    {SectionKind::Origins, "Origins", 4},
    {SectionKind::Constants, "Constants", sizeof(DataRecord)},
    {SectionKind::ConstantBytes, "ConstantBytes", 1},
    {SectionKind::Weights, "Weights", sizeof(WeightRecord)},
    {SectionKind::WeightData, "WeightData", 1},
    {SectionKind::Variants, "Variants", sizeof(VariantRecord)},
    {SectionKind::Features, "Features", 4},
    {SectionKind::NativeCode, "NativeCode", 1},
    {SectionKind::Ptx, "Ptx", 1},
    {SectionKind::Explain, "Explain", 1},
    {SectionKind::GpuModules, "GpuModules", sizeof(GpuModuleRecord)},
    {SectionKind::GpuKernels, "GpuKernels", sizeof(GpuKernelRecord)},
    {SectionKind::TensorMaps, "TensorMaps", sizeof(TensorMapRecord)},
    {SectionKind::WeightOrders, "WeightOrders", sizeof(WeightOrderRecord)},
    {SectionKind::Aliases, "Aliases", sizeof(AliasRecord)},
    {SectionKind::WeightParts, "WeightParts", sizeof(WeightPartRecord)},
};

static const KindInfo *findKind(uint32_t kind) {
  for (const KindInfo &info : kinds)
    if (uint32_t(info.kind) == kind)
      return &info;
  return nullptr;
}

static std::string describe(uint32_t index, const SectionEntry &entry) {
  const KindInfo *info = findKind(entry.kind);
  return "section " + std::to_string(index) + " (" + (info ? info->name : "kind " + std::to_string(entry.kind)) + ")";
}

static bool isZero(const void *data, size_t size) {
  const auto *bytes = static_cast<const uint8_t *>(data);
  for (size_t i = 0; i < size; ++i)
    if (bytes[i])
      return false;
  return true;
}

static Error checkVersion(const FileHeader &header) {
  size_t length = strnlen(header.productVersion, sizeof header.productVersion);
  if (length == sizeof header.productVersion)
    return Error(ErrorCode::Input, "header: product version is not terminated");
  for (size_t i = 0; i < length; ++i)
    if (header.productVersion[i] < 0x20 || header.productVersion[i] > 0x7e)
      return Error(ErrorCode::Input, "header: product version is not printable ASCII");
  if (header.formatMajor == kFormatMajor && header.formatMinor <= kFormatMinor)
    return {};
  bool newer =
      header.formatMajor > kFormatMajor || (header.formatMajor == kFormatMajor && header.formatMinor > kFormatMinor);
  return makeError(ErrorCode::Input,
                   "bundle format %u.%u, written by %s; this is weft " WEFT_VERSION
                   ", which reads format %u.0 to %u.%u; %s",
                   header.formatMajor, header.formatMinor, quote(header.productVersion).c_str(), kFormatMajor,
                   kFormatMajor, kFormatMinor,
                   newer ? "update the runtime, or compile the model with this version of weft-compile"
                         : "compile the model again with this version of weft-compile");
}

static Error checkHeader(const uint8_t *data, uint64_t size) {
  if (size < sizeof kMagic || std::memcmp(data, kMagic, sizeof kMagic) != 0)
    return Error(ErrorCode::Input,
                 "not a bundle: expected the Weft signature at its beginning; weft compile makes bundles of models");
  if (size < sizeof(FileHeader))
    return makeError(ErrorCode::Input, "header: truncated: expected %zu bytes, got %" PRIu64, sizeof(FileHeader), size);
  const auto &header = *reinterpret_cast<const FileHeader *>(data);
  if (Error error = checkVersion(header))
    return error;
  if (hashBytes(data, offsetof(FileHeader, headerHash)) != header.headerHash)
    return Error(ErrorCode::Input, "header: hash mismatch: the file is damaged");
  if (header.headerBytes != sizeof(FileHeader) || header.sectionBytes != sizeof(SectionEntry))
    return makeError(ErrorCode::Input, "header: expected struct sizes %zu and %zu, got %u and %u", sizeof(FileHeader),
                     sizeof(SectionEntry), header.headerBytes, header.sectionBytes);
  if (!isZero(header.reserved, sizeof header.reserved))
    return Error(ErrorCode::Input, "header: reserved bytes are not zero");
  if (header.fileBytes != size)
    return makeError(ErrorCode::Input, "header: expected a file of %" PRIu64 " bytes, got %" PRIu64 "%s",
                     header.fileBytes, size, header.fileBytes > size ? ": the file is truncated" : "");
  if (header.sectionCount > kMaxSections)
    return makeError(ErrorCode::Input, "header: expected at most %u sections, got %u", kMaxSections,
                     header.sectionCount);
  if (sizeof(FileHeader) + uint64_t(header.sectionCount) * sizeof(SectionEntry) > size)
    return makeError(ErrorCode::Input, "header: the table of %u sections does not fit into the file",
                     header.sectionCount);
  const uint8_t *table = data + sizeof(FileHeader);
  if (hashBytes(table, header.sectionCount * sizeof(SectionEntry)) != header.tableHash)
    return Error(ErrorCode::Input, "section table: hash mismatch: the file is damaged");
  return {};
}

/// Bounds, order, alignment and record size of one section. `end` is where the previous one ended.
static Error checkSection(const uint8_t *data, uint64_t fileSize, const SectionEntry &entry, uint64_t end) {
  const KindInfo *info = findKind(entry.kind);
  if (entry.flags & ~uint32_t(kSectionOptional))
    return makeError(ErrorCode::Input, "unknown flags 0x%x", entry.flags);
  if (!info && !(entry.flags & kSectionOptional))
    return Error(ErrorCode::Input, "unknown section kind");
  if (!isZero(entry.reserved, sizeof entry.reserved))
    return Error(ErrorCode::Input, "reserved bytes are not zero");
  uint64_t alignment = entry.kind == uint32_t(SectionKind::WeightData) ? kWeightAlignment : kSectionAlignment;
  if (entry.offset % alignment)
    return makeError(ErrorCode::Input, "offset %" PRIu64 " is not a multiple of %" PRIu64, entry.offset, alignment);
  if (entry.offset > fileSize || entry.size > fileSize - entry.offset)
    return makeError(ErrorCode::Input,
                     "offset %" PRIu64 " and size %" PRIu64 " do not fit into a file of %" PRIu64 " bytes",
                     entry.offset, entry.size, fileSize);
  if (entry.offset < end)
    return makeError(ErrorCode::Input, "offset %" PRIu64 " overlaps what ends at %" PRIu64, entry.offset, end);
  if (entry.offset - end >= kWeightAlignment || !isZero(data + end, entry.offset - end))
    return Error(ErrorCode::Input, "unused bytes before the section");
  uint32_t recordBytes = info ? info->recordBytes : entry.recordBytes;
  if (entry.recordBytes != recordBytes || recordBytes == 0)
    return makeError(ErrorCode::Input, "expected records of %u bytes, got %u", recordBytes, entry.recordBytes);
  if (entry.size % recordBytes)
    return makeError(ErrorCode::Input, "size %" PRIu64 " is not a multiple of the record size %u", entry.size,
                     recordBytes);
  if (recordBytes > 1 && entry.size / recordBytes >= kNone)
    return Error(ErrorCode::Input, "too many records");
  return {};
}

static Error checkSections(const uint8_t *data, uint64_t size, Table<SectionEntry> sections, bool verifyWeights) {
  uint64_t end = sizeof(FileHeader) + sections.size * sizeof(SectionEntry);
  uint64_t seen = 0; // kinds fit into 64 bits
  for (uint32_t i = 0; i < sections.size; ++i) {
    const SectionEntry &entry = sections[i];
    if (Error error = checkSection(data, size, entry, end))
      return std::move(error).within(describe(i, entry));
    end = entry.offset + entry.size;
    bool repeatable = entry.kind == uint32_t(SectionKind::NativeCode) || entry.kind == uint32_t(SectionKind::Ptx);
    if (!findKind(entry.kind))
      continue;
    if (!repeatable && (seen >> entry.kind & 1))
      return Error(ErrorCode::Input, describe(i, entry) + ": this kind occurs twice");
    seen |= uint64_t(1) << entry.kind;
    bool skip = entry.kind == uint32_t(SectionKind::WeightData) && !verifyWeights;
    if (!skip && hashBytes(data + entry.offset, entry.size) != entry.hash)
      return Error(ErrorCode::Input, describe(i, entry) + ": hash mismatch: the file is damaged");
  }
  if (end != size)
    return makeError(ErrorCode::Input, "section table: %" PRIu64 " unused bytes after the last section", size - end);
  return {};
}

template <class T> static void bindTable(Table<T> &table, const uint8_t *bytes, uint64_t size) {
  table = {reinterpret_cast<const T *>(bytes), uint32_t(size / sizeof(T))};
}

void weft::bundle::bindSection(Tables &tables, SectionKind kind, const uint8_t *bytes, uint64_t size) {
  switch (kind) {
  case SectionKind::StringIndex:
    return bindTable(tables.strings, bytes, size);
  case SectionKind::Metadata:
    return bindTable(tables.metadata, bytes, size);
  case SectionKind::Symbols:
    return bindTable(tables.symbols, bytes, size);
  case SectionKind::Entries:
    return bindTable(tables.entries, bytes, size);
  case SectionKind::Ports:
    return bindTable(tables.ports, bytes, size);
  case SectionKind::Instructions:
    return bindTable(tables.instructions, bytes, size);
  case SectionKind::Buffers:
    return bindTable(tables.buffers, bytes, size);
  case SectionKind::Extents:
    return bindTable(tables.extents, bytes, size);
  case SectionKind::Commands:
    return bindTable(tables.commands, bytes, size);
  case SectionKind::Arguments:
    return bindTable(tables.arguments, bytes, size);
  case SectionKind::Scalars:
    return bindTable(tables.scalars, bytes, size);
  case SectionKind::Kernels:
    return bindTable(tables.kernels, bytes, size);
  case SectionKind::Origins:
    return bindTable(tables.origins, bytes, size);
  case SectionKind::Constants:
    return bindTable(tables.constants, bytes, size);
  case SectionKind::Weights:
    return bindTable(tables.weights, bytes, size);
  case SectionKind::Variants:
    return bindTable(tables.variants, bytes, size);
  case SectionKind::Features:
    return bindTable(tables.features, bytes, size);
  case SectionKind::GpuModules:
    return bindTable(tables.gpuModules, bytes, size);
  case SectionKind::GpuKernels:
    return bindTable(tables.gpuKernels, bytes, size);
  case SectionKind::TensorMaps:
    return bindTable(tables.tensorMaps, bytes, size);
  case SectionKind::WeightOrders:
    return bindTable(tables.weightOrders, bytes, size);
  case SectionKind::WeightParts:
    return bindTable(tables.weightParts, bytes, size);
  case SectionKind::Aliases:
    return bindTable(tables.aliases, bytes, size);
  case SectionKind::StringBytes:
    tables.stringBytes = {bytes, size};
    return;
  case SectionKind::ConstantBytes:
    tables.constantBytes = {bytes, size};
    return;
  case SectionKind::Explain:
    tables.explain = {bytes, size};
    return;
  case SectionKind::WeightData:
    tables.weightDataBytes = size;
    return;
  case SectionKind::NativeCode:
  case SectionKind::Ptx:
    return;
  }
}

Error Reader::open(const void *bytes, uint64_t size, bool verifyWeights, Reader &reader) {
  const auto *data = static_cast<const uint8_t *>(bytes);
  if (Error error = checkHeader(data, size))
    return error;
  const auto &header = *reinterpret_cast<const FileHeader *>(data);
  Tables tables;
  tables.sections = {reinterpret_cast<const SectionEntry *>(data + sizeof(FileHeader)), header.sectionCount};
  if (Error error = checkSections(data, size, tables.sections, verifyWeights))
    return error;

  Reader result;
  result.data = data;
  for (const SectionEntry &entry : tables.sections) {
    const uint8_t *begin = data + entry.offset;
    bindSection(tables, SectionKind(entry.kind), begin, entry.size);
    if (SectionKind(entry.kind) == SectionKind::WeightData)
      result.weightData = {begin, entry.size};
  }
  if (Error error = validateTables(tables))
    return error;
  result.tables = tables;
  if (verifyWeights)
    for (uint32_t i = 0; i < tables.weights.size; ++i) {
      const WeightRecord &weight = tables.weights[i];
      if (weight.path == kNone && hashBytes(result.getEmbeddedWeight(weight), weight.size) != weight.hash)
        return makeError(ErrorCode::Input, "weight %u %s: hash mismatch: the data is not the data of this model", i,
                         quote(tables.getString(weight.name)).c_str());
    }
  reader = result;
  return {};
}

Blob Reader::getSection(uint32_t index) const {
  const SectionEntry &entry = tables.sections[index];
  return {data + entry.offset, entry.size};
}

std::string_view Reader::getMetadata(std::string_view key) const {
  for (const MetadataRecord &record : tables.metadata)
    if (tables.getString(record.key) == key)
      return tables.getString(record.value);
  return {};
}
