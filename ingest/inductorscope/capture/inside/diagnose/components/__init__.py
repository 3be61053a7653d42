"""Which component of the compiler fails."""
