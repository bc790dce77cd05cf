"""Carrying out a plan: `plan` reads, `apply` writes."""
