// numpy's files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Format: numpy/lib/format.py's documentation ("\x93NUMPY", version, header length, a Python dict, the data). The dict
// is read with a small scanner for exactly the three keys that numpy writes. Zip: APPNOTE.TXT 4.3.7, 4.3.12, 4.3.16;
// stored members only.
#include "Files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

using namespace weft;
using namespace weft::run;
using namespace weft::bundle;

static constexpr char npyMagic[] = "\x93NUMPY";

Error weft::run::readFile(const std::string &path, std::vector<uint8_t> &bytes) {
  std::FILE *file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (!file)
    return makeError(ErrorCode::Input, "%s: cannot open: %s", quote(path).c_str(), std::strerror(errno));
  bytes.clear();
  uint8_t chunk[65536];
  size_t got;
  while ((got = std::fread(chunk, 1, sizeof chunk, file)) > 0)
    bytes.insert(bytes.end(), chunk, chunk + got);
  bool failed = std::ferror(file);
  if (file != stdin)
    std::fclose(file);
  return failed ? makeError(ErrorCode::Input, "%s: cannot read: %s", quote(path).c_str(), std::strerror(errno))
                : Error();
}

bool weft::run::isNpy(const std::vector<uint8_t> &bytes) {
  return bytes.size() >= 6 && std::memcmp(bytes.data(), npyMagic, 6) == 0;
}

namespace {
/// What the header dict says.
struct NpyHeader {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> dims;
};

/// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class HeaderScanner {
public:
  explicit HeaderScanner(std::string_view text) : text(text) {}

  bool scan(NpyHeader &header) {
    bool hasDescr = false, hasOrder = false, hasShape = false;
    if (!take('{'))
      return false;
    while (!take('}')) {
      std::string key;
      if (!takeString(key) || !take(':'))
        return false;
      if (key == "descr")
        hasDescr = takeString(header.descr);
      else if (key == "fortran_order")
        hasOrder = takeBool(header.fortranOrder);
      else if (key == "shape")
        hasShape = takeShape(header.dims);
      else
        return false;
      take(',');
    }
    skipSpace();
    return hasDescr && hasOrder && hasShape && position == text.size();
  }

private:
  void skipSpace() {
    while (position < text.size() && (text[position] == ' ' || text[position] == '\n'))
      ++position;
  }
  bool take(char c) {
    skipSpace();
    bool found = position < text.size() && text[position] == c;
    position += found;
    return found;
  }
  bool takeString(std::string &value) {
    skipSpace();
    char quote = position < text.size() ? text[position] : 0;
    if (quote != '\'' && quote != '"')
      return false;
    size_t end = text.find(quote, position + 1);
    if (end == text.npos)
      return false;
    value = text.substr(position + 1, end - position - 1);
    position = end + 1;
    return true;
  }
  bool takeBool(bool &value) {
    skipSpace();
    value = text.substr(position, 4) == "True";
    bool found = value || text.substr(position, 5) == "False";
    position += found ? (value ? 4 : 5) : 0;
    return found;
  }
  bool takeShape(std::vector<int64_t> &dims) {
    if (!take('('))
      return false;
    while (!take(')')) {
      skipSpace();
      int64_t value = 0;
      size_t begin = position;
      for (; position < text.size() && text[position] >= '0' && text[position] <= '9'; ++position)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text[position] - '0', &value))
          return false;
      if (position == begin)
        return false;
      dims.push_back(value);
      take(',');
    }
    return dims.size() <= kMaxRank;
  }

  std::string_view text;
  size_t position = 0;
};

struct NumpyType {
  const char *descr;
  DType dtype;
};
} // namespace

static constexpr NumpyType numpyTypes[] = {
    {"<f8", DType::F64},  {"<f4", DType::F32},  {"<f2", DType::F16}, {"<i8", DType::I64},
    {"<i4", DType::I32},  {"<i2", DType::I16},  {"|i1", DType::I8},  {"<u8", DType::UI64},
    {"<u4", DType::UI32}, {"<u2", DType::UI16}, {"|u1", DType::UI8}, {"|b1", DType::I1},
};

