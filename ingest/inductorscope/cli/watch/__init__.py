"""Rereads a folder while a program writes to it."""
