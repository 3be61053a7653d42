"""The timeline of a trace: any window of it, in as much detail as fits."""
