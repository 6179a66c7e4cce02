"""The lit suite: one folder per room, named as in lib/.

Features a test may require:
  shared    the folder of exported models (../shared/models) is there
  onnx      %python can import onnx, onnxruntime, numpy and ml_dtypes
  chromium  a headless Chromium is on the PATH (`./dev setup` installs one)
  ptxas     NVIDIA's assembler is on the PATH
  asan      the tools are built with sanitizers
Substitutions: %python, %weft_src, %weft_build, %shared, %models (cached models with weights), and lit's own.
`--param roundtrip=1` prints and parses again the IR of every weft-opt run (--verify-roundtrip), in a tree of its own.
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import shutil
import subprocess

import lit.formats

roundtrip = lit_config.params.get("roundtrip", "") not in ("", "0")

config.name = "Weft-roundtrip" if roundtrip else "Weft"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unit", "onnx", "models", "fuzz"]
config.test_source_root = os.path.join(config.weft_source_dir, "test")
config.test_exec_root = os.path.join(config.weft_binary_dir, "test-roundtrip" if roundtrip else "test")
os.makedirs(config.test_exec_root, exist_ok=True)

tool_dirs = [os.path.join(config.weft_binary_dir, "bin"), config.llvm_tools_dir]
config.environment["PATH"] = os.pathsep.join(tool_dirs + [os.environ.get("PATH", "")])
# Variables without $ do not survive a CHECK-LABEL; an unused prefix is a mistyped one.
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --allow-unused-prefixes=false"
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "ASAN_SYMBOLIZER_PATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%python", config.python))
config.substitutions.append(("%weft_src", config.weft_source_dir))
config.substitutions.append(("%weft_build", config.weft_binary_dir))
config.substitutions.append(("%models", os.path.join(config.weft_binary_dir, "models")))
if roundtrip:
    # The tool's name alone, not where it is part of a path or of another word.
    config.substitutions.append((r"(?<![\w/.%-])weft-opt(?![\w/.-])", "weft-opt --verify-roundtrip"))
    config.available_features.add("roundtrip")

for shared in (os.path.join(config.weft_source_dir, "..", "shared"), os.path.join(config.weft_source_dir, "shared")):
    if os.path.isdir(os.path.join(shared, "models")):
        config.available_features.add("shared")
        config.substitutions.append(("%shared", os.path.realpath(shared)))
        break

probe = subprocess.run([config.python, "-c", "import onnx, onnxruntime, numpy, ml_dtypes"], capture_output=True)
if probe.returncode == 0:
    config.available_features.add("onnx")
if any(map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))):
    config.available_features.add("chromium")
if shutil.which("ptxas"):
    config.available_features.add("ptxas")
if "address" in config.sanitize:
    config.available_features.add("asan")
