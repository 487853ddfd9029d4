"""The typed Python face of the compiled kernels: plain functions, arrays in, arrays out, no frames."""
