"""The pages: each one's parameters and answer. `table` lists them."""
