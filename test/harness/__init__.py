"""Shared by the Python suites: processes with limits, the compiler and runtime as a user calls them, and comparisons."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
