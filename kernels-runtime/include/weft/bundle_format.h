// On-disk structures of a Weft bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The specification of the bundle, the one file that `weft-compile` writes and the runtime executes. docs/bundle.md
// says the same with an example; where the two disagree this header is right.
//
// File =  FileHeader | SectionEntry[sectionCount] | sections.
//
//  * All integers are little-endian, all structs have the size asserted below, reserved bytes are zero.
//  * Sections are sorted by offset, do not overlap, start at a multiple of 64 (WeightData: 4096); the bytes between
//  them are zero.
//  * A *table* section is an array of one record type; a *blob* section is bytes. Each kind occurs at most once, except
//    NativeCode and Ptx. A missing table is an empty table.
//  * Records refer to other tables by index. A (first, count) pair owns its range: the ranges of consecutive records
//  tile the
//    target table from 0 to its end, without gap or overlap, so that a reader's work is linear in the size of the file.
//  * Strings are indices into StringIndex; string contents are UTF-8 without NUL, and each is followed by one NUL byte
//  in
//    StringBytes, in index order without gaps.
//  * Versions: the layout of FileHeader up to `fileBytes` never changes. `formatMajor` grows when a record changes; a
//  reader
//    refuses other majors. `formatMinor` grows when section kinds, opcodes or dtypes are added; a reader accepts every
//    older minor. Neither is the version of the compiler, which is the text in `productVersion`.
#ifndef WEFT_BUNDLE_FORMAT_H
#define WEFT_BUNDLE_FORMAT_H

#include <cstdint>

