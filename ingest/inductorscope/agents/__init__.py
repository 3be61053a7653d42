"""Answers for coding agents: tools with a purpose each, over the Model Context Protocol."""
