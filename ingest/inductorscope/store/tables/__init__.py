"""The database tables, one model each."""
