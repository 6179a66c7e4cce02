// What the parser makes of PTX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and scopes, constants, operands, variables, functions. Refusals are in MalformedPtxTest.cpp.
#include "Emulator/Ptx/Parser.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace weft;
using namespace weft::emu::ptx;

namespace {

constexpr const char *kHeader = ".version 8.0\n.target sm_90a, debug\n.address_size 64\n";

Module parseText(const std::string &text) {
  Module module;
  bundle::Error error = parse(kHeader + text, module);
  EXPECT_FALSE(error) << error.getMessage() << "\n" << text;
  return module;
}

Module parseBody(const std::string &body) {
  return parseText(".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"
                   ".reg .pred %p<4>;\n.shared .align 8 .b8 buffer[64];\n" +
                   body + "\n}\n");
}

std::string nameOf(const Module &module, const Operand &operand) {
  return std::string(module.names[module.functions[0].registers[operand.index].name]);
}

/// The operands of the last instruction.
Span<Operand> lastOperands(const Module &module) {
  const Function &function = module.functions[0];
  return function.operandsOf(function.instructions.back());
}

TEST(Parser, Header) {
  Module module = parseText("");
  EXPECT_EQ(module.versionMajor, 8u);
  EXPECT_EQ(module.versionMinor, 0u);
  EXPECT_EQ(module.target, "sm_90a");
  EXPECT_EQ(module.smVersion, 90u);
  EXPECT_EQ(module.targetSuffix, 'a');
  EXPECT_EQ(module.addressSize, 64u);
  ASSERT_EQ(module.targetOptions.size(), 1u);
}

TEST(Parser, InstructionHasItsWordsInOrder) {
  Module module = parseBody("  @!%p1 ld.global.L1::no_allocate.L2::128B.v2.b32 {%r1, _}, [%rd2+-8];");
  const Function &function = module.functions[0];
  const Instruction &load = function.instructions[0];
  EXPECT_EQ(module.names[load.mnemonic], "ld");
  EXPECT_EQ(load.location.line, 10u);
  EXPECT_EQ(load.location.column, 9u);
  EXPECT_TRUE(load.isGuardNegated);
  EXPECT_EQ(module.names[function.registers[load.guard].name], "%p1");
  std::string words;
  for (const Modifier &modifier : function.modifiersOf(load))
    words += std::string(module.names[modifier.name]) + " ";
  EXPECT_EQ(words, "global L1::no_allocate L2::128B v2 b32 ");
  Span<Operand> operands = function.operandsOf(load);
  ASSERT_EQ(operands.size(), 2u);
  ASSERT_EQ(operands[0].kind, OperandKind::Vector);
  EXPECT_EQ(function.childrenOf(operands[0])[1].kind, OperandKind::Sink);
  ASSERT_EQ(operands[1].kind, OperandKind::Address);
  EXPECT_EQ(operands[1].value, -8);
  EXPECT_EQ(nameOf(module, function.childrenOf(operands[1])[0]), "%rd2");
}

TEST(Parser, OnlyNamedMembersOfRangesAreRegisters) {
  Module module = parseBody(".reg .f32 %x<2000000000>;\nmov.f32 %x1999999999, %x7;\nmov.f32 %x7, %x7;");
  EXPECT_EQ(module.functions[0].registers.size(), 2u);
  Span<Operand> operands = lastOperands(module);
  EXPECT_EQ(operands[0].index, operands[1].index);
}

TEST(Parser, RangesWhosePrefixEndsInADigit) {
  Module module = parseBody(".reg .b32 a1<20>;\n.reg .b64 a<20>;\nmov.b32 a119, 0;\nmov.b64 a2, 0;\nmov.b32 a15, 0;");
  const Function &function = module.functions[0];
  auto typeOf = [&](size_t i) {
    return function.registers[function.operandsOf(function.instructions[i])[0].index].type;
  };
  EXPECT_EQ(typeOf(0), Type::B32); // a1 and 19
  EXPECT_EQ(typeOf(1), Type::B64);
  EXPECT_EQ(typeOf(2), Type::B32); // a1 and 5, or a and 15: the shortest number
}

TEST(Parser, BlocksHaveTheirOwnNames) {
  Module module = parseBody("mov.b32 %r1, 1;\n"
                            "{ .reg .b32 %r<3>; .reg .b32 t; mov.b32 %r1, 2; mov.b32 t, 3; L: bra L; }\n"
                            "{ .reg .b64 t; mov.b64 t, 4; { bra L; } L: }\n"
                            "mov.b32 %r1, 5;");
  const Function &function = module.functions[0];
  auto first = [&](size_t i) { return function.operandsOf(function.instructions[i])[0]; };
  EXPECT_NE(first(0).index, first(1).index);
  EXPECT_EQ(first(0).index, first(6).index);
  EXPECT_EQ(function.registers[first(4).index].type, Type::B64);
  ASSERT_EQ(function.labels.size(), 2u);
  EXPECT_EQ(function.labels[first(3).index].instruction, 3u);
  EXPECT_EQ(function.labels[first(5).index].instruction, 6u);
}

TEST(Parser, Constants) {
  struct Case {
    const char *text;
    int64_t value;
  };
  const Case cases[] = {{"0x1F", 31},
                        {"017", 15},
                        {"0b101", 5},
                        {"7U", 7},
                        {"-1", -1},
                        {"~0", -1},
                        {"WARP_SZ*2+1", 65},
                        {"1 << 3 | 1", 9},
                        {"(1 + 2) * -3", -9},
                        {"10 - 4 - 3", 3},
                        {"-7 / 2", -3},
                        {"-7 % 2", -1},
                        {"-1 > 0 ? 5 : 6", 6},
                        {"-1 > 0U ? 5 : 6", 5},
                        {"-8 >> 1", -4},
                        {"(.u64)-8 >> 60", 15},
                        {"1 << 64", 0},
                        {"!3 + !0", 1},
                        {"2 < 3 && 4 != 4 || 1", 1},
                        {"0xFFFFFFFFFFFFFFFF", -1},
                        {"1.5 > 1", 1},
                        {"-9223372036854775807 - 1", INT64_MIN}};
  for (const Case &item : cases) {
    Module module = parseBody(std::string("mov.b64 %rd1, ") + item.text + ";");
    EXPECT_EQ(lastOperands(module)[1].kind, OperandKind::Integer) << item.text;
    EXPECT_EQ(lastOperands(module)[1].value, item.value) << item.text;
  }
}

TEST(Parser, FloatingPointConstants) {
  auto check = [](const char *text, OperandKind kind, uint64_t bits) {
    Module module = parseBody(std::string("mov.f32 %r1, ") + text + ";");
    EXPECT_EQ(lastOperands(module)[1].kind, kind) << text;
    EXPECT_EQ(uint64_t(lastOperands(module)[1].value), bits) << text;
  };
  check("0f3F800000", OperandKind::Float32, 0x3f800000);
  check("-0F3f800000", OperandKind::Float32, 0xbf800000);
  check("0dBFF0000000000000", OperandKind::Float64, 0xbff0000000000000);
  check("1.5", OperandKind::Float64, 0x3ff8000000000000);
  check("-2e1", OperandKind::Float64, 0xc034000000000000);
  check("1. / 4", OperandKind::Float64, 0x3fd0000000000000);
}

TEST(Parser, Operands) {
  Module module = parseBody("setp.lt.and.s32 %p1|_, %r1, WARP_SZ, !%p2;");
  Span<Operand> setp = lastOperands(module);
  ASSERT_EQ(setp.size(), 4u);
  EXPECT_EQ(setp[0].kind, OperandKind::Pair);
  EXPECT_EQ(setp[2].value, 32);
  EXPECT_TRUE(setp[3].isNegated);

  module = parseBody("cp.async.bulk.tensor.2d [buffer+16], [%rd1, {%r1, 3}], [%r2];");
  Span<Operand> copy = lastOperands(module);
  ASSERT_EQ(copy.size(), 3u);
  EXPECT_EQ(copy[0].value, 16);
  EXPECT_EQ(module.functions[0].childrenOf(copy[0])[0].symbol, SymbolKind::Local);
  EXPECT_EQ(copy[1].kind, OperandKind::TensorAddress);
  EXPECT_EQ(module.functions[0].childrenOf(copy[1])[1].kind, OperandKind::Vector);

  module = parseBody("mov.u64 %rd1, p+8;");
  EXPECT_EQ(lastOperands(module)[1].symbol, SymbolKind::Parameter);
  EXPECT_EQ(lastOperands(module)[1].value, 8);
}

TEST(Parser, SpecialRegisters) {
  auto check = [](const char *text, Special special, unsigned component, int64_t value) {
    Module module = parseBody(std::string("mov.u32 %r1, ") + text + ";");
    const Operand &operand = lastOperands(module)[1];
    EXPECT_EQ(operand.kind, OperandKind::Special) << text;
    EXPECT_EQ(operand.special, special) << text;
    EXPECT_EQ(operand.component, component) << text;
    EXPECT_EQ(operand.value, value) << text;
  };
  check("%tid.x", Special::Tid, 0, 0);
  check("%cluster_nctaid.z", Special::ClusterNctaid, 2, 0);
  check("%clock64", Special::Clock64, 0, 0);
  check("%globaltimer_lo", Special::GlobaltimerLo, 0, 0);
  check("%envreg31", Special::Envreg, 0, 31);
  check("%pm3", Special::Pm, 0, 3);
  check("%pm3_64", Special::Pm, 0, 67);
  check("%reserved_smem_offset_cap", Special::ReservedSmemOffset, 0, 2);
}

TEST(Parser, VectorRegisters) {
  Module module = parseBody(".reg .v4 .f32 v, w<5>;\nmov.f32 v.y, w3.w;\nld.global.v4.f32 w3, [%rd1];");
  const Function &function = module.functions[0];
  Span<Operand> move = function.operandsOf(function.instructions[0]);
  EXPECT_EQ(move[0].index, 1u);
  Span<Operand> load = lastOperands(module);
  ASSERT_EQ(load[0].kind, OperandKind::Vector);
  EXPECT_EQ(function.childrenOf(load[0])[3].index, move[1].index);
}

TEST(Parser, Variables) {
  Module module = parseText(".extern .shared .align 1024 .b8 dynamic[];\n"
                            ".global .align 4 .u32 a[2][3] = {{1, 2}, 3, 4};\n"
                            ".const .f32 c[] = {1.0, 0f40000000, 3};\n"
                            ".visible .global .u64 pointers[2] = {a+4, generic(a)};\n"
                            ".global .u8 bytes[3] = {0xFF(a), 0xFF00(a), 7};\n"
                            ".global .v2 .u16 pairs[] = {{1, 2}, {3}};\n"
                            ".global .attribute(.managed) .s16 negative = -2;\n");
  ASSERT_EQ(module.variables.size(), 7u);
  EXPECT_TRUE(module.variables[0].isDynamic);
  EXPECT_EQ(module.variables[0].alignment, 1024u);
  const Variable &a = module.variables[1];
  EXPECT_EQ(a.size, 24u);
  EXPECT_EQ(a.bytes, (std::vector<uint8_t>{1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0}));
  EXPECT_EQ(module.variables[2].size, 12u);
  EXPECT_EQ(module.variables[2].bytes, (std::vector<uint8_t>{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40}));
  const Variable &pointers = module.variables[3];
  EXPECT_EQ(pointers.linkage, Linkage::Visible);
  ASSERT_EQ(pointers.relocations.size(), 2u);
  EXPECT_EQ(pointers.relocations[0].addend, 4);
  EXPECT_TRUE(pointers.relocations[1].isGeneric);
  EXPECT_EQ(pointers.relocations[1].offset, 8u);
  EXPECT_EQ(module.variables[4].relocations[1].byte, 1);
  EXPECT_EQ(module.variables[5].size, 8u);
  EXPECT_EQ(module.variables[5].alignment, 4u);
  EXPECT_EQ(module.variables[5].bytes, (std::vector<uint8_t>{1, 0, 2, 0, 3, 0}));
  EXPECT_TRUE(module.variables[6].isManaged);
  EXPECT_EQ(module.variables[6].bytes, (std::vector<uint8_t>{0xfe, 0xff}));
}

TEST(Parser, ExternIsDefinedOnce) {
  Module module = parseText(".extern .global .u32 x;\n.global .u64 y = x;\n.visible .global .u32 x = 5;\n"
                            ".extern .global .u32 x;\n");
  ASSERT_EQ(module.variables.size(), 2u);
  EXPECT_EQ(module.variables[0].linkage, Linkage::Visible);
  EXPECT_EQ(module.variables[0].bytes.size(), 4u);
  EXPECT_EQ(module.variables[1].relocations[0].index, 0u);
}

TEST(Parser, EntryParametersAndDirectives) {
  Module module = parseText(".weak .entry k(.param .u32 a, .param .align 64 .b8 map[128],\n"
                            " .param .u64 .ptr .global .align 16 b)\n"
                            ".maxntid 128, 2\n.minnctapersm 2 .maxnreg 80\n.explicitcluster\n.reqnctapercluster 2\n"
                            "{ ret; }");
  const Function &entry = module.functions[0];
  EXPECT_TRUE(entry.isEntry && entry.isDefined);
  EXPECT_EQ(entry.parameters[1].offset, 64u);
  EXPECT_EQ(entry.parameters[2].offset, 192u);
  EXPECT_EQ(entry.parameterBytes, 200u);
  EXPECT_TRUE(entry.parameters[2].isPointer);
  EXPECT_FALSE(entry.parameters[2].isPointerGeneric);
  EXPECT_EQ(entry.parameters[2].pointerAlignment, 16u);
  EXPECT_EQ(entry.parameters[2].alignment, 8u);
  EXPECT_EQ(entry.directives.maxThreads[1], 2u);
  EXPECT_EQ(entry.directives.maxThreads[2], 1u);
  EXPECT_EQ(entry.directives.maxRegisters, 80u);
  EXPECT_EQ(entry.directives.clusterSize[0], 2u);
  EXPECT_TRUE(entry.directives.isExplicitCluster);
}

TEST(Parser, CallsPrototypesAndTargets) {
  Module module = parseText(".func (.param .b32 r) f(.param .b32 a);\n"
                            ".func (.reg .b32 r) g(.reg .b32 a) { mov.b32 r, a; ret; }\n"
                            ".entry k() {\n.reg .b64 %rd; .reg .b32 %r;\n"
                            "{ .param .b32 a; .param .b32 r;\n"
                            "call.uni (r), f, (a);\n"
                            "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                            "call (r), %rd, (a), proto; }\n"
                            "call (%r), g, (7);\n"
                            "table: .branchtargets X, Y;\n"
                            "brx.idx %r, table;\nX: exit;\nY:\n}\n"
                            ".func (.param .b32 r) f(.param .b32 b) { ret; }\n"
                            ".func h();\n.func i() { ret; }\n.alias h, i;\n");
  ASSERT_EQ(module.functions.size(), 5u);
  EXPECT_TRUE(module.functions[0].isDefined);
  EXPECT_EQ(module.functions[1].parameters[0].reg, 1u);
  EXPECT_EQ(module.resolve(3), 4u);
  const Function &k = module.functions[2];
  Span<Operand> direct = k.operandsOf(k.instructions[0]);
  ASSERT_EQ(direct.size(), 3u);
  EXPECT_EQ(direct[0].kind, OperandKind::Arguments);
  EXPECT_EQ(direct[1].symbol, SymbolKind::Function);
  EXPECT_EQ(k.operandsOf(k.instructions[1])[3].symbol, SymbolKind::CallPrototype);
  ASSERT_EQ(k.branchTargets.size(), 1u);
  EXPECT_EQ(k.labels[k.targetPool[1]].instruction, uint32_t(k.instructions.size()));
  EXPECT_EQ(k.operandsOf(k.instructions[3])[1].symbol, SymbolKind::BranchTargets);
}

