"""How close each kernel is to the limits of the machine."""
