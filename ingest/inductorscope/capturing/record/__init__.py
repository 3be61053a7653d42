"""The exact line record: which operation wrote which line, recorded while Inductor generates code.

It hooks Inductor's functions: a line written to a buffer remembers the current loop-body node, and
that node remembers the FX node whose lowering created it. Nothing is added to any text, because
Inductor identifies kernels by their source and common subexpressions by their expression: the code
is the same byte for byte as without the record.

    origins    the current loop-body node and its FX node
    owners     loop-body nodes remember the FX node they belong to
    lines      lines of code buffers remember their origin
    rewritten  lines that Inductor rewrites keep their origin
    kernels    the lines of whole kernels, and the call each is defined for
    align      maps a kernel's text to line numbers of output_code.py (torch-free)
    placing    writes the record by line of output_code.py
    install    installs all hooks for a capture, with the supported versions of torch
"""
