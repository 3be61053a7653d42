"""What the pages ask the database, one module a page; each answers with typed records."""
