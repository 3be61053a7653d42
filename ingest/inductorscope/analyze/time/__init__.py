"""Where the time goes: kinds of trace events, waits of the device, effects of compiling. Pure: from
records of `formats` to figures, each of which sums to its whole."""
