"""Parses, calls `skymem.app`, renders."""
