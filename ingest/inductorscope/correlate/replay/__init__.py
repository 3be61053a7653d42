"""Loop-body operations matched with the statements they became."""
