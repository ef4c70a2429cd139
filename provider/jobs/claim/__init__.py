"""A paid call becomes a job."""
