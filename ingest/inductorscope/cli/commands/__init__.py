"""The commands, one file each. A file's name is the command's."""
