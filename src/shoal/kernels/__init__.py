"""Numeric kernels: plain functions, arrays in, arrays out.

They are written in C++ (native/), where their docstrings stand (`help` shows them); `_native.pyi` has their signatures
and is generated (`make native`). Modules here give them by family, with what is not hot and so written in Python.
"""
