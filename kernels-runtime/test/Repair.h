// Makes the hashes of a changed bundle right.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests and the fuzzer change single fields of a bundle; with the hashes made right again the change reaches the checks
// behind them.
#ifndef WEFT_TEST_REPAIR_H
#define WEFT_TEST_REPAIR_H

#include "weft/Bundle/Hash.h"

#include <cstddef>
#include <cstring>

namespace weft::test {

/// Recomputes the hashes of all sections that lie inside the file, of the section table, and of the header.
inline void repairHashes(uint8_t *data, size_t size) {
  using namespace bundle;
  if (size < sizeof(FileHeader))
    return;
  FileHeader header;
  std::memcpy(&header, data, sizeof header);
  uint64_t tableBytes = uint64_t(header.sectionCount) * sizeof(SectionEntry);
  if (header.sectionCount <= kMaxSections && tableBytes <= size - sizeof header) {
    for (uint32_t i = 0; i < header.sectionCount; ++i) {
      uint8_t *place = data + sizeof header + i * sizeof(SectionEntry);
      SectionEntry entry;
      std::memcpy(&entry, place, sizeof entry);
      if (entry.offset <= size && entry.size <= size - entry.offset)
        entry.hash = hashBytes(data + entry.offset, entry.size);
      std::memcpy(place, &entry, sizeof entry);
    }
    header.tableHash = hashBytes(data + sizeof header, tableBytes);
  }
  header.headerHash = hashBytes(&header, offsetof(FileHeader, headerHash));
  std::memcpy(data, &header, sizeof header);
}

} // namespace weft::test

#endif // WEFT_TEST_REPAIR_H
