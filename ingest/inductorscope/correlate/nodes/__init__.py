"""Loop-body operations matched with the FX nodes they came from."""
