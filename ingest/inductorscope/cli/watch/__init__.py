"""Reading a folder again and again while a program writes to it."""
