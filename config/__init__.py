"""Settings, and how each process of the platform is configured from them."""
