// Writes bundles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of a bundle that do not belong to one entry, and its layout in the file.
#include "weft/Bundle/Builder.h"
#include "Validate.h"
#include "weft/Bundle/Hash.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::bundle;

static uint64_t alignTo(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

/// One section before it is written: bytes in memory, or (WeightData) pieces elsewhere.
struct Builder::Section {
  SectionEntry entry = {};
  std::vector<uint8_t> bytes;
  std::vector<EmbeddedWeight> pieces; ///< Each starts at the next multiple of 64.

  /// Calls `visit(data, size)` for all bytes in order, padding between pieces included.
  template <class Visit> Error forEachChunk(const Visit &visit) const {
    static constexpr uint8_t zeros[kBufferAlignment] = {};
    if (Error error = visit(bytes.data(), bytes.size()))
      return error;
    uint64_t position = 0;
    for (const EmbeddedWeight &piece : pieces) {
      uint64_t padding = alignTo(position, kBufferAlignment) - position;
      if (Error error = visit(zeros, padding))
        return error;
      if (Error error = visit(piece.data, piece.size))
        return error;
      position += padding + piece.size;
    }
    return {};
  }
};

Builder::Builder(std::string_view productVersion) : productVersion(productVersion) {}
Builder::~Builder() = default;

void Builder::fail(std::string message) {
  if (firstFailure.empty())
    firstFailure = std::move(message);
}

uint32_t Builder::intern(std::string_view text) {
  auto found = stringIds.find(text);
  if (found != stringIds.end())
    return found->second;
  uint32_t id = uint32_t(strings.size());
  strings.emplace_back(text);
  stringIds.emplace(std::string(text), id);
  return id;
}

void Builder::setMetadata(std::string_view key, std::string_view value) {
  uint32_t keyId = intern(key), valueId = intern(value);
  for (MetadataRecord &record : metadata)
    if (record.key == keyId) {
      record.value = valueId;
      return;
    }
  metadata.push_back({keyId, valueId});
}

EntryBuilder &Builder::addEntry(std::string_view name) {
  entries.push_back(std::unique_ptr<EntryBuilder>(new EntryBuilder(*this, name)));
  return *entries.back();
}

KernelId Builder::addKernel(std::string_view name, const std::vector<std::string> &originNames) {
  kernels.push_back({intern(name), uint32_t(origins.size()), uint32_t(originNames.size()), 0});
  for (const std::string &origin : originNames)
    origins.push_back(intern(origin));
  return {uint32_t(kernels.size() - 1)};
}

ConstantId Builder::addConstantData(const void *data, size_t size) {
  Hash128 hash = hashBytes(data, size);
  std::vector<uint32_t> &candidates = constantsByHash[{hash.high, hash.low}];
  for (uint32_t candidate : candidates) {
    const DataRecord &record = constantRecords[candidate];
    if (record.size == size && (size == 0 || std::memcmp(constantBytes.data() + record.offset, data, size) == 0))
      return {candidate};
  }
  constantBytes.resize(alignTo(constantBytes.size(), kBufferAlignment));
  constantRecords.push_back({constantBytes.size(), size});
  const auto *bytes = static_cast<const uint8_t *>(data);
  constantBytes.insert(constantBytes.end(), bytes, bytes + size);
  candidates.push_back(uint32_t(constantRecords.size() - 1));
  return {uint32_t(constantRecords.size() - 1)};
}

WeightId Builder::addEmbeddedWeight(std::string_view name, const void *data, uint64_t size) {
  weights.push_back({intern(name), kNone, 0, size, {}});
  embedded.push_back({size ? data : "", size});
  return {uint32_t(weights.size() - 1)};
}

WeightId Builder::addExternalWeight(std::string_view name, std::string_view path, uint64_t offset, uint64_t size,
                                    Hash128 hash) {
  weights.push_back({intern(name), intern(path), offset, size, hash});
  embedded.push_back({nullptr, 0});
  return {uint32_t(weights.size() - 1)};
}

void Builder::setWeightParts(WeightId weight, uint32_t parts, uint64_t outer, uint64_t pieceBytes) {
  if (!weightParts.empty() && weightParts.back().weight >= weight.value)
    return fail("parts of weights are set in the weights' sequence");
  weightParts.push_back({weight.value, parts, outer, pieceBytes});
}

void Builder::setWeightOrder(WeightId weight, uint8_t elementBytes, const std::vector<int64_t> &extents,
                             const std::vector<int64_t> &order) {
  if (extents.empty() || extents.size() > 8 || order.size() != extents.size())
    return fail("a weight's order has 1 to 8 dimensions");
  if (!weightOrders.empty() && weightOrders.back().weight >= weight.value)
    return fail("orders of weights are set in the weights' sequence");
  WeightOrderRecord record = {};
  record.weight = weight.value;
  record.elementBytes = elementBytes;
  record.rank = uint8_t(extents.size());
  for (size_t d = 0; d < extents.size(); ++d) {
    record.order[d] = uint8_t(order[d]);
    record.extents[d] = uint64_t(extents[d]);
  }
  weightOrders.push_back(record);
}

void Builder::addNativeCode(std::string_view target, const std::vector<std::string> &featureNames,
                            std::vector<uint8_t> elf) {
  // The section number is set by addDataSections, when it is known.
  variants.push_back({intern(target), uint32_t(features.size()), uint32_t(featureNames.size()), 0});
  for (const std::string &feature : featureNames)
    features.push_back(intern(feature));
  nativeCode.push_back({std::move(elf)});
}

void Builder::addPtx(std::string_view target, std::string_view ptx, const std::vector<GpuKernel> &list) {
  gpuModules.push_back({intern(target), 0, uint32_t(gpuKernels.size()), uint32_t(list.size())});
  for (const GpuKernel &kernel : list) {
    gpuKernels.push_back({kernel.kernel.value, kernel.threads, kernel.clusterSize, kernel.sharedBytes, kernel.registers,
                          uint32_t(tensorMaps.size()), uint32_t(kernel.tensorMaps.size()), kernel.residentCtas});
    tensorMaps.insert(tensorMaps.end(), kernel.tensorMaps.begin(), kernel.tensorMaps.end());
  }
  ptxTexts.emplace_back(ptx);
}

void Builder::setExplain(std::string json) { explain = std::move(json); }

//===--------------------------------------------------------------------------------------------------------------===//
// Sections
//===--------------------------------------------------------------------------------------------------------------===//

template <class Section, class T>
static void addTable(std::vector<Section> &sections, SectionKind kind, const std::vector<T> &records) {
  if (records.empty())
    return;
  Section section;
  section.entry.kind = uint32_t(kind);
  section.entry.recordBytes = sizeof(T);
  const auto *bytes = reinterpret_cast<const uint8_t *>(records.data());
  section.bytes.assign(bytes, bytes + records.size() * sizeof(T));
  sections.push_back(std::move(section));
}

template <class T> static void append(std::vector<T> &to, const std::vector<T> &from) {
  to.insert(to.end(), from.begin(), from.end());
}

void Builder::addEntrySections(std::vector<Section> &sections) const {
  std::vector<SymbolRecord> symbols;
  std::vector<EntryRecord> records;
  std::vector<PortRecord> ports;
  std::vector<AliasRecord> aliases;
  EntryBuilder::Finished all;
  for (const std::unique_ptr<EntryBuilder> &entry : entries) {
    EntryBuilder::Finished one = entry->finish();
    for (CommandRecord &command : one.commands)
      if (CommandKind(command.kind) == CommandKind::Dispatch) {
        command.c += uint32_t(all.arguments.size());
        command.e += uint32_t(all.scalars.size());
      }
    for (BufferRecord &buffer : one.buffers)
      buffer.firstExtent += uint32_t(all.extents.size());
    auto firstPort = uint32_t(ports.size()), inputs = uint32_t(entry->inputs.size());
    records.push_back({entry->name, uint32_t(symbols.size()), uint32_t(entry->symbols.size()), firstPort, inputs,
                       firstPort + inputs, uint32_t(entry->outputs.size()), uint32_t(all.instructions.size()),
                       uint32_t(one.instructions.size()), uint32_t(all.buffers.size()), uint32_t(one.buffers.size()),
                       uint32_t(all.commands.size()), uint32_t(one.commands.size()), 0});
    for (const EntryBuilder::Alias &alias : entry->aliases)
      aliases.push_back({uint32_t(records.size() - 1), alias.output, alias.input, 0});
    append(symbols, entry->symbols);
    append(ports, entry->inputs);
    append(ports, entry->outputs);
    append(all.instructions, one.instructions);
    append(all.buffers, one.buffers);
    append(all.extents, one.extents);
    append(all.commands, one.commands);
    append(all.arguments, one.arguments);
    append(all.scalars, one.scalars);
  }
  addTable(sections, SectionKind::Symbols, symbols);
  addTable(sections, SectionKind::Entries, records);
  addTable(sections, SectionKind::Ports, ports);
  addTable(sections, SectionKind::Instructions, all.instructions);
  addTable(sections, SectionKind::Buffers, all.buffers);
  addTable(sections, SectionKind::Extents, all.extents);
  addTable(sections, SectionKind::Commands, all.commands);
  addTable(sections, SectionKind::Arguments, all.arguments);
  addTable(sections, SectionKind::Scalars, all.scalars);
  addTable(sections, SectionKind::Aliases, aliases);
}

void Builder::addDataSections(std::vector<Section> &sections) {
  addTable(sections, SectionKind::Kernels, kernels);
  addTable(sections, SectionKind::Origins, origins);
  addTable(sections, SectionKind::Constants, constantRecords);
  addTable(sections, SectionKind::ConstantBytes, constantBytes);
  Section data;
  data.entry.kind = uint32_t(SectionKind::WeightData);
  data.entry.recordBytes = 1;
  uint64_t position = 0;
  std::map<std::pair<const void *, uint64_t>, size_t> stored; // The first weight with these bytes.
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i].path != kNone)
      continue;
    auto [first, isNew] = stored.insert({{embedded[i].data, embedded[i].size}, i});
    if (!isNew) {
      weights[i].offset = weights[first->second].offset;
      weights[i].hash = weights[first->second].hash;
      continue;
    }
    weights[i].offset = position = alignTo(position, kBufferAlignment);
    weights[i].hash = hashBytes(embedded[i].data, embedded[i].size);
    position += embedded[i].size;
    data.pieces.push_back(embedded[i]);
  }
  data.entry.size = position;
  addTable(sections, SectionKind::Weights, weights);
  addTable(sections, SectionKind::WeightOrders, weightOrders);
  addTable(sections, SectionKind::WeightParts, weightParts);
  addTable(sections, SectionKind::Features, features);
  // Variants name their code sections by number: after the Variants table itself come the code sections in the same
  // order.
  if (!variants.empty()) {
    for (size_t i = 0; i < variants.size(); ++i)
      variants[i].section = uint32_t(sections.size() + 1 + i);
    addTable(sections, SectionKind::Variants, variants);
    for (const NativeCode &code : nativeCode) {
      Section section;
      section.entry.kind = uint32_t(SectionKind::NativeCode);
      section.entry.recordBytes = 1;
      section.bytes = code.elf;
      sections.push_back(std::move(section));
    }
  }
  addTable(sections, SectionKind::GpuKernels, gpuKernels);
  addTable(sections, SectionKind::TensorMaps, tensorMaps);
  for (size_t i = 0; i < gpuModules.size(); ++i)
    gpuModules[i].section = uint32_t(sections.size() + 1 + i);
  addTable(sections, SectionKind::GpuModules, gpuModules);
  for (const std::string &text : ptxTexts)
    addTable(sections, SectionKind::Ptx, std::vector<char>(text.c_str(), text.c_str() + text.size() + 1));
  addTable(sections, SectionKind::Explain, std::vector<uint8_t>(explain.begin(), explain.end()));
  if (!explain.empty())
    sections.back().entry.flags = kSectionOptional;
  if (position)
    sections.push_back(std::move(data)); // last, so that a reader's small reads stay together
}

