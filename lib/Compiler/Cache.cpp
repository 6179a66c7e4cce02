// See the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/Cache.h"
#include "weft/Bundle/Reader.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using llvm::StringRef;
namespace fs = llvm::sys::fs;

namespace weft {

static constexpr StringRef suffix = ".weft", temporarySuffix = ".part";

void CacheKey::add(uint64_t number) {
  hasher.update(StringRef(reinterpret_cast<const char *>(&number), sizeof number));
}

void CacheKey::add(StringRef part) {
  add(uint64_t(part.size()));
  hasher.update(part);
}

std::string CacheKey::getText() const {
  llvm::BLAKE3 copy = hasher;
  return llvm::toHex(copy.final(), /*LowerCase=*/true);
}

llvm::Expected<BundleCache> BundleCache::open(StringRef folder, uint64_t limit) {
  constexpr mode_t othersWrite = 022;
  auto fail = [&](const llvm::Twine &cause) { return llvm::createStringError("cache '" + folder + "': " + cause); };
  if (std::error_code code = fs::create_directories(folder, /*IgnoreExisting=*/true, fs::owner_all))
    return fail(code.message());
  struct stat status;
  if (::stat(folder.str().c_str(), &status) != 0)
    return fail(std::strerror(errno));
  if (!S_ISDIR(status.st_mode))
    return fail("expected a folder");
  if (status.st_uid != ::geteuid() || (status.st_mode & othersWrite))
    return fail(
        "expected a folder that only its user can write to, since bundles hold code; chmod go-w it, or name another");
  return BundleCache(folder.str(), limit ? limit : defaultLimit);
}

std::string BundleCache::nameEntry(StringRef key) const {
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, key + suffix);
  return std::string(path);
}

bool BundleCache::lookUp(StringRef key, llvm::function_ref<void(llvm::ArrayRef<uint8_t>)> use) const {
  std::string path = nameEntry(key);
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return false;
  const auto *data = reinterpret_cast<const uint8_t *>((*file)->getBufferStart());
  size_t size = (*file)->getBufferSize();
  bundle::Reader reader;
  if (bundle::Error error = bundle::Reader::open(data, size, /*verifyWeights=*/true, reader)) {
    ::unlink(path.c_str());
    return false;
  }
  ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // Used now.
  use({data, size});
  return true;
}

void BundleCache::insert(StringRef key, llvm::ArrayRef<uint8_t> bytes) const {
  if (bytes.size() > limit)
    return;
  int descriptor = -1;
  llvm::SmallString<256> temporary;
  if (fs::createUniqueFile(nameEntry(key) + "-%%%%%%%%" + temporarySuffix, descriptor, temporary))
    return;
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  os.close();
  bool isWritten = !os.has_error();
  os.clear_error();
  if (!isWritten || ::rename(temporary.c_str(), nameEntry(key).c_str()) != 0)
    ::unlink(temporary.c_str());
  trim();
}

void BundleCache::insertFile(StringRef key, StringRef path) const {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (file)
    insert(key, {reinterpret_cast<const uint8_t *>((*file)->getBufferStart()), (*file)->getBufferSize()});
}

/// Files that vanish meanwhile were another process's to remove. What a process that ended left half written goes after
/// a day.
void BundleCache::trim() const {
  constexpr std::chrono::hours mostWriting(24);
  struct Entry {
    llvm::sys::TimePoint<> used;
    uint64_t size;
    std::string path;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; at != end && !code; at.increment(code)) {
    fs::file_status status;
    StringRef path = at->path();
    if (fs::status(path, status, /*follow=*/false) || status.type() != fs::file_type::regular_file)
      continue;
    if (path.ends_with(temporarySuffix) &&
        status.getLastModificationTime() + mostWriting < std::chrono::system_clock::now())
      ::unlink(path.str().c_str());
    if (!path.ends_with(suffix))
      continue;
    entries.push_back({status.getLastModificationTime(), status.getSize(), path.str()});
    total += status.getSize();
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) { return a.used < b.used; });
  for (size_t i = 0; i < entries.size() && total > limit; total -= entries[i++].size)
    ::unlink(entries[i].path.c_str());
}

} // namespace weft
