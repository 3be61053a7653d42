"""Engines, migrations and bulk writes for SQLite and PostgreSQL."""
