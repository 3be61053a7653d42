"""The pages: what each takes from its address and which answer it shows. `table` lists them all."""
