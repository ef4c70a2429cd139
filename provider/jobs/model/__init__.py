"""The job without I/O: its record, its statuses and moves, its times, its spelling."""
