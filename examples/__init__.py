"""Services an agent would buy, and that need no network."""
