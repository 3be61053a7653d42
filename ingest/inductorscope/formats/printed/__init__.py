"""Tables and reports that torch prints."""
