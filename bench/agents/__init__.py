"""What an agent must read to answer a question: our tools, the raw files, tlparse's output."""
