"""How far each kernel is from the limits of the machine."""
