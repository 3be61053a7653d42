"""Tools with which coding agents ask about runs, over the Model Context Protocol."""
