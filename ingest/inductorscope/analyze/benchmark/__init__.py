"""A kernel's test case: its call, its operands and its FX nodes."""
