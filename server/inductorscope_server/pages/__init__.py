"""The pages: the parameters and the answer of each. `table` lists them."""
