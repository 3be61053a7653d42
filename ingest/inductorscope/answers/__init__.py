"""Answers: one struct per page, for its template and as JSON, and the queries that fill it."""
