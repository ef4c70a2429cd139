"""The `provider` command: one module a command group."""
