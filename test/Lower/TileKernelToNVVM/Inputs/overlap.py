#!/usr/bin/env python3
"""Inputs and result of wgmma-overlap.mlir: overlap.py PREFIX writes PREFIX.{q,k,v,o}.npy."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import sys

import numpy as np

STEP = 64

random = np.random.default_rng(1)
q, k, v = (random.standard_normal((rows, 64)).astype("f2") / 4 for rows in (192, 232, 232))
o = np.zeros((192, 64))
for first in range(0, 232, STEP):
    scores = q.astype("f8") @ k[first:first + STEP].astype("f8").T
    o = o * 0.5 + (scores * scores).astype("f2").astype("f8") @ v[first:first + STEP].astype("f8")
for name, value in dict(q=q, k=k, v=v, o=o.astype("f2")).items():
    np.save(f"{sys.argv[1]}.{name}.npy", value)
