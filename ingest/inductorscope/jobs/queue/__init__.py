"""The durable queue, its workers and their supervisor."""
