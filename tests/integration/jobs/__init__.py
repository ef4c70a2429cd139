"""The job store and everything that moves jobs, on a real Redis."""