std::vector<Builder::Section> Builder::makeSections() {
  std::vector<Section> sections;
  std::vector<StringRecord> index;
  std::vector<uint8_t> text;
  for (const std::string &string : strings) {
    index.push_back({uint32_t(text.size()), uint32_t(string.size())});
    text.insert(text.end(), string.begin(), string.end());
    text.push_back(0);
  }
  addTable(sections, SectionKind::StringIndex, index);
  addTable(sections, SectionKind::StringBytes, text);
  addTable(sections, SectionKind::Metadata, metadata);
  addEntrySections(sections);
  addDataSections(sections);
  return sections;
}

/// Sets offsets and hashes, and makes the header and section table.
void Builder::layout(std::vector<Section> &sections, std::vector<uint8_t> &head) const {
  uint64_t position = sizeof(FileHeader) + sections.size() * sizeof(SectionEntry);
  std::vector<SectionEntry> table;
  for (Section &section : sections) {
    bool isWeights = section.entry.kind == uint32_t(SectionKind::WeightData);
    section.entry.offset = position = alignTo(position, isWeights ? kWeightAlignment : kSectionAlignment);
    if (!isWeights)
      section.entry.size = section.bytes.size();
    Hasher hasher;
    (void)section.forEachChunk([&](const void *data, uint64_t size) {
      hasher.update(data, size);
      return Error();
    });
    section.entry.hash = hasher.digest();
    position += section.entry.size;
    table.push_back(section.entry);
  }
  FileHeader header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.formatMajor = kFormatMajor;
  header.formatMinor = kFormatMinor;
  header.headerBytes = sizeof(FileHeader);
  std::memcpy(header.productVersion, productVersion.data(),
              std::min(productVersion.size(), sizeof header.productVersion - 1));
  header.fileBytes = position;
  header.sectionCount = uint32_t(sections.size());
  header.sectionBytes = sizeof(SectionEntry);
  header.tableHash = hashBytes(table.data(), table.size() * sizeof(SectionEntry));
  header.headerHash = hashBytes(&header, offsetof(FileHeader, headerHash));
  head.resize(sizeof header + table.size() * sizeof(SectionEntry));
  std::memcpy(head.data(), &header, sizeof header);
  if (!table.empty())
    std::memcpy(head.data() + sizeof header, table.data(), table.size() * sizeof(SectionEntry));
}

