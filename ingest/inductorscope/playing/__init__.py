"""The playground: compiles what people type, and reads it as a run."""
