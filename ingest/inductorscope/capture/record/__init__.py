"""The exact line record: which operation wrote which line, noted while Inductor generates code.

Works by standing beside Inductor's own functions: a line that is written into a buffer remembers
the loop-body node being run; that node remembers the FX node whose lowering asked for it. Nothing
is added to any text, because kernels are distinguished by their source and common subexpressions by
their expression: the code comes out byte for byte as without the record.

    origins    who is writing just now
    owners     loop-body nodes remember the FX node they belong to
    lines      lines of code buffers remember who wrote them
    rewritten  lines that Inductor writes anew keep their origin
    kernels    whole kernels: which lines, defined for which call
    align      from a kernel's own text to line numbers of output_code.py (torch-free)
    placing    the record as it is written down, by line of output_code.py
    recording  puts all of it in place
    install    the same for a capture, with the versions of torch it is known to fit
"""
