"""Records → links between lines. Pure: no database, no network, no torch."""
