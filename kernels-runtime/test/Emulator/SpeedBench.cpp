// How fast the emulator interprets.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints millions of thread-instructions per second of small kernels, with and without the sanitizer. Not a test: a
// shared machine decides half of the figure.
#include "Emulator/Emulator.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace weft::emu;

namespace {

struct Bench {
  const char *name;
  const char *body; ///< The loop's body; registers %a to %f of 32 bits, %x of 64, %i counts.
};

const Bench kBenches[] = {
    {"integer", "add.s32 %a, %a, %b;\nxor.b32 %b, %b, %a;\nmul.lo.s32 %c, %a, 7;\nshl.b32 %d, %c, 3;\n"
                "sub.s32 %e, %d, %a;\nand.b32 %f, %e, 255;\nmad.lo.s32 %b, %f, %a, %b;\nor.b32 %c, %f, 1;\n"},
    {"float",
     "fma.rn.f32 %fa, %fa, %fb, %fc;\nadd.f32 %fb, %fb, %fa;\nmul.f32 %fc, %fc, %fb;\nmax.f32 %fa, %fa, %fc;\n"},
    {"divergent", "and.b32 %c, %i, 1;\nand.b32 %d, %a, 1;\nsetp.eq.s32 %p, %c, %d;\n@%p bra ELSE;\nadd.s32 %b, %b, 3;\n"
                  "xor.b32 %e, %e, %b;\nbra.uni JOIN;\nELSE:\nsub.s32 %b, %b, 5;\nor.b32 %e, %e, %b;\nJOIN:\n"
                  "add.s32 %f, %f, %e;\n"},
    {"shared", "st.shared.b32 [%s], %a;\nld.shared.b32 %b, [%s];\nadd.s32 %a, %a, %b;\n"},
    {"global", "st.global.b32 [%x], %a;\nld.global.b32 %b, [%x];\nadd.s32 %a, %a, %b;\n"},
};

std::string makeKernel(const Bench &bench) {
  return std::string(".version 8.0\n.target sm_90a\n.address_size 64\n"
                     ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n.reg .pred %p, %q;\n"
                     ".reg .b32 %a, %b, %c, %d, %e, %f, %i, %n, %s, %t;\n.reg .f32 %fa, %fb, %fc;\n.reg .b64 %x, %y;\n"
                     ".shared .align 16 .b8 buffer[4096];\nld.param.u64 %x, [out];\nld.param.u32 %n, [n];\n"
                     "mov.u32 %a, %tid.x;\nmov.u32 %t, %ctaid.x;\nmad.lo.u32 %t, %t, 256, %a;\n"
                     "mul.wide.u32 %y, %t, 4;\nadd.u64 %x, %x, %y;\nmov.b32 %s, buffer;\nmad.lo.u32 %s, %a, 4, %s;\n"
                     "mov.b32 %b, 1;\nmov.b32 %c, 2;\nmov.b32 %d, 3;\nmov.b32 %e, 4;\nmov.b32 %f, 5;\nmov.b32 %i, 0;\n"
                     "mov.f32 %fa, 0f3F800000;\nmov.f32 %fb, 0f3F000000;\nmov.f32 %fc, 0f3E000000;\nLOOP:\n") +
         bench.body +
         "add.s32 %i, %i, 1;\nsetp.lt.u32 %q, %i, %n;\n@%q bra LOOP;\nadd.s32 %a, %a, %b;\nadd.s32 %a, %a, %f;\n"
         "add.s32 %a, %a, %c;\nst.global.u32 [%x], %a;\nret;\n}\n";
}

void check(const weft::bundle::Error &error) {
  if (!error)
    return;
  std::fprintf(stderr, "speed: %s\n", error.getMessage().c_str());
  std::exit(1);
}

void measure(const Bench &bench, bool isSanitized, uint32_t rounds) {
  std::unique_ptr<Emulator> emulator;
  check(Emulator::create("H100", emulator));
  uint64_t address = 0;
  constexpr uint32_t ctas = 8, threads = 256;
  check(emulator->allocate(ctas * threads * 4, address));
  LaunchSpec spec;
  check(emulator->load(makeKernel(bench), bench.name, spec.module));
  uint8_t parameters[12];
  std::memcpy(parameters, &address, 8);
  std::memcpy(parameters + 8, &rounds, 4);
  spec.entry = "k";
  spec.grid.x = ctas;
  spec.block.x = threads;
  spec.parameters = parameters;
  spec.parameterBytes = sizeof parameters;
  spec.options.isSanitized = isSanitized;
  LaunchResult result;
  auto start = std::chrono::steady_clock::now();
  check(emulator->launch(spec, result));
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%-10s %-12s %8.1f M thread-instructions/s  %6.1f ns a warp instruction  (%.1f M in %.2f s)\n",
              bench.name, isSanitized ? "sanitized" : "plain", double(result.threadInstructions) / seconds / 1e6,
              seconds * 1e9 / double(result.warpInstructions), double(result.threadInstructions) / 1e6, seconds);
}

} // namespace

/// weft-emulator-speed [ROUNDS [NAME]]
int main(int argc, char **argv) {
  uint32_t rounds = argc > 1 ? uint32_t(std::strtoul(argv[1], nullptr, 10)) : 2000;
  for (const Bench &bench : kBenches)
    if (argc < 3 || std::strcmp(argv[2], bench.name) == 0)
      for (bool isSanitized : {false, true})
        measure(bench, isSanitized, rounds);
  return 0;
}
