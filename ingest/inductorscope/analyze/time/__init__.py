"""Where the time goes: what trace events are, what kept the device waiting, what compiling changed.
Pure: from records of `formats` to figures, each of which sums to its whole."""
