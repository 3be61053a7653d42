"""Output code with comments that say what each line computes."""
