#!/usr/bin/env python3
"""Packs what a build made into wheels: weft-runtime (the package `weft` and its library), weft-compiler (the compiler's library, LLVM inside, and its
tools), onnxruntime-ep-weft (the execution provider) and weft (the other tools), which asks for the first two. The same inputs give the same bytes.

    make-wheels.py --build=build --output=dist
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import argparse
import base64
import hashlib
import json
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLVM = pathlib.Path("/usr/lib/llvm-22/bin")
SYSTEM = pathlib.Path("/usr/lib/x86_64-linux-gnu")
# Debian packages whose code is in a wheel: their copyright files go along.
INSIDE = {"weft-runtime": ("libstdc++6", "libgcc-s1", "libxxhash-dev"), "onnxruntime-ep-weft": ("libstdc++6", "libgcc-s1"),
          "weft": ("libstdc++6", "libgcc-s1", "libxxhash-dev", "libcli11-dev"),
          "weft-compiler": ("libllvm22", "libstdc++6", "libgcc-s1", "libxxhash-dev", "libcli11-dev", "libonnx1", "libprotobuf32", "zlib1g", "libzstd1")}
# The archive of protobuf is not for shared libraries (arena.o has the thread's variables at fixed offsets), and of the other there is none.
CARRIED = ("libonnx_proto.so.1", "libprotobuf.so.32")
# The newest glibc that a wheel may ask for, and its bytes at most. OldGlibc.c keeps our own libraries at 2.27; Debian's protobuf asks for 2.34.
BOUNDS = {"weft-runtime": ((2, 27), 1_000_000), "onnxruntime-ep-weft": ((2, 27), 1_000_000), "weft-compiler": ((2, 34), 60_000_000),
          "weft": ((2, 27), 5_000_000)}
# What a person calls. The compiler's tools are in its library, and those of Python in weft-runtime.
TOOLS = ("weft", "weft-run", "weft-bench", "weft-doctor", "weft-tune")
# The glibc of the oldest system whose libstdc++ has a version of symbols (manylinux, by GCC 7 to 12).
LIBSTDCXX = [((3, 4, 24), (2, 27)), ((3, 4, 25), (2, 28)), ((3, 4, 28), (2, 31)), ((3, 4, 29), (2, 34)), ((3, 4, 30), (2, 35))]
# What every machine of a manylinux tag has (PEP 600).
EVERYWHERE = re.compile(r"^(libc|libm|libdl|librt|libpthread|ld-linux-x86-64|libgcc_s|libstdc\+\+|libz)\.so\.\d+$")
EPOCH = (1980, 1, 1, 0, 0, 0)


def version() -> str:
    """The one place is CMake's project()."""
    return re.search(r"project\(weft VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def output_of(*command) -> str:
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


def stripped(library: pathlib.Path) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / library.name
        subprocess.run([LLVM / "llvm-strip", "--strip-all", "-o", path, library], check=True)
        return path.read_bytes()


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def needs(library: pathlib.Path) -> tuple[list[str], dict[str, tuple[int, int]]]:
    """Libraries that it names, and the glibc that each version of symbols asks for, its own or libstdc++'s."""
    named = re.findall(r"NEEDED.*\[(.+?)\]", output_of(LLVM / "llvm-readelf", "-d", library))
    versions = {}
    needed = output_of(LLVM / "llvm-readelf", "-V", library).partition("Version needs section")[2]
    for family, number in re.findall(r"Name: (GLIBC|GLIBCXX)_([\d.]+)", needed):
        if family == "GLIBC":
            versions[f"{family}_{number}"] = numbers(number)[:2]
        else:
            versions[f"{family}_{number}"] = next((glibc for newest, glibc in LIBSTDCXX if numbers(number) <= newest), (2, 99))
    return named, versions


def tag_of(name: str, libraries: list[pathlib.Path], required: tuple[str, ...] = ()) -> str:
    """The manylinux tag; an error for symbols beyond a wheel's bound, and for a library that a machine may lack, and no wheel that is `required` has."""
    newest, bound = (2, 17), BOUNDS[name][0]
    carried = {path.name for path in libraries} | set(required)
    for library in libraries:
        named, versions = needs(library)
        if late := sorted(version for version, glibc in versions.items() if glibc > bound):
            raise SystemExit(f"make-wheels: {library}: expected symbols of glibc {bound[0]}.{bound[1]} at most, got {', '.join(late)}; "
                             "`objdump -T` names them, kernels-runtime/src/OldGlibc.c says them with older ones")
        newest = max(newest, *versions.values())
        if strange := [name for name in named if not EVERYWHERE.match(name) and name not in carried]:
            raise SystemExit(f"make-wheels: {library}: needs {', '.join(strange)}, which a wheel cannot count on; link them statically")
    return f"manylinux_{newest[0]}_{newest[1]}_x86_64"


def copyrights(packages: tuple[str, ...]) -> dict[str, bytes]:
    files = {}
    for package in packages:
        path = pathlib.Path("/usr/share/doc") / package / "copyright"
        if not path.is_file():
            raise SystemExit(f"make-wheels: no copyright file of {package}, whose code is in the wheel: {path}")
        files[f"{package}.txt"] = path.read_bytes()
    return files


def bill(name: str, packages: tuple[str, ...]) -> bytes:
    """What is inside, as CycloneDX 1.5."""
    parts = []
    for package in packages:
        number = output_of("dpkg-query", "-W", "-f=${Version}", package)
        parts.append({"type": "library", "name": package, "version": number, "purl": f"pkg:deb/debian/{package}@{number}?arch=amd64"})
    return json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
                       "metadata": {"component": {"type": "library", "name": name, "version": version()}}, "components": parts}, indent=1).encode()


