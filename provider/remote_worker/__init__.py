"""A remote worker: runs any program for the jobs of a provider somewhere else. It needs HTTP only."""
