"""The two YAML files: read, every complaint collected, raised once."""
