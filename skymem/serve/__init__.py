"""Doors for other programs: the API on a socket, MCP on stdio; each over the Python API."""
