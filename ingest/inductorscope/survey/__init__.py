"""The atlas: what each torch compiles a set of programs to, and what changed between versions."""
