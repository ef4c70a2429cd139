"""The HTTP front end: one blueprint a resource."""
