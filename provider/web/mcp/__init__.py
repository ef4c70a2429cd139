"""The services as tools of the Model Context Protocol: another door to the same claim desk."""
