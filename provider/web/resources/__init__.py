"""The web process's blueprints, one a resource."""
