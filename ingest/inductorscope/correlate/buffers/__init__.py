"""Buffers in the order of lowering: whose values they hold, and whose lowering made them."""