TEST(Parser, DebugInformationIsSkipped) {
  Module module = parseText(".file 1 \"a.cu\", 12, 34\n.func f() {\n.loc 1 2 3\n"
                            ".loc 1 2 3, function_name $L+4, inlined_at 1 5 6\n.pragma \"nounroll\";\nret;\n}\n"
                            ".section .nv.debug_str { $L: .b8 1, {2} }\n");
  EXPECT_EQ(module.functions[0].instructions.size(), 1u);
}

TEST(Parser, LongBlocksTakeLinearTime) {
  std::string body = ".reg .b32 %x<50000>;\n";
  for (unsigned i = 0; i < 40000; ++i)
    body += "add.s32 %x" + std::to_string(i + 1) + ", %x" + std::to_string(i) + ", 1;\n";
  auto start = std::chrono::steady_clock::now();
  Module module = parseBody(body);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 5.0);
  EXPECT_EQ(module.functions[0].instructions.size(), 40000u);
  EXPECT_EQ(module.functions[0].registers.size(), 40001u);
}

/// Kernels of the machine that the emulator is built on; other machines have none.
TEST(Parser, SampleKernels) {
  std::error_code error;
  for (const auto &file : std::filesystem::directory_iterator("/work/shared/samples", error)) {
    if (file.path().extension() != ".ptx")
      continue;
    std::ifstream stream(file.path());
    std::stringstream text;
    text << stream.rdbuf();
    Module module;
    bundle::Error failed = parse(text.str(), module);
    EXPECT_FALSE(failed) << file.path() << ": " << failed.getMessage();
    EXPECT_FALSE(module.functions.empty());
  }
}

} // namespace
