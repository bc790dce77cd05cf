"""Faults: every step of a job fails once, is cut once, and loses power once."""