/// The element type of `descr`; `wanted` decides what raw bytes mean. `bytesPerElement` is that of the file.
static bool findType(const std::string &descr, DType wanted, DType &dtype, size_t &bytesPerElement) {
  unsigned wantedBits = getBits(wanted);
  for (const NumpyType &type : numpyTypes)
    if (descr == type.descr) {
      bytesPerElement = getBits(type.dtype) / 8;
      bool isNarrow = wantedBits < 8 && bytesPerElement == 1;
      dtype = isNarrow ? wanted : type.dtype;
      return true;
    }
  bool isRaw = descr == "<V2" || descr == "|V2" || descr == "|V1" || descr == "<V1";
  bytesPerElement = isRaw ? size_t(descr[2] - '0') : 0;
  dtype = wanted;
  bool isForeign = isFloat(wanted) || wantedBits < 8;
  return isRaw && isForeign && std::max(wantedBits, 8u) == bytesPerElement * 8;
}

/// Copies elements of `width` bytes in column-major order into row-major order.
static void transposeFortran(const uint8_t *from, const std::vector<int64_t> &dims, size_t width,
                             std::vector<uint8_t> &to) {
  std::vector<int64_t> index(dims.size());
  int64_t count = countElements(dims);
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = 0;
    for (size_t d = dims.size(); d-- > 0;)
      position = position * dims[d] + index[d];
    std::memcpy(to.data() + size_t(i) * width, from + size_t(position) * width, width);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d])
        break;
      index[d] = 0;
    }
  }
}

Error weft::run::parseNpy(const uint8_t *data, size_t size, DType wanted, Tensor &tensor) {
  if (size < 12 || std::memcmp(data, npyMagic, 6) != 0 || data[6] < 1 || data[6] > 3)
    return Error(ErrorCode::Input, "expected a .npy file of version 1, 2 or 3");
  size_t lengthBytes = data[6] == 1 ? 2 : 4, length = 0;
  std::memcpy(&length, data + 8, lengthBytes);
  size_t start = 8 + lengthBytes;
  NpyHeader header;
  if (length > size - start || !HeaderScanner({reinterpret_cast<const char *>(data) + start, length}).scan(header))
    return Error(ErrorCode::Input, "the header of the .npy file is malformed");
  DType dtype;
  size_t width;
  if (!findType(header.descr, wanted, dtype, width))
    return Error(ErrorCode::Input, "expected elements of type " + std::string(getName(wanted)) + ", got numpy type " +
                                       quote(header.descr));
  const uint8_t *values = data + start + length;
  size_t left = size - start - length;
  int64_t count = countElements(header.dims);
  if (count < 0 || uint64_t(count) > left / width || uint64_t(count) * width != left)
    return makeError(ErrorCode::Input, "expected %zu bytes of data to be the shape in the .npy header times %zu", left,
                     width);
  std::vector<uint8_t> ordered(left);
  if (header.fortranOrder)
    transposeFortran(values, header.dims, width, ordered);
  else
    std::copy(values, values + left, ordered.begin());
  if (Error error = Tensor::create(dtype, header.dims, tensor))
    return error;
  if (getBits(dtype) >= 8) {
    tensor.bytes = std::move(ordered);
    return {};
  }
  for (int64_t i = 0; i < count; ++i)
    tensor.setInteger(i, ordered[size_t(i)]);
  return {};
}

std::vector<uint8_t> weft::run::formatNpy(const Tensor &tensor) {
  std::string descr;
  for (const NumpyType &type : numpyTypes)
    if (type.dtype == tensor.dtype)
      descr = type.descr;
  bool isNarrow = getBits(tensor.dtype) < 8;
  if (descr.empty())
    descr = isNarrow && !isFloat(tensor.dtype) ? (isUnsigned(tensor.dtype) ? "|u1" : "|i1")
            : getBits(tensor.dtype) == 16      ? "<V2"
                                               : "|V1";
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (int64_t dim : tensor.dims)
    header += std::to_string(dim) + ", ";
  header += "), }";
  size_t start = 10;
  header.append(63 - (start + header.size()) % 64, ' ');
  header += '\n';
  std::vector<uint8_t> bytes(npyMagic, npyMagic + 6);
  bytes.insert(bytes.end(), {1, 0, uint8_t(header.size() & 0xff), uint8_t(header.size() >> 8)});
  bytes.insert(bytes.end(), header.begin(), header.end());
  if (!isNarrow)
    bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
  for (int64_t i = 0, n = isNarrow ? tensor.getCount() : 0; i < n; ++i)
    bytes.push_back(uint8_t(tensor.getInteger(i)));
  return bytes;
}

