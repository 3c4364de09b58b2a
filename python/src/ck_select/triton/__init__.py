"""Triton's GEMM kernels."""
