"""Attacks the judge of kernels, and shows it honest and wrong ones."""
