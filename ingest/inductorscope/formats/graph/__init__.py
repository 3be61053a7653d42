"""FX graphs and Inductor's IR, as text."""
