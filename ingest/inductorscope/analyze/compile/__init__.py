"""What compiling did and why, from the records of TORCH_TRACE logs."""
