"""Where the time goes: what a trace's events are, what kept the device waiting, what compiling
changed. Pure: from records of `formats` to figures, each of which sums to the whole it is part of.
"""
