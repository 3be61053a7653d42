"""One module a page: its address, its JSON twin, and how its struct is made."""
