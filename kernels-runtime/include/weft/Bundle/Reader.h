// Checked view of a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a bundle in place. `Reader::open` checks everything that the file says before anything else may look at it:
// versions, sizes, bounds, alignment, overlap, hashes, UTF-8, every index and count, definition before use of
// registers, live intervals. After it succeeds, the tables can be walked without further checks. It allocates a few
// hundred bytes plus one bit set per entry, and its work is linear in the size of the file.
#ifndef WEFT_BUNDLE_READER_H
#define WEFT_BUNDLE_READER_H

#include "weft/Bundle/Error.h"
#include "weft/bundle_format.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace weft::bundle {

/// A table of records inside the file.
template <class T> struct Table {
  const T *data = nullptr;
  uint32_t size = 0;
  const T &operator[](uint32_t index) const { return data[index]; }
  const T *begin() const { return data; }
  const T *end() const { return data + size; }
  /// The records [first, first + count), which the reader has checked to exist.
  Table slice(uint32_t first, uint32_t count) const { return {data + first, count}; }
};

/// The record of `weight` in a table that is sorted by weights; null: it has none.
template <class T> const T *findRecord(const Table<T> &table, uint32_t weight) {
  const T *found = std::lower_bound(table.begin(), table.end(), weight,
                                    [](const T &record, uint32_t wanted) { return record.weight < wanted; });
  return found != table.end() && found->weight == weight ? found : nullptr;
}

struct Blob {
  const uint8_t *data = nullptr;
  uint64_t size = 0;
};

/// All tables of a bundle. Ranges in the records are valid once `validateTables` has accepted them.
struct Tables {
  Table<SectionEntry> sections;
  Table<StringRecord> strings;
  Blob stringBytes;
  Table<MetadataRecord> metadata;
  Table<SymbolRecord> symbols;
  Table<EntryRecord> entries;
  Table<PortRecord> ports;
  Table<InstructionRecord> instructions;
  Table<BufferRecord> buffers;
  Table<AliasRecord> aliases;
  Table<uint32_t> extents;
  Table<CommandRecord> commands;
  Table<ArgumentRecord> arguments;
  Table<uint32_t> scalars;
  Table<KernelRecord> kernels;
  Table<uint32_t> origins;
  Table<DataRecord> constants;
  Blob constantBytes;
  Table<WeightRecord> weights;
  uint64_t weightDataBytes = 0;
  Table<WeightOrderRecord> weightOrders;
  Table<WeightPartRecord> weightParts;
  Table<VariantRecord> variants;
  Table<uint32_t> features;
  Table<GpuModuleRecord> gpuModules;
  Table<GpuKernelRecord> gpuKernels;
  Table<TensorMapRecord> tensorMaps;
  Blob explain;

  /// Text of a string that the file refers to; NUL-terminated. Empty for kNone.
  std::string_view getString(uint32_t index) const {
    if (index == kNone)
      return {};
    const StringRecord &record = strings[index];
    return {reinterpret_cast<const char *>(stringBytes.data) + record.offset, record.size};
  }
  /// The same for C; null for kNone.
  const char *getText(uint32_t index) const { return getString(index).data(); }
};

/// The ranges of one entry.
struct EntryView {
  const EntryRecord *record;
  Table<SymbolRecord> symbols;
  Table<PortRecord> inputs, outputs;
  Table<InstructionRecord> instructions;
  Table<BufferRecord> buffers;
  Table<CommandRecord> commands;
};
EntryView getEntry(const Tables &tables, uint32_t index);

/// Checks all records against each other. Hashes and section bounds are not its business.
Error validateTables(const Tables &tables);

/// A bundle that lies in memory, checked.
class Reader {
public:
  /// `data` must be 8-byte aligned and outlive the reader. Hashes of all sections but WeightData are checked;
  /// WeightData (and each embedded weight) only with `verifyWeights`, because hashing gigabytes takes longer than
  /// running them.
  static Error open(const void *data, uint64_t size, bool verifyWeights, Reader &reader);

  const FileHeader &getHeader() const { return *reinterpret_cast<const FileHeader *>(data); }
  std::string_view getProductVersion() const { return getHeader().productVersion; }
  const Tables &getTables() const { return tables; }
  /// The bytes of the section with this number in the section table.
  Blob getSection(uint32_t index) const;
  /// Value of a metadata key, or empty.
  std::string_view getMetadata(std::string_view key) const;
  /// Address of an embedded weight.
  const uint8_t *getEmbeddedWeight(const WeightRecord &weight) const { return weightData.data + weight.offset; }

private:
  const uint8_t *data = nullptr;
  Tables tables;
  Blob weightData;
};

} // namespace weft::bundle

#endif // WEFT_BUNDLE_READER_H
