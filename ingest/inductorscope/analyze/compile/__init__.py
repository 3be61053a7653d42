"""What compiling did and why, told from the records of TORCH_TRACE logs."""
