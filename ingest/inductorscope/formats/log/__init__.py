"""TORCH_TRACE and TORCH_LOGS: log lines to records."""
