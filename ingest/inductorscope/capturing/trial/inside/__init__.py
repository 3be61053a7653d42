"""What trials do inside of the process that runs the program; needs torch."""
