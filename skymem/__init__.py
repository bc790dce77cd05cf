"""The keeper of AI agents' memory: what people import."""
