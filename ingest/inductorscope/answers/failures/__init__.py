"""Answers for the pages about failures and diagnoses."""
