// Opening what a stranger's model names as its weights. The kernel resolves the path below the model's folder without
// following links (openat2), or we walk it component by component where that call is missing. Checks are made on the
// open descriptor, never on a path.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ExternalData.h"
#include "mlir/IR/MLIRContext.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Import/Onnx/MemorySources.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <onnx/onnx_pb.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace weft::onnx;

namespace {

llvm::Error cause(const llvm::Twine &text) { return llvm::createStringError(llvm::inconvertibleErrorCode(), text); }

class Descriptor {
public:
  explicit Descriptor(int value) : value(value) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (value >= 0)
      ::close(value);
  }
  int get() const { return value; }
  int release() { return std::exchange(value, -1); }

private:
  int value;
};

// O_NONBLOCK: a FIFO must not make us wait.
constexpr int openFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY;

/// openat2's rules by hand: no link anywhere on the way.
int openByComponents(int root, llvm::StringRef location) {
  llvm::SmallVector<llvm::StringRef> parts;
  location.split(parts, '/', -1, /*KeepEmpty=*/false);
  std::vector<std::unique_ptr<Descriptor>> folders;
  int folder = root;
  for (llvm::StringRef part : llvm::ArrayRef(parts).drop_back()) {
    folder = ::openat(folder, part.str().c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
      return -1;
    folders.push_back(std::make_unique<Descriptor>(folder));
  }
  return ::openat(folder, parts.back().str().c_str(), openFlags);
}

} // namespace

ExternalData::ExternalData(llvm::StringRef modelPath, llvm::StringRef dataFolder, LinkPolicy links,
                           tg::WeightStore &store)
    : folder(dataFolder), folderName("the model's folder"), links(links), store(store) {
  if (!dataFolder.empty()) {
    folderName = ("folder `" + escape(dataFolder) + "`");
  } else if (!modelPath.empty()) {
    folder = llvm::sys::path::parent_path(modelPath).str();
    if (folder.empty())
      folder = ".";
  }
}

llvm::Error ExternalData::checkLocation(llvm::StringRef location) const {
  if (location.empty())
    return cause("external data has no location");
  if (location.contains('\0'))
    return cause("location of external data contains a NUL character");
  if (location.starts_with("/"))
    return cause("location `" + location + "` of external data is absolute; expected a path below " + folderName);
  llvm::SmallVector<llvm::StringRef> parts;
  location.split(parts, '/', -1, /*KeepEmpty=*/false);
  if (llvm::is_contained(parts, "..") || parts.empty())
    return cause("location `" + location + "` of external data leaves " + folderName);
  return llvm::Error::success();
}

llvm::Expected<int> ExternalData::openBeneath(llvm::StringRef root, llvm::StringRef location) {
  Descriptor directory(::open(root.str().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0)
    return cause("cannot open " + folderName + ": " + std::strerror(errno));
  struct open_how how = {};
  how.flags = openFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  auto descriptor =
      static_cast<int>(::syscall(SYS_openat2, directory.get(), location.str().c_str(), &how, sizeof(how)));
  if (descriptor < 0 && (errno == ENOSYS || errno == EPERM || errno == E2BIG))
    descriptor = openByComponents(directory.get(), location);
  if (descriptor >= 0)
    return descriptor;
  switch (errno) {
  case ENOENT:
    missing = true;
    [[fallthrough]];
  case ENOTDIR:
    return cause("external data file `" + location + "` not found in " + folderName);
  case ELOOP:
    return cause("external data file `" + location + "` is or lies behind a symbolic link");
  case EXDEV:
    return cause("location `" + location + "` of external data leaves " + folderName);
  case ENXIO:
    return cause("external data file `" + location + "` is not a regular file");
  default:
    return cause("cannot open external data file `" + location + "`: " + std::strerror(errno));
  }
}

/// A Hugging Face cache keeps `snapshots/REVISION/FILE` as a link to `../../blobs/HASH`. Follows exactly that.
llvm::Expected<int> ExternalData::openCacheLink(llvm::StringRef location) {
  namespace path = llvm::sys::path;
  auto refuse = [&] {
    return cause("external data file `" + location + "` is a link that does not lead into the cache's blobs");
  };
  llvm::SmallString<256> absolute(folder);
  if (llvm::sys::fs::make_absolute(absolute))
    return refuse();
  llvm::SmallString<256> link(absolute);
  path::append(link, location);
  path::remove_dots(link, /*remove_dot_dot=*/true);
  char target[512];
  ssize_t length = ::readlink(link.c_str(), target, sizeof(target));
  if (length <= 0 || length == sizeof(target) || target[0] == '/')
    return refuse();
  llvm::SmallString<256> resolved(path::parent_path(link));
  path::append(resolved, llvm::StringRef(target, length));
  path::remove_dots(resolved, /*remove_dot_dot=*/true);
  // ROOT/snapshots/REVISION/... -> ROOT/blobs/HASH
  llvm::StringRef root = path::parent_path(path::parent_path(resolved));
  llvm::StringRef hash = path::filename(resolved);
  bool isBlob = path::filename(path::parent_path(resolved)) == "blobs" && hash.size() >= 40 &&
                llvm::all_of(hash, llvm::isHexDigit);
  if (!isBlob || !link.str().starts_with((root + "/snapshots/").str()))
    return refuse();
  return openBeneath(root, ("blobs/" + hash).str());
}

llvm::Expected<ExternalData::File> ExternalData::mapDescriptor(int descriptor, llvm::StringRef location) {
  Descriptor owned(descriptor);
  struct stat status;
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))
    return cause("external data file `" + location + "` is not a regular file");
  if (status.st_nlink != 1 && links == LinkPolicy::None)
    return cause("external data file `" + location + "` has " + llvm::Twine(status.st_nlink) +
                 " hard links; expected 1");
  auto size = static_cast<size_t>(status.st_size);
  void *memory = size ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : nullptr;
  if (memory == MAP_FAILED)
    return cause("cannot map external data file `" + location + "`: " + std::strerror(errno));
  tg::WeightStore::Source source;
  source.bytes = {static_cast<const char *>(memory), size};
  source.owner = std::shared_ptr<void>(memory, [size](void *memory) {
    if (memory)
      ::munmap(memory, size);
  });
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, location);
  source.path = path.str().str();
  File file{location.str(), size};
  for (unsigned i = 2; !store.add(file.source, source); ++i)
    file.source = (location + "#" + llvm::Twine(i)).str();
  return file;
}

