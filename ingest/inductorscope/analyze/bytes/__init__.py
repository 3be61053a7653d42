"""Bytes and operations of each kernel call."""
