"""The threat table: one file a threat, each small input of it held by a test (docs/security.md)."""