Error weft::run::writeNpy(const std::string &path, const Tensor &tensor) {
  std::vector<uint8_t> bytes = formatNpy(tensor);
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    return makeError(ErrorCode::Input, "%s: cannot create: %s", quote(path).c_str(), std::strerror(errno));
  bool ok = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  ok = std::fclose(file) == 0 && ok;
  return ok ? Error() : makeError(ErrorCode::Input, "%s: cannot write: %s", quote(path).c_str(), std::strerror(errno));
}

//===--------------------------------------------------------------------------------------------------------------===//
// Zip
//===--------------------------------------------------------------------------------------------------------------===//

template <class T> static T readLittle(const std::vector<uint8_t> &bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// Checks the member whose central directory record is at `record` and finds its data.
static Error findMember(const std::vector<uint8_t> &bytes, size_t record, Range &range) {
  constexpr uint32_t localSignature = 0x04034b50;
  constexpr size_t localSize = 30;
  uint64_t size = readLittle<uint32_t>(bytes, record + 24), local = readLittle<uint32_t>(bytes, record + 42);
  if (readLittle<uint16_t>(bytes, record + 10) != 0)
    return Error(ErrorCode::Unsupported, "compressed .npz files are not supported; write it with np.savez");
  if (size == UINT32_MAX || local == UINT32_MAX)
    return Error(ErrorCode::Unsupported, ".npz members of 4 GiB and more are not supported; use .npy files");
  if (local > bytes.size() || bytes.size() - local < localSize || readLittle<uint32_t>(bytes, local) != localSignature)
    return Error(ErrorCode::Input, "the directory of the .npz file is malformed");
  uint64_t data = local + localSize + readLittle<uint16_t>(bytes, local + 26) + readLittle<uint16_t>(bytes, local + 28);
  if (data > bytes.size() || size > bytes.size() - data)
    return Error(ErrorCode::Input, "a member of the .npz file leaves the file");
  range = {size_t(data), size_t(size)};
  return {};
}

Error weft::run::parseNpz(const std::vector<uint8_t> &bytes, std::map<std::string, Range> &members) {
  constexpr uint32_t endSignature = 0x06054b50, directorySignature = 0x02014b50;
  constexpr size_t endSize = 22, recordSize = 46, maxComment = 65535;
  size_t end = bytes.size() >= endSize ? bytes.size() - endSize : 0;
  size_t lowest = end > maxComment ? end - maxComment : 0;
  while (bytes.size() >= endSize && end > lowest && readLittle<uint32_t>(bytes, end) != endSignature)
    --end;
  if (bytes.size() < endSize || readLittle<uint32_t>(bytes, end) != endSignature)
    return Error(ErrorCode::Input, "expected an .npz (zip) file");
  size_t record = readLittle<uint32_t>(bytes, end + 16);
  for (unsigned i = 0, count = readLittle<uint16_t>(bytes, end + 10); i < count; ++i) {
    if (record > end || end - record < recordSize || readLittle<uint32_t>(bytes, record) != directorySignature)
      return Error(ErrorCode::Input, "the directory of the .npz file is malformed");
    size_t nameSize = readLittle<uint16_t>(bytes, record + 28);
    size_t next = record + recordSize + nameSize + readLittle<uint16_t>(bytes, record + 30) +
                  readLittle<uint16_t>(bytes, record + 32);
    if (next > end)
      return Error(ErrorCode::Input, "the directory of the .npz file is malformed");
    std::string name(reinterpret_cast<const char *>(bytes.data()) + record + recordSize, nameSize);
    if (name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0)
      name.resize(name.size() - 4);
    Range range;
    if (Error error = findMember(bytes, record, range))
      return std::move(error).within("member " + quote(name));
    members[name] = range;
    record = next;
  }
  return {};
}
