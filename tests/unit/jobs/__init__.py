"""The job record, its moves and its keys, without Redis."""