def write_wheel(folder: pathlib.Path, name: str, tag: str, summary: str, requires: list[str], files: dict[str, bytes],
                entry_points: str = "") -> pathlib.Path:
    stem = f"{name.replace('-', '_')}-{version()}"
    info = f"{stem}.dist-info"
    packages = INSIDE.get(name, ())
    metadata = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version()}", f"Summary: {summary}", "Requires-Python: >=3.9",
                "License-Expression: Apache-2.0 WITH LLVM-exception", "License-File: LICENSE"]
    metadata += [f"License-File: {file}" for file in copyrights(packages)]
    metadata += [f"Requires-Dist: {each}" for each in requires]
    files = dict(files)
    files[f"{info}/METADATA"] = ("\n".join(metadata) + "\n").encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: weft\nRoot-Is-Purelib: {str(tag == 'any').lower()}\nTag: py3-none-{tag}\n".encode()
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files.update({f"{info}/licenses/{file}": text for file, text in copyrights(packages).items()})
    if entry_points:
        files[f"{info}/entry_points.txt"] = entry_points.encode()
    if packages:
        files[f"{info}/sboms/{name}.cdx.json"] = bill(name, packages)
    record = [f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
              for path, data in sorted(files.items())]
    files[f"{info}/RECORD"] = ("\n".join(record + [f"{info}/RECORD,,"]) + "\n").encode()
    wheel = folder / f"{stem}-py3-none-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(files, key=lambda path: (path.startswith(info), path)):
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            # pip makes executable what is said to be a regular file that is.
            entry.external_attr = (stat.S_IFREG | (0o755 if ".so" in path or "/scripts/" in path else 0o644)) << 16
            archive.writestr(entry, files[path])
    if wheel.stat().st_size > (limit := BOUNDS.get(name, (None, 100_000))[1]):
        raise SystemExit(f"make-wheels: {wheel}: expected at most {limit} bytes, got {wheel.stat().st_size}")
    return wheel


def make_runtime(build: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    library = build / "lib" / "libweft_runtime.so.2"
    package = ROOT / "kernels-runtime" / "python" / "weft"
    files = {f"weft/{path.relative_to(package)}": path.read_bytes() for path in package.rglob("*.py")}
    files["weft/libweft_runtime.so.2"] = stripped(library)
    files["weft/include/weft/runtime.h"] = (ROOT / "kernels-runtime/include/weft/runtime.h").read_bytes()
    return write_wheel(folder, "weft-runtime", tag_of("weft-runtime", [library]), "Runs bundles of the Weft compiler: no LLVM, no CUDA toolkit", ["numpy"], files,
                       "[torch_dynamo_backends]\nweft = weft.torch:backend\n\n"
                       "[console_scripts]\nweft-compare = weft.tools.compare:main\nweft-reduce = weft.tools.reduce:main\n")


def make_compiler(build: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    library = build / "wheel" / "libweft_compiler.so.1"
    carried = [SYSTEM / name for name in CARRIED]
    files = {f"weft_compiler/lib/{path.name}": stripped(path) for path in [library, *carried]}
    files["weft_compiler/__init__.py"] = (ROOT / "tools/wheel/weft_compiler/__init__.py").read_bytes()
    files["weft_compiler/share/weft/records.jsonl"] = (ROOT / "share/weft/records.jsonl").read_bytes()
    files["weft_compiler/include/weft/compiler.h"] = (ROOT / "include/weft/compiler.h").read_bytes()
    return write_wheel(folder, "weft-compiler", tag_of("weft-compiler", [library, *carried]), "Compiles ONNX models to bundles: LLVM inside",
                       [f"weft-runtime=={version()}"], files, "[console_scripts]\n" + "".join(f"weft-{tool} = weft_compiler:main\n" for tool in ("compile", "explain", "inspect")))


def make_tools(build: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Executables, which pip puts beside the other wheels' commands: `weft NAME` looks for weft-NAME there."""
    tools = [build / "bin" / tool for tool in TOOLS]
    data = f"weft-{version()}.data"
    files = {f"{data}/scripts/{tool.name}": stripped(tool) for tool in tools}
    files[f"{data}/data/share/bash-completion/completions/weft"] = (ROOT / "share/bash-completion/weft").read_bytes()
    return write_wheel(folder, "weft", tag_of("weft", tools), "A fusion compiler for ONNX models, its runtime and its tools",
                       [f"weft-runtime=={version()}", f"weft-compiler=={version()}"], files)


def make_provider(build: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    library = build / "lib" / "libonnxruntime_ep_weft.so"
    package = ROOT / "integrations/onnxruntime/python/onnxruntime_ep_weft"
    files = {f"onnxruntime_ep_weft/{path.name}": path.read_bytes() for path in package.glob("*.py")}
    files[f"onnxruntime_ep_weft/{library.name}"] = stripped(library)
    # Not of onnxruntime itself, which has several packages.
    return write_wheel(folder, "onnxruntime-ep-weft", tag_of("onnxruntime-ep-weft", [library], ("libweft_runtime.so.2", "libweft_compiler.so.1")),
                       "Weft as an execution provider of onnxruntime", [f"weft-runtime=={version()}", f"weft-compiler=={version()}"], files)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build folder")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "dist", help="folder of the wheels (default dist)")
    parser.add_argument("--runtime-only", action="store_true", help="only weft-runtime")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    wheels = [make_runtime(args.build, args.output)]
    if not args.runtime_only:
        wheels.append(make_compiler(args.build, args.output))
        wheels.append(make_provider(args.build, args.output))
        wheels.append(make_tools(args.build, args.output))
    for wheel in wheels:
        print(f"{wheel.stat().st_size / 1e6:8.2f} MB  {wheel}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
