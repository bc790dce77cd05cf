"""All durable state of a home."""
