// Read-only files in memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps regular files read-only, and opens files whose names come from a bundle without ever leaving the given folder.
#ifndef WEFT_MEMORY_MAPPEDFILE_H
#define WEFT_MEMORY_MAPPEDFILE_H

#include "weft/Bundle/Error.h"

#include <cstdint>

namespace weft {

class MappedFile {
public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;

  /// Maps `path`, which the user named: links are followed, but it must be a regular file.
  static bundle::Error open(const std::string &path, MappedFile &file);

  /// Maps `path`, which a bundle named, below `folder`. Refused: absolute paths, empty, "." and ".." components,
  /// symbolic links in any component, and anything but regular files.
  static bundle::Error openBelow(const std::string &folder, std::string_view path, MappedFile &file);

  const uint8_t *getData() const { return data; }
  uint64_t getSize() const { return size; }

private:
  static bundle::Error map(int descriptor, MappedFile &file);

  const uint8_t *data = nullptr;
  uint64_t size = 0;
};

} // namespace weft

#endif // WEFT_MEMORY_MAPPEDFILE_H
