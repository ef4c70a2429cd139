"""Jobs run by workers outside of the Celery cluster, over HTTP."""