Error Builder::prepare(std::vector<Section> &sections, std::vector<uint8_t> &head) {
  if (!firstFailure.empty())
    return Error(ErrorCode::Internal, "bundle builder: " + firstFailure);
  sections = makeSections();
  layout(sections, head);
  Tables tables;
  tables.sections = {reinterpret_cast<const SectionEntry *>(head.data() + sizeof(FileHeader)),
                     uint32_t(sections.size())};
  for (const Section &section : sections)
    bindSection(tables, SectionKind(section.entry.kind), section.bytes.data(), section.entry.size);
  if (Error error = validateTables(tables))
    return Error(ErrorCode::Internal, "bundle builder: " + error.getMessage());
  return {};
}

//===--------------------------------------------------------------------------------------------------------------===//
// Output
//===--------------------------------------------------------------------------------------------------------------===//

Error Builder::emit(const std::vector<Section> &sections, const std::vector<uint8_t> &head, const Sink &sink) const {
  static const std::vector<uint8_t> zeros(kWeightAlignment);
  if (Error error = sink(head.data(), head.size()))
    return error;
  uint64_t position = head.size();
  for (const Section &section : sections) {
    if (Error error = sink(zeros.data(), section.entry.offset - position))
      return error;
    if (Error error = section.forEachChunk(sink))
      return error;
    position = section.entry.offset + section.entry.size;
  }
  return {};
}

