"""What Triton compiled of a kernel: its IRs, PTX, machine code and metadata."""