namespace weft::bundle {

/// The first eight bytes. The non-ASCII byte, CR LF and ^Z catch transfers in text mode.
inline constexpr uint8_t kMagic[8] = {0x89, 'W', 'E', 'F', 'T', 0x0D, 0x0A, 0x1A};
inline constexpr uint16_t kFormatMajor = 1;
inline constexpr uint16_t kFormatMinor = 7;

/// "No index": an absent string, register, or table entry.
inline constexpr uint32_t kNone = 0xffffffffu;

inline constexpr uint64_t kSectionAlignment = 64;
inline constexpr uint64_t kWeightAlignment = 4096;
/// Alignment of every constant, embedded weight and run-time buffer: kernels may assume it of a buffer's first byte.
inline constexpr uint64_t kBufferAlignment = 64;

// Limits that a reader enforces on top of the file's own size.
inline constexpr uint32_t kMaxSections = 256;
inline constexpr uint32_t kMaxStringBytes = 65535;
inline constexpr uint32_t kMaxRank = 32;
inline constexpr uint32_t kMaxArguments = 1024; ///< Buffers of one dispatch.
inline constexpr uint32_t kMaxScalars = 1024;   ///< Scalars of one dispatch.
inline constexpr uint32_t kMaxFeatures = 256;   ///< CPU features of one code variant.
inline constexpr uint32_t kMaxTensorMaps = 16;  ///< Tensor maps of one GPU kernel.
inline constexpr uint32_t kMaxBuffers = 65536;  ///< Buffers of one entry function.
/// Grid points of one dispatch: what the x dimension of a GPU grid can hold. Larger grids are refused at run time.
inline constexpr int64_t kMaxGrid = 0x7fffffff;
/// Turns of one loop: what runs longer is refused, so that no program hangs.
inline constexpr int64_t kMaxTurns = int64_t(1) << 24;
inline constexpr uint32_t kMaxLoopDepth = 16;
/// Ranks of a program that is run by several processes.
inline constexpr uint32_t kMaxRanks = 1024;
inline constexpr uint32_t kMaxBeside = 64; ///< Collectives that are under way beside other commands.
/// Scratch bytes per worker of one dispatch.
inline constexpr int64_t kMaxScratchBytes = int64_t(1) << 30;

/// XXH3-128 with seed 0.
struct Hash128 {
  uint64_t low;
  uint64_t high;
};

struct FileHeader {
  uint8_t magic[8];
  uint16_t formatMajor;
  uint16_t formatMinor;
  uint32_t headerBytes;    ///< sizeof(FileHeader).
  char productVersion[40]; ///< The writer, e.g. "weft 0.1.0"; printable ASCII, padded with zeros, at least one zero.
  uint64_t fileBytes;      ///< Size of the whole file.
  uint32_t sectionCount;   ///< The section table follows the header immediately.
  uint32_t sectionBytes;   ///< sizeof(SectionEntry).
  Hash128 tableHash;       ///< Of the bytes of the section table.
  uint8_t reserved[24];
  Hash128 headerHash; ///< Of the bytes of the header before this field.
};

enum class SectionKind : uint32_t {
  StringIndex = 1,    ///< StringRecord
  StringBytes = 2,    ///< blob
  Metadata = 3,       ///< MetadataRecord
  Symbols = 4,        ///< SymbolRecord
  Entries = 5,        ///< EntryRecord
  Ports = 6,          ///< PortRecord: inputs, then outputs, of each entry in turn
  Instructions = 7,   ///< InstructionRecord: the shape programs
  Buffers = 8,        ///< BufferRecord
  Extents = 9,        ///< uint32_t registers, row-major order of dimensions
  Commands = 10,      ///< CommandRecord: the launch programs
  Arguments = 11,     ///< ArgumentRecord: buffers of dispatches
  Scalars = 12,       ///< uint32_t registers: scalars of dispatches
  Kernels = 13,       ///< KernelRecord
  Origins = 14,       ///< uint32_t strings: names of the ONNX nodes a kernel came from
  Constants = 15,     ///< DataRecord: small data made by the compiler, in ConstantBytes
  ConstantBytes = 16, ///< blob
  Weights = 17,       ///< WeightRecord
  WeightData = 18,    ///< blob, 4096-aligned: the embedded weights
  Variants = 19,      ///< VariantRecord: native code, most demanding variant first
  Features = 20,      ///< uint32_t strings: CPU features of variants
  NativeCode = 21,    ///< blob, repeatable: an ELF shared object of one variant
  Ptx = 22,           ///< blob, repeatable: PTX text of one module, NUL-terminated
  Explain = 23,       ///< blob: UTF-8 JSON for `weft-explain`
  GpuModules = 24,    ///< GpuModuleRecord (since minor 1)
  GpuKernels = 25,    ///< GpuKernelRecord (since minor 1)
  TensorMaps = 26,    ///< TensorMapRecord (since minor 1)
  WeightOrders = 27,  ///< WeightOrderRecord (since minor 2)
  Aliases = 28,       ///< AliasRecord (since minor 4)
  WeightParts = 29,   ///< WeightPartRecord (since minor 6)
};

/// Flags of a section. A reader refuses other bits.
enum SectionFlags : uint32_t {
  kSectionOptional = 1, ///< May be ignored by a reader that does not know the kind.
};

struct SectionEntry {
  uint32_t kind; ///< SectionKind.
  uint32_t flags;
  uint64_t offset;      ///< From the start of the file.
  uint64_t size;        ///< In bytes, without padding.
  Hash128 hash;         ///< Of the section's bytes.
  uint32_t recordBytes; ///< Size of one record of a table, 1 for a blob.
  uint8_t reserved[20];
};

struct StringRecord {
  uint32_t offset; ///< Into StringBytes.
  uint32_t size;   ///< Without the NUL that follows.
};

struct MetadataRecord {
  uint32_t key;   ///< String; keys are unique.
  uint32_t value; ///< String.
};

/// Element types. Codes are stable. F8*, F4*, F8E8M0 and integers below 8 bits are storage-only: kernels see their
/// bytes.
enum class DType : uint8_t {
  F64 = 1,
  F32 = 2,
  F16 = 3,
  BF16 = 4,
  F8E4M3FN = 5,
  F8E4M3FNUZ = 6,
  F8E5M2 = 7,
  F8E5M2FNUZ = 8,
  F8E8M0FNU = 9,
  F4E2M1FN = 10,
  I64 = 16,
  I32 = 17,
  I16 = 18,
  I8 = 19,
  I4 = 20, ///< Two to a byte, low bits first; the last byte of an odd count is padded with zero bits.
  I2 = 21, ///< Four to a byte, low bits first.
  UI64 = 32,
  UI32 = 33,
  UI16 = 34,
  UI8 = 35,
  UI4 = 36,
  UI2 = 37,
  I1 = 48, ///< One byte, 0 or 1.
};

/// A symbolic extent ("batch"). Its value is bound by every input dimension whose extent is exactly that symbol.
struct SymbolRecord {
  uint32_t name;     ///< String; unique in its entry.
  uint32_t reserved; ///< Zero.
  int64_t min;       ///< Inclusive bounds that a bound value must meet; 0 <= min <= max.
  int64_t max;
};

/// One callable function. Ranges are in the tables of the same name; buffer, symbol and register numbers inside an
/// entry count from the entry's own first record.
struct EntryRecord {
  uint32_t name; ///< String; unique.
  uint32_t firstSymbol, symbolCount;
  uint32_t firstInput, inputCount; ///< In Ports.
  uint32_t firstOutput, outputCount;
  uint32_t firstInstruction, instructionCount;
  uint32_t firstBuffer, bufferCount;
  uint32_t firstCommand, commandCount;
  uint32_t reserved; ///< Zero.
};

/// An input or output of an entry; dtype and extents are those of its buffer.
struct PortRecord {
  uint32_t name;   ///< String; unique among the inputs (outputs) of the entry.
  uint32_t buffer; ///< Of kind Input (Output); each such buffer has exactly one port.
};

/// An output that a caller may have in the memory of an input, as a whole: same element type, same extents (the same
/// registers). Where it lies elsewhere, the launch program copies the input there first (a Copy from a buffer to itself
/// does nothing), and then writes what is new. Sorted by entry, then output; an input or output has at most one.
struct AliasRecord {
  uint32_t entry;         ///< In Entries.
  uint32_t output, input; ///< Numbers of the entry's ports.
  uint32_t reserved;      ///< Zero.
};

/// Shape program: instruction i of an entry defines register i, an int64. Operands are registers with smaller numbers,
/// so a program is straight-line, without loops, and every register is defined once. Arithmetic that leaves int64 is an
/// error of the run, as is a divisor <= 0. Asserts define 0.
enum class Opcode : uint16_t {
  Constant = 1, ///< imm
  Symbol = 2,   ///< the value of symbol a
  Add = 3,      ///< a + b
  Sub = 4,      ///< a - b
  Mul = 5,      ///< a * b
  FloorDiv = 6, ///< floor(a / b), b > 0
  CeilDiv = 7,  ///< ceil(a / b), b > 0
  Mod = 8,      ///< a - b * floor(a / b), b > 0
  Min = 9,      ///< min(a, b)
  Max = 10,     ///< max(a, b)
  Load = 11, ///< element number (register b) of buffer a, an integer type or I1, sign- or zero-extended; ui64 must fit
             ///< int64
  AssertEqual = 12, ///< a == b, else fail with string `imm`
  AssertRange = 13, ///< b <= a <= c, else fail with string `imm`
  Turn = 14,        ///< number of the current turn, from 0, of the innermost loop around its Eval (since minor 3)
  Rank = 15,        ///< number of the session's rank, from 0 (since minor 6)
};

struct InstructionRecord {
  uint16_t opcode;   ///< Opcode.
  uint16_t reserved; ///< Zero.
  uint32_t a, b, c;  ///< Unused operands are kNone.
  int64_t imm;       ///< Unused: zero.
};

enum class BufferKind : uint8_t {
  Input = 1,     ///< The caller's tensor. Read only.
  Output = 2,    ///< The caller's or the session's memory.
  Weight = 3,    ///< `source` is an entry of Weights. Read only.
  Constant = 4,  ///< `source` is an entry of Constants. Read only.
  Transient = 5, ///< Lives in the arena from firstCommand to lastCommand inclusive.
};

struct BufferRecord {
  uint8_t kind;          ///< BufferKind.
  uint8_t dtype;         ///< DType.
  uint16_t rank;         ///< Number of extents.
  uint32_t firstExtent;  ///< In Extents.
  uint32_t sizeRegister; ///< Bytes. For inputs and outputs equal to what dtype and extents say; for weights and
                         ///< constants at most the data's size.
  uint32_t source;       ///< See BufferKind; kNone for the others.
  uint32_t firstCommand, lastCommand; ///< Transient: inclusive interval of command numbers. Others: 0, 0.
};

enum class CommandKind : uint16_t {
  /// Define registers [a, a + b). The Eval commands of an entry tile its registers in order; the first command of an
  /// entry with
  /// registers is an Eval. Registers must be defined before a command uses them.
  Eval = 1,
  /// Run kernel a over [0, register b). Arguments [c, c + d): the inputs, then the outputs (`inputs` says how many are
  /// inputs);
  /// scalars [e, e + f); scratch bytes per worker in register g (kNone: none).
  Dispatch = 2,
  /// Copy (register e) bytes from buffer a at byte (register b) to buffer c at byte (register d). From a position to
  /// itself:
  /// nothing.
  Copy = 3,
  /// Run the next c (> 0) commands, the body, (register a) times; none if that is negative. If b is not kNone, the
  /// first
  /// element of buffer b, of type I1, is read before each turn and ends the loop where it is false; if d is not kNone
  /// and
  /// it still holds after the last turn, the run fails with string d. A body's Evals run in every turn; what they
  /// define
  /// may be used inside the body only. Bodies nest (since minor 3).
  Loop = 4,
  /// All ranks of the program, of which there are f (at least 2), do CollectiveKind `inputs` together: each gives its
  /// buffer a and gets its buffer c, of the same element type, which is no sub-byte one. What a whole run does so comes
  /// in the same order on all ranks. d: Reduction of those that combine. e: string that errors name it by. Register b:
  /// bytes of buffer a, all of it; CollectiveKind says how many c has (since minor 6).
  Collective = 5,
  /// A Collective that runs beside the commands behind it, after those in front of it. It writes to buffer c from byte
  /// (register g) on (kNone: 0). Until an Await that it is done nothing else may write a, or touch the part of c (since
  /// minor 7).
  CollectiveBeside = 6,
  /// What follows begins when all but the last a of the CollectiveBeside before are done; they end in their order. None
  /// is under way at the begin or end of a loop's body, of the program, or at a Collective; at most kMaxBeside are at
  /// any time (since minor 7).
  Await = 7,
};

/// What each rank has afterwards, of the buffers x of n ranks; x[r] is part r of n equal parts, one after the other.
enum class CollectiveKind : uint16_t {
  AllReduce = 1,     ///< The combination of all x.
  AllGather = 2,     ///< All x, one after the other: n times the bytes.
  ReduceScatter = 3, ///< Rank r: the combination of all x[r]; an n-th of the bytes.
  AllToAll = 4,      ///< Rank r: x[r] of each rank, one after the other.
};

enum class Reduction : uint32_t { None = 0, Add = 1, Mul = 2, Max = 3, Min = 4 };

struct CommandRecord {
  uint16_t kind;   ///< CommandKind.
  uint16_t inputs; ///< Dispatch: number of arguments that are only read. Collective: CollectiveKind. Others: zero.
  uint32_t a, b, c, d, e, f, g; ///< Unused operands are zero.
};

struct ArgumentRecord {
  uint32_t buffer;
  uint32_t offsetRegister; ///< Byte offset into the buffer; kNone is 0.
};

/// A kernel; its number is its index in the table. Native code variants export it as `k<number>`.
struct KernelRecord {
  uint32_t name; ///< String, e.g. "fused_matmul_gelu_3".
  uint32_t firstOrigin, originCount;
  uint32_t reserved; ///< Zero.
};

struct DataRecord {
  uint64_t offset; ///< Multiple of 64.
  uint64_t size;
};

struct WeightRecord {
  uint32_t name; ///< String.
  uint32_t path; ///< kNone: embedded, `offset` is into WeightData and a multiple of 64. Else the string is a file's
                 ///< relative path.
  uint64_t offset;
  uint64_t size;
  Hash128 hash; ///< Of the `size` bytes.
};

/// A weight that kernels see with its dimensions in another order: dimension i of what they see is dimension order[i]
/// of what is stored, both row-major.
struct WeightOrderRecord {
  uint32_t weight; ///< In Weights; rises from record to record.
  uint8_t elementBytes;
  uint8_t rank; ///< 1 to 8.
  uint8_t order[8];
  uint16_t reserved;   ///< 0
  uint64_t extents[8]; ///< As stored; times elementBytes the size of the weight. 0 from `rank` on, as in `order`.
};

/// A weight of which each rank of the program sees one part: stored are `outer` rows of `parts` pieces of `pieceBytes`;
/// rank r sees piece r of each row, one after the other. A WeightOrderRecord of the same weight is of what a rank sees.
struct WeightPartRecord {
  uint32_t weight; ///< In Weights; rises from record to record.
  uint32_t parts;  ///< Ranks of the program; at least 2.
  uint64_t outer;
  uint64_t pieceBytes;
};

struct VariantRecord {
  uint32_t target;                     ///< String: target triple, e.g. "x86_64-unknown-linux-gnu".
  uint32_t firstFeature, featureCount; ///< In Features: LLVM names ("avx2") that the CPU must have.
  uint32_t section; ///< Index in the section table, of kind NativeCode; each such section has one variant.
};

/// PTX for one GPU architecture. Several modules may hold code for different architectures; a device takes the best
/// that it can run: its own architecture-specific one ("sm_90a" on compute capability 9.0), else the highest "sm_<n>"
/// that is not above its own.
struct GpuModuleRecord {
  uint32_t target;                   ///< String: "sm_80", "sm_90a", ...
  uint32_t section;                  ///< Index in the section table, of kind Ptx; each such section has one module.
  uint32_t firstKernel, kernelCount; ///< In GpuKernels.
};

/// How a module starts a kernel. The PTX entry is `k<kernel>`; a dispatch over [0, grid) starts grid CTAs along x. The
/// entry's parameters are, in this order: a .u64 for each buffer of the dispatch (device addresses), an .s64 for each
/// scalar, and an aligned .b8[128] (.align 64) for each tensor map. Dispatches of GPU kernels have no scratch.
/// An entry that holds a griddepcontrol.wait may be started with programmatic stream serialization, if it is not the
/// first kernel of a run: its CTAs may begin before the kernels in front of it have ended. Each thread must execute the
/// wait before it writes global memory or reads what a kernel of the entry writes, and one thread at least does.
/// A module's variables in global memory belong to one session: they are as the text says when it begins, and keep what
/// its launches, which come one after the other, leave there.
struct GpuKernelRecord {
  uint32_t kernel;      ///< In Kernels; increasing within one module.
  uint32_t threads;     ///< Of a CTA, along x: 1 to 1024.
  uint32_t clusterSize; ///< CTAs of a cluster, along x: 1 to 16; the grid must be a multiple of it.
  uint32_t sharedBytes; ///< Dynamic shared memory of a CTA.
  uint32_t registers;   ///< Of a thread, as ptxas reported; 0: unknown.
  uint32_t firstTensorMap, tensorMapCount;
  /// CTAs of a grid that wait for each other: the GPU must hold as many at once; 0: none waits (since minor 5).
  uint32_t residentCtas;
};

/// What a tensor map's box has along one dimension.
struct TensorMapBox {
  uint16_t elements; ///< 1 to 256.
  uint16_t skipped;  ///< Of the tensor, between one of them and the next: 0 to 7; of the innermost 0 (since minor 4).
};

/// A tiled tensor map over one buffer of the dispatch, as cuTensorMapEncodeTiled takes it; made anew for each dispatch.
/// Dimension 0 is the innermost one. Extents and strides are scalars of the dispatch, by their position in its list.
struct TensorMapRecord {
  uint32_t argument;   ///< Buffer, by its position in the dispatch's arguments.
  uint8_t dtype;       ///< DType.
  uint8_t rank;        ///< 1 to 5.
  uint8_t swizzle;     ///< log2 of the span in 16-byte units: 0 none, 1 32 B, 2 64 B, 3 128 B.
  uint8_t isNanFill;   ///< 1: elements outside the tensor read as NaN, 0: as zero.
  TensorMapBox box[5]; ///< From the first element to the last 256 at most; beyond the rank: zero.
  uint32_t extents[5]; ///< Scalars, in elements; beyond the rank: kNone.
  uint32_t strides[4]; ///< Scalars, in bytes, of dimensions 1 and up; beyond: kNone.
};

static_assert(sizeof(GpuModuleRecord) == 16 && sizeof(GpuKernelRecord) == 32 && sizeof(TensorMapRecord) == 64);
static_assert(sizeof(FileHeader) == 128 && sizeof(SectionEntry) == 64 && sizeof(StringRecord) == 8);
static_assert(sizeof(MetadataRecord) == 8 && sizeof(SymbolRecord) == 24 && sizeof(EntryRecord) == 56);
static_assert(sizeof(PortRecord) == 8 && sizeof(InstructionRecord) == 24 && sizeof(BufferRecord) == 24 &&
              sizeof(AliasRecord) == 16);
static_assert(sizeof(CommandRecord) == 32 && sizeof(ArgumentRecord) == 8 && sizeof(KernelRecord) == 16);
static_assert(sizeof(DataRecord) == 16 && sizeof(WeightRecord) == 40 && sizeof(VariantRecord) == 16 &&
              sizeof(WeightPartRecord) == 24);

} // namespace weft::bundle

#endif // WEFT_BUNDLE_FORMAT_H
