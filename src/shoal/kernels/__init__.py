"""Numeric kernels: plain functions, arrays in, arrays out.

They are written in C++ (native/) together with their docstrings (`help` shows them); `_native.pyi` has their signatures
and is generated (`make native`). The modules here group them by family and add, in Python, code that is not hot.
"""
