"""Triton's compiled forms of a kernel: its IRs, PTX, machine code and metadata."""
