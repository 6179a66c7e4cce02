"""Runs a bundle at several values of a symbol against another one on the CPU: at_extents.py REFERENCE BUNDLE DEVICE SYMBOL VALUE..."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import subprocess
import sys

reference, bundle, device, symbol, *values = sys.argv[1:]
for value in values:
    expected = f"@{bundle}.{value}.npy"
    subprocess.run(["weft-run", reference, f"--dim={symbol}={value}", f"--output={expected}"], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(["weft-run", bundle, f"--device={device}", f"--dim={symbol}={value}", f"--expected-output={expected}", "--rtol=0.01",
                           "--atol=0.5"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{symbol} = {value}: {done.stdout}{done.stderr}")
print(f"{len(values)} extents")