Error Builder::build(std::vector<uint8_t> &bytes) {
  std::vector<Section> sections;
  std::vector<uint8_t> head;
  if (Error error = prepare(sections, head))
    return error;
  bytes.clear();
  return emit(sections, head, [&](const void *data, size_t size) {
    const auto *begin = static_cast<const uint8_t *>(data);
    bytes.insert(bytes.end(), begin, begin + size);
    return Error();
  });
}

static Error writeAll(int file, const void *data, size_t size) {
  const auto *bytes = static_cast<const char *>(data);
  while (size) {
    ssize_t written = ::write(file, bytes, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return makeError(errno == ENOSPC ? ErrorCode::Resource : ErrorCode::Input, "cannot write: %s",
                       std::strerror(errno));
    bytes += written;
    size -= size_t(written);
  }
  return {};
}

/// Creates a new file with a name that begins with `path`; -1 and errno if that fails.
static int createBeside(const std::string &path, std::string &temporary) {
  int file = -1;
  for (int attempt = 0; file < 0 && attempt < 100; ++attempt) {
    temporary = path + ".tmp" + std::to_string(::getpid()) + "." + std::to_string(attempt);
    file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST)
      break;
  }
  return file;
}

/// Whether `path` is a device, a pipe or a socket: it is written to, and no file takes its place.
static bool isSpecialFile(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

Error Builder::writeFile(const std::string &path, uint64_t *bytesWritten) {
  std::vector<Section> sections;
  std::vector<uint8_t> head;
  if (Error error = prepare(sections, head))
    return error;
  std::string temporary = path;
  bool isSpecial = isSpecialFile(path);
  int file = isSpecial ? ::open(path.c_str(), O_WRONLY | O_CLOEXEC) : createBeside(path, temporary);
  if (file < 0)
    return makeError(ErrorCode::Input, "cannot create %s: %s", quote(temporary).c_str(), std::strerror(errno));
  uint64_t total = 0;
  Error error = emit(sections, head, [&](const void *data, size_t size) {
    total += size;
    return writeAll(file, data, size);
  });
  if (::close(file) != 0 && !error)
    error = makeError(ErrorCode::Input, "cannot write: %s", std::strerror(errno));
  if (!error && !isSpecial && std::rename(temporary.c_str(), path.c_str()) != 0)
    error = makeError(ErrorCode::Input, "cannot rename: %s", std::strerror(errno));
  if (error) {
    if (!isSpecial)
      ::unlink(temporary.c_str());
    return std::move(error).within(quote(path));
  }
  if (bytesWritten)
    *bytesWritten = total;
  return {};
}
