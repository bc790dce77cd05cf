"""Measurements beside their floors; not part of the package."""
