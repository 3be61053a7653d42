"""The built-in models. Each file's `make(train)` returns the callable and its arguments."""
