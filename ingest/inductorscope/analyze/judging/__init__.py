"""What a judgement of a kernel is made of: further shapes, and the verdict."""