/// No location of a file: those have no empty component.
static std::string nameMemory(llvm::StringRef location) { return ("memory//" + location).str(); }

bool weft::onnx::addMemorySource(mlir::MLIRContext &context, llvm::StringRef location, llvm::ArrayRef<char> bytes) {
  llvm::SmallString<256> clean(location);
  llvm::sys::path::remove_dots(clean);
  weft::tg::WeightStore &store = context.getOrLoadDialect<weft::tg::TileGraphDialect>()->getWeightStore();
  return store.add(nameMemory(clean), {bytes, nullptr, "", clean.str().str()});
}

llvm::Expected<ExternalData::File> ExternalData::open(llvm::StringRef location) {
  auto known = files.find(location);
  if (known != files.end())
    return known->second;
  if (const tg::WeightStore::Source *given = store.find(nameMemory(location)))
    return files[location] = File{nameMemory(location), given->bytes.size()};
  if (folder.empty()) {
    missing = true;
    return cause("external data `" + location + "` of a model in memory");
  }
  llvm::Expected<int> descriptor = openBeneath(folder, location);
  if (!descriptor && links == LinkPolicy::HuggingFace) {
    llvm::consumeError(descriptor.takeError());
    descriptor = openCacheLink(location);
  }
  if (!descriptor)
    return descriptor.takeError();
  llvm::Expected<File> file = mapDescriptor(*descriptor, location);
  if (file)
    files[location] = *file;
  return file;
}

llvm::Expected<ExternalRange> ExternalData::resolve(const ::onnx::TensorProto &tensor, uint64_t bytes) {
  missing = false;
  llvm::StringRef location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  llvm::SmallVector<llvm::StringRef> seen;
  for (const auto &entry : tensor.external_data()) {
    llvm::StringRef key = entry.key(), value = entry.value();
    if (llvm::is_contained(seen, key))
      return cause("external data key `" + key + "` is given twice");
    seen.push_back(key);
    if (key == "location") {
      location = value;
    } else if (key == "offset" || key == "length") {
      uint64_t number = 0;
      if (!llvm::all_of(value, llvm::isDigit) || value.getAsInteger(10, number))
        return cause("expected a number from 0 to 2^64 for external data key `" + key + "`, got `" + value + "`");
      (key == "offset" ? offset : length.emplace()) = number;
    } else if (key != "checksum" && key != "basepath") {
      return cause("unknown external data key `" + key + "`");
    }
  }
  if (llvm::Error error = checkLocation(location))
    return std::move(error);
  llvm::SmallString<256> clean(location);
  llvm::sys::path::remove_dots(clean);
  llvm::Expected<File> file = open(clean);
  if (!file)
    return file.takeError();
  if (offset > file->size || length.value_or(0) > file->size - offset)
    return cause("external data range [" + llvm::Twine(offset) + ", +" + llvm::Twine(length.value_or(bytes)) +
                 ") is not inside file `" + location + "` of " + llvm::Twine(file->size) + " bytes");
  uint64_t size = length.value_or(file->size - offset);
  if (size != bytes)
    return cause("expected " + llvm::Twine(bytes) + " bytes of external data for the shape and type, got " +
                 llvm::Twine(size));
  return ExternalRange{file->source, offset, size};
}
