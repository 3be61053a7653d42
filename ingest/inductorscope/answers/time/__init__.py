"""Answers for the pages of times and the roofline."""
