// What is refused, and with which words.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Malformed and unsupported texts with their exact messages. Every text is also cut off at each of its bytes: that must
// end in an error or a module, whatever is left.
#include "Emulator/Ptx/Parser.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::emu;

namespace {

struct Malformed {
  const char *text;
  const char *message;
};

constexpr const char *kHeader = ".version 8.0\n.target sm_90a\n.address_size 64\n";
constexpr const char *kBody = ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<4>;\n.reg .pred %p;\n";

/// Whole files.
const Malformed kFiles[] = {
    {"", "1:1: expected '.version', got the end of the file"},
    {".target sm_90\n", "1:1: expected '.version', got \".target\""},
    {".version 6.5\n.target sm_70\n", "1:10: PTX ISA version 6.5 is not supported: expected 7.0 to 9.0"},
    {".version 9.1\n.target sm_90\n", "1:10: PTX ISA version 9.1 is not supported: expected 7.0 to 9.0"},
    {".version x\n.target sm_70\n", "1:10: expected a version such as 8.0, got \"x\""},
    {".version 8\n.target sm_70\n", "1:10: expected a version such as 8.0, got \"8\""},
    {".version 8.0\n.address_size 64\n", "2:1: expected '.target', got \".address_size\""},
    {".version 8.0\n.target compute_90\n", "2:9: expected a target such as sm_90a, got \"compute_90\""},
    {".version 8.0\n.target sm_90, map_f64_to_f32\n", "2:16: option \"map_f64_to_f32\" of .target is not supported"},
    {".version 8.0\n.target sm_90\n.address_size 48\n", "3:15: expected an address size of 32 or 64, got 48"},
};

/// Behind the header, from line 4 on.
const Malformed kModules[] = {
    {".version 8.0\n", "4:1: \".version\" is expected once, at the top of the module"},
    {".tex .u32 t;\n", "4:1: \".tex\" in module scope is not supported"},
    {".global .texref t;\n", "4:9: variables of type \".texref\" are not supported"},
    {".reg .b32 r;\n", "4:1: \".reg\" in module scope is not supported"},
    {".frobnicate x;\n", "4:1: expected a directive of module scope, got \".frobnicate\""},
    {"}\n", "4:1: expected a directive of module scope, got \"}\""},
    {"/* never closed\n", "4:1: comment without an end"},
    {".file 1 \"abc\n", "4:9: string without an end"},
    {".global .b32 x = #1;\n", "4:18: character that PTX does not have"},
    {".section .debug_info {\n.b8 1\n", "4:22: '{' without '}'"},
    {".global .align 4 x;\n", "4:18: expected a type, got \"x\""},
    {".global .b32 .f32 x;\n", "4:14: second type \".f32\" in a declaration"},
    {".global .pred x;\n", "4:9: variables of type \".pred\" cannot be in space .global"},
    {".global .b32 x[];\n", "4:14: \"x\" has no size: only extern arrays may leave it out"},
    {".global .b32 x[0];\n", "4:15: expected an extent of at least 1, got 0"},
    {".global .b64 x[1099511627776];\n", "4:14: \"x\" has more than 2^40 bytes"},
    {".global .b32 x;\n.global .b32 x;\n", "5:14: \"x\" is already declared at 4:14"},
    {".extern .global .b32 x;\n.global .b64 x;\n", "5:14: \"x\" was declared with another type at 4:22"},
    {".global .align 3 .b32 x;\n", "4:16: expected an alignment that is a power of two, got 3"},
    {".global .align 131072 .b32 x;\n", "4:16: expected an alignment of at most 65536, got 131072"},
    {".const[2] .b32 x;\n", "4:7: banks of constant memory are not supported"},
    {".global .b32 x[2][] = {1};\n", "4:18: only the first dimension may be left out"},
    {".global .b32 x[2] = {1, 2, 3};\n", "4:28: more initial values than \"x\" has elements"},
    {".global .b32 x[2] = {{1}};\n", "4:22: more braces than \"x\" has dimensions"},
    {".shared .b32 x = 1;\n", "4:16: only variables in spaces .global and .const have initial values"},
    {".global .u32 x = 1.5;\n", "4:18: a floating-point constant is no value of type .u32"},
    {".global .b32 y;\n.global .b8 x = y;\n", "5:17: an address does not fit an element of type .b8"},
    {".global .b8 x[4][1000000000] = {{1}, {2}, {3}};\n",
     "4:40: initialiser of \"x\" leaves out too many elements between those it gives"},
    {".global .b64 x = y;\n", "4:18: expected a variable or function declared before, got \"y\""},
    {".global .b64 x = 18446744073709551616;\n", "4:18: integer that needs more than 64 bits"},
    {".global .b64 x = 12abc;\n", "4:18: malformed number"},
    {".global .f32 x = 0f3F80000;\n", "4:18: 0f without exactly 8 hexadecimal digits"},
    {".global .f64 x = 0d3FF;\n", "4:18: 0d without exactly 16 hexadecimal digits"},
    {".global .b64 x = 1 / (2 - 2);\n", "4:20: division by zero in a constant expression"},
    {".global .f64 x = 1.0 % 2.0;\n", "4:22: operator \"%\" does not apply to floating-point constants"},
    {".entry k\n", "5:1: expected a directive of a function, '{' or ';', got the end of the file"},
    {".extern .func f() { ret; }\n", "4:15: extern function \"f\" has a body"},
    {".func f() { ret; }\n.func f() { ret; }\n", "5:7: \"f\" already has a body at 4:7"},
    {".func f(.param .b32 a);\n.func f(.param .b64 a) { ret; }\n",
     "5:7: \"f\" was declared with other parameters at 4:7"},
    {".entry k(.reg .b32 a) { ret; }\n", "4:20: parameters of entries are in space .param"},
    {".entry k(.param .b8 a[40000]) { ret; }\n", "4:21: parameters of more than 32764 bytes"},
    {".entry k() .fast { ret; }\n", "4:12: expected a directive of a function, '{' or ';', got \".fast\""},
    {".entry k() .reqntid 0 { ret; }\n", "4:21: expected a number of at least 1, got 0"},
    {".entry k() .maxntid 1, 2, 3, 4 { ret; }\n", "4:30: expected at most three numbers, got \"4\""},
    {".func f();\n.alias f, g;\n", "5:11: expected a device function declared before, got \"g\""},
    {".entry k() { ret;\n", "5:1: expected '}', got the end of the file"},
};

/// In a body, from line 8 on.
const Malformed kBodies[] = {
    {"mov.b32 %r1, %q2;", "8:14: register \"%q2\" is not declared"},
    {"mov.b32 %r4, 0;", "8:9: register \"%r4\" is not declared"},
    {".reg .b32 %x<3000000000>;", "8:14: expected at most 2^31 registers, got 3000000000"},
    {".reg .b32 %r<9>;", "8:11: registers \"%r<...>\" are already declared at 6:11"},
    {".reg .b32 a, a;", "8:14: \"a\" is already declared at 8:11"},
    {".reg a;", "8:6: expected a type of registers, got \"a\""},
    {"{ .reg .b32 t; mov.b32 t, 0; }\nmov.b32 %r1, t;", "9:14: name \"t\" is not declared"},
    {"bra NOWHERE;", "8:5: name \"NOWHERE\" is not declared"},
    {"L: L: ret;", "8:4: \"L\" is already declared at 8:1"},
    {"mov.b32 %r1, x;\n.shared .b32 x;", "8:14: \"x\" is used before its declaration at 9:14"},
    {"mov.b32 %r1, 0\nmov.b32 %r2, 0;", "9:1: expected ',' or ';', got \"mov\""},
    {"mov.b32 %r1, ;", "8:14: expected an operand, got \";\""},
    {"ld.global.b32 %r1, [%r2;", "8:24: expected ']', got \";\""},
    {"ld.global.b32 %r1, [];", "8:21: expected an address, got \"]\""},
    {"ld.global.b32 %r1, [k];", "8:21: expected a register, a variable or a constant as address, got \"k\""},
    {"ld.global.b32 %r1, [%r2+1.5];", "8:25: expected an integer offset, got a floating-point one"},
    {"mov.b64 {}, 0;", "8:10: a vector without elements"},
    {"mov.b64 {%r1, {%r2}}, 0;", "8:15: expected an operand, got \"{\""},
    {"mov.b64 {%r1, %r2, 0;", "8:21: expected ',' or '}', got \";\""},
    {"setp.eq.b32 %p|3, %r1, 0;", "8:16: expected a register or '_' after '|', got \"3\""},
    {"@%r1 bra L;\nL:", "8:2: expected a predicate register after '@', got \"%r1\""},
    {"@ bra L;", "8:3: expected a predicate register after '@', got \"bra\""},
    {"mov.u32 %r1, %tid.q;", "8:18: expected '.x', '.y', '.z' or '.w', got \".q\""},
    {"mov.u32 %r1, %tid;", "8:14: vector \"%tid\" as an operand is not supported: expected %tid.x, .y or .z"},
    {"mov.u32 %r1, %laneid.x;", "8:21: \"%laneid\" has no components, got \".x\""},
    {"mov.b32 %r1, %r2.b0;", "8:17: selector \".b0\" of a register is not supported"},
    {".reg .v2 .b32 v;\nmov.b32 %r1, v.z;", "9:15: expected '.x' or '.y', got \".z\""},
    {"t: .branchtargets x;\n.shared .b32 x;", "8:19: \"x\" is used before its declaration at 9:14"},
    {".branchtargets x;", "8:1: \".branchtargets\" needs a label before it"},
    {"t: .calltargets x;", "8:17: expected a function declared before, got \"x\""},
    {"t: .callprototype f ();", "8:19: expected '_' in a prototype, got \"f\""},
    {".frob;", "8:1: expected a directive of a body, got \".frob\""},
    {".const .b32 x;", "8:1: '.const' variables are declared in module scope only"},
    {".loc 1 x 3\n", "8:8: expected a number of .loc, got \"x\""},
    {".pragma nounroll;", "8:9: expected a string, got \"nounroll\""},
};

std::string parseError(const std::string &text) {
  ptx::Module module;
  return ptx::parse(text, module).getMessage();
}

std::string moduleOf(const std::string &text) { return kHeader + text; }
std::string bodyOf(const std::string &text) { return moduleOf(kBody + text + "\nret;\n}\n"); }

TEST(MalformedPtx, Files) {
  for (const Malformed &file : kFiles)
    EXPECT_EQ(parseError(file.text), file.message) << file.text;
}

TEST(MalformedPtx, Modules) {
  for (const Malformed &module : kModules)
    EXPECT_EQ(parseError(moduleOf(module.text)), module.message) << module.text;
}

TEST(MalformedPtx, Bodies) {
  for (const Malformed &body : kBodies)
    EXPECT_EQ(parseError(bodyOf(body.text)), body.message) << body.text;
}

TEST(MalformedPtx, DepthIsBounded) {
  std::string open(100, '('), blocks(70, '{'), signs(100000, '-'), choices;
  for (unsigned i = 0; i < 100000; ++i)
    choices += "1 ? ";
  EXPECT_EQ(parseError(moduleOf(".global .b64 x = " + open + "1;")), "4:50: constant expression nested too deeply");
  EXPECT_EQ(parseError(moduleOf(".global .b64 x = " + signs + "1;")), "4:81: constant expression nested too deeply");
  EXPECT_EQ(parseError(moduleOf(".global .b64 x = " + choices)), "4:274: constant expression nested too deeply");
  EXPECT_EQ(parseError(bodyOf(blocks)), "8:65: blocks nested too deeply");
}

TEST(MalformedPtx, EveryPrefixIsHandled) {
  auto cut = [](const std::string &text) {
    for (size_t length = 0; length < text.size(); ++length)
      (void)parseError(text.substr(0, length));
  };
  for (const Malformed &file : kFiles)
    cut(file.text);
  for (const Malformed &module : kModules)
    cut(moduleOf(module.text));
  for (const Malformed &body : kBodies)
    cut(bodyOf(body.text));
}

} // namespace
