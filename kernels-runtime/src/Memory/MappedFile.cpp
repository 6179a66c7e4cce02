// Read-only files in memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths from a bundle are walked component by component with openat(O_NOFOLLOW), so that no name, link or race leads
// outside.
#include "MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace weft;
using namespace weft::bundle;

MappedFile::~MappedFile() {
  if (size)
    ::munmap(const_cast<uint8_t *>(data), size);
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : data(std::exchange(other.data, nullptr)), size(std::exchange(other.size, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(data, other.data);
  std::swap(size, other.size);
  return *this;
}

namespace {
/// Owns a file descriptor.
struct Descriptor {
  explicit Descriptor(int number) : number(number) {}
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  int number;
};
} // namespace

static Error fileError(const char *action) {
  ErrorCode code = errno == ENOMEM || errno == EMFILE || errno == ENFILE ? ErrorCode::Resource : ErrorCode::Input;
  return makeError(code, "cannot %s: %s", action, std::strerror(errno));
}

Error MappedFile::map(int descriptor, MappedFile &file) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    return fileError("stat");
  if (!S_ISREG(status.st_mode))
    return Error(ErrorCode::Input, "expected a regular file");
  MappedFile result;
  if (status.st_size > 0) {
    void *address = ::mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED)
      return fileError("map");
    result.data = static_cast<const uint8_t *>(address);
    result.size = uint64_t(status.st_size);
  }
  file = std::move(result);
  return {};
}

// O_NONBLOCK keeps an open of a FIFO from waiting for its writer; regular files do not mind.
static constexpr int openFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

Error MappedFile::open(const std::string &path, MappedFile &file) {
  Descriptor descriptor(::open(path.c_str(), openFlags));
  Error error = descriptor.number < 0 ? fileError("open") : map(descriptor.number, file);
  return error ? std::move(error).within(quote(path)) : Error();
}

/// Opens `path` below the directory `folder`; -1 and `reason` on failure.
static int openComponents(int folder, std::string_view path, std::string &reason) {
  int current = folder;
  while (true) {
    size_t slash = path.find('/');
    std::string component(path.substr(0, slash));
    bool isLast = slash == path.npos;
    if (component.empty() || component == "." || component == "..") {
      reason = "expected a relative path without empty, \".\" or \"..\" components";
      errno = EINVAL;
    }
    int next =
        reason.empty() ? ::openat(current, component.c_str(), openFlags | O_NOFOLLOW | (isLast ? 0 : O_DIRECTORY)) : -1;
    if (next < 0 && reason.empty())
      reason = errno == ELOOP ? "symbolic links are not followed" : std::string("cannot open: ") + std::strerror(errno);
    if (current != folder)
      ::close(current);
    if (next < 0 || isLast)
      return next;
    current = next;
    path.remove_prefix(slash + 1);
  }
}

Error MappedFile::openBelow(const std::string &folder, std::string_view path, MappedFile &file) {
  std::string where = "file " + quote(path) + " in folder " + quote(folder);
  Descriptor base(::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (base.number < 0)
    return fileError("open the folder").within(where);
  std::string reason;
  Descriptor descriptor(openComponents(base.number, path, reason));
  if (descriptor.number < 0)
    return Error(ErrorCode::Input, where + ": " + reason);
  Error error = map(descriptor.number, file);
  return error ? std::move(error).within(where) : Error();
}
