"""The parts of the API that are not twins of pages."""
