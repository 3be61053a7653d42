"""The timeline of a trace: its events in tracks and rows, at several resolutions."""
