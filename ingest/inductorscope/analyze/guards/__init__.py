"""Evaluates recorded guards for arguments that the user gives."""
