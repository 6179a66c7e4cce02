// Compiled PTX on disk.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file is a header (signature, key, hash and size of the code) and the code.
#include "CubinCache.h"

#include "weft/Bundle/Hash.h"

#include <atomic>
#include <cinttypes>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::cuda;
using namespace weft::bundle;

namespace {
struct CubinHeader {
  char signature[8];
  Hash128 key, hash;
  uint64_t size;
};
constexpr char kSignature[8] = {'W', 'E', 'F', 'T', 'C', 'U', 'B', '1'};
constexpr uint64_t kMaxCubinBytes = 256 << 20;
constexpr mode_t kForeignBits = 077;

class File {
public:
  explicit File(int descriptor) : descriptor(descriptor) {}
  ~File() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  int get() const { return descriptor; }

private:
  int descriptor;
};
} // namespace

std::string weft::cuda::getDefaultCubinFolder() {
  const char *cache = ::secure_getenv("XDG_CACHE_HOME"), *home = ::secure_getenv("HOME");
  if (cache && cache[0] == '/')
    return std::string(cache) + "/weft/cubin";
  return home && home[0] == '/' ? std::string(home) + "/.cache/weft/cubin" : std::string();
}

CubinCache::~CubinCache() {
  if (descriptor >= 0)
    ::close(descriptor);
}

/// True if a file or folder is this user's alone.
static bool isOwn(int descriptor, mode_t type, struct stat &status) {
  return ::fstat(descriptor, &status) == 0 && (status.st_mode & S_IFMT) == type && status.st_uid == ::geteuid() &&
         !(status.st_mode & kForeignBits);
}

bool CubinCache::open(const std::string &folder) {
  if (folder.empty())
    return false;
  for (size_t end = folder.find('/', 1); end != folder.npos; end = folder.find('/', end + 1))
    (void)::mkdir(folder.substr(0, end).c_str(), 0700);
  (void)::mkdir(folder.c_str(), 0700);
  descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status;
  if (descriptor >= 0 && !isOwn(descriptor, S_IFDIR, status)) {
    ::close(descriptor);
    descriptor = -1;
  }
  return isOpen();
}

Hash128 CubinCache::makeKey(std::string_view ptx, std::string_view architecture, int driverVersion) {
  Hasher hasher;
  uint64_t sizes[] = {ptx.size(), architecture.size(), uint64_t(driverVersion)};
  hasher.update(sizes, sizeof sizes);
  hasher.update(ptx.data(), ptx.size());
  hasher.update(architecture.data(), architecture.size());
  return hasher.digest();
}

static std::string nameFile(const Hash128 &key) {
  char name[64];
  std::snprintf(name, sizeof name, "%016" PRIx64 "%016" PRIx64 ".cubin", uint64_t(key.high), uint64_t(key.low));
  return name;
}

static bool readAll(int descriptor, void *data, size_t size) {
  auto *position = static_cast<uint8_t *>(data);
  while (size) {
    ssize_t count = ::read(descriptor, position, size);
    if (count <= 0)
      return false;
    position += count;
    size -= size_t(count);
  }
  return true;
}

static bool writeAll(int descriptor, const void *data, size_t size) {
  const auto *position = static_cast<const uint8_t *>(data);
  while (size) {
    ssize_t count = ::write(descriptor, position, size);
    if (count <= 0)
      return false;
    position += count;
    size -= size_t(count);
  }
  return true;
}

bool CubinCache::read(const Hash128 &key, std::vector<uint8_t> &code) const {
  if (!isOpen())
    return false;
  // Without O_NONBLOCK a FIFO of that name would hold the process.
  File file(::openat(descriptor, nameFile(key).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  CubinHeader header;
  if (file.get() < 0 || !isOwn(file.get(), S_IFREG, status) || !readAll(file.get(), &header, sizeof header))
    return false;
  if (std::memcmp(header.signature, kSignature, sizeof kSignature) != 0 || header.key != key ||
      header.size > kMaxCubinBytes || uint64_t(status.st_size) != sizeof header + header.size)
    return false;
  code.resize(header.size);
  return readAll(file.get(), code.data(), code.size()) && hashBytes(code.data(), code.size()) == header.hash;
}

void CubinCache::write(const Hash128 &key, const void *code, size_t size) const {
  static std::atomic<unsigned> counter{0};
  if (!isOpen() || size > kMaxCubinBytes)
    return;
  std::string name = nameFile(key);
  std::string temporary = "." + name + "." + std::to_string(::getpid()) + "." + std::to_string(counter++);
  CubinHeader header = {};
  std::memcpy(header.signature, kSignature, sizeof kSignature);
  header.key = key;
  header.hash = hashBytes(code, size);
  header.size = size;
  bool isWritten;
  {
    File file(::openat(descriptor, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.get() < 0)
      return;
    isWritten = writeAll(file.get(), &header, sizeof header) && writeAll(file.get(), code, size);
  }
  if (!isWritten || ::renameat(descriptor, temporary.c_str(), descriptor, name.c_str()) != 0)
    (void)::unlinkat(descriptor, temporary.c_str(), 0);
}

void CubinCache::remove(const Hash128 &key) const {
  if (isOpen())
    (void)::unlinkat(descriptor, nameFile(key).c_str(), 0);
}
