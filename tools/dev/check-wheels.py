#!/usr/bin/env python3
"""Installs wheels into a new virtual environment, with what they ask for from PyPI, and uses them as a stranger would: no build tree, no sources.

    check-wheels.py dist
"""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tempfile
import venv

USE = """
import importlib.metadata, pathlib, subprocess, sys
import numpy as np, onnx, onnxruntime, weft, onnxruntime_ep_weft
from onnx import TensorProto, helper, numpy_helper

info = helper.make_tensor_value_info
graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Gelu", ["p"], ["y"])], "g", [info("x", TensorProto.FLOAT, ("n", 37))],
                          [info("y", TensorProto.FLOAT, ("n", 21))], [numpy_helper.from_array(np.linspace(-1, 1, 777, dtype=np.float32).reshape(37, 21), "w")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
x = np.random.default_rng(1).standard_normal((5, 37), np.float32)
plain = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
bundle = weft.compile(model, target="cpu,H100", records="shipped")
assert bundle.entries == ["main", "main@sm_90a"], bundle.entries
np.testing.assert_allclose(weft.Session(bundle).run({"x": x})["y"], plain, rtol=1e-4, atol=1e-5)
onnxruntime.register_execution_provider_library("weft", onnxruntime_ep_weft.get_library_path())
options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
options.add_provider_for_devices([d for d in onnxruntime.get_ep_devices() if d.ep_name == onnxruntime_ep_weft.get_ep_name()], {})
np.testing.assert_allclose(onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})[0], plain, rtol=1e-4, atol=1e-5)
for name in ("weft-runtime", "weft-compiler", "onnxruntime-ep-weft"):
    files = [str(file) for file in importlib.metadata.files(name)]
    assert any(file.endswith("licenses/LICENSE") for file in files) and any("sboms" in file for file in files), files
assert all(sys.prefix in module.__file__ for module in (weft, onnxruntime_ep_weft))
(backend,) = importlib.metadata.entry_points(group="torch_dynamo_backends", name="weft")
assert backend.value == "weft.torch:backend" and any(str(file) == "weft/torch/_backend.py" for file in importlib.metadata.files("weft-runtime"))
onnx.save(model, "model.onnx")
weft_tool = pathlib.Path(sys.executable).parent / "weft"
for command, answer in (("doctor", "ok  compiler"), ("inspect model.onnx", "2 of 2 needed nodes supported"), ("compile model.onnx --target=cpu,H100 -o model.weft", "wrote"),
                        ("run model.weft --dim=n=5", "result[0]"), ("run model.onnx --device=emu:H100 --dim=n=5", "(sm_90a)"), ("explain model.weft", "1 kernels, 1 distinct"),
                        ("explain model.onnx --why p,y", "fused on cpu"), ("compare model.onnx --all", "agrees"), ("reduce model.onnx --tolerance=0", "wrote"),
                        ("bench model.weft --duration=50ms --dim=n=5", "latency    hot"), ("bench model.onnx --baseline=model.weft --duration=50ms --dim=n=500", "pairs of sessions"),
                        ("tune --version", "weft "), *((f"{tool} --help", "--") for tool in ("compile", "run", "bench", "explain", "inspect", "tune", "doctor", "compare", "reduce"))):
    said = subprocess.run([weft_tool, *command.split()], capture_output=True, text=True)
    assert said.returncode == 0 and answer in said.stdout + said.stderr, (command, said)
said = subprocess.run([weft_tool, "compile", "none.onnx"], capture_output=True, text=True)
assert said.returncode == 2 and "cannot open the model" in said.stderr, said
assert len(weft.explain(bundle).programs) > 1
print(weft.version(), weft.compiler_version(), "onnxruntime", onnxruntime.__version__)
"""


ROOT = pathlib.Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
# Whose commands run with what the wheels bring.
PAGES = [ROOT / "docs" / page for page in ("install.md", "debugging.md")]


def example() -> str:
    """README's first lines of Python."""
    found = re.search(r"<!-- run by tools/dev/check-wheels.py.*?```python\n(.*?)```", README.read_text(), re.S)
    if not found:
        raise SystemExit("check-wheels: README.md: expected a block of Python behind <!-- run by tools/dev/check-wheels.py -->")
    return found[1]


def check_tags(python: pathlib.Path, wheels: list[pathlib.Path]) -> None:
    """auditwheel, which is not ours, finds the tag that a wheel has. It does not know of a wheel that needs another one's libraries."""
    for wheel in wheels:
        if wheel.name.startswith(("weft_runtime", "weft_compiler")):
            said = subprocess.run([python, "-m", "auditwheel", "show", wheel], check=True, capture_output=True, text=True).stdout
            tag = re.search(r"manylinux_\d+_\d+_x86_64", wheel.name)[0]
            if f'"{tag}"' not in " ".join(said.split()).split("The wheel references")[0]:
                raise SystemExit(f"check-wheels: {wheel.name}: expected the tag {tag}, got {said}")


def main() -> int:
    wheels = sorted(pathlib.Path(sys.argv[1]).resolve().glob("*.whl"))
    versions = sys.argv[2:] or ["onnxruntime>=1.23"]
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        venv.create(home / "env", with_pip=True)
        python = home / "env" / "bin" / "python"
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "5", "--only-binary=:all:"]
        subprocess.run([*pip, *wheels, "onnx", "auditwheel"], check=True, cwd=home)
        check_tags(python, wheels)
        environment = {"PATH": "/usr/bin:/bin", "HOME": folder}
        for version in versions:
            subprocess.run([*pip, version], check=True, cwd=home)
            for text in (USE, example()):
                subprocess.run([python, "-I", "-c", text], check=True, cwd=home, env=environment)
            subprocess.run([python, "-I", ROOT / "tools/dev/check-docs.py", f"--build={home / 'env'}", "pages", *PAGES], check=True, cwd=home, env=environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
