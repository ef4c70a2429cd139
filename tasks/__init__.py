"""Celery adapters: load, call the domain, store."""
