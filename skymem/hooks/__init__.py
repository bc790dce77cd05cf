"""Hooks for coding agents: what they call at a session's start, a prompt, a tool's use and a stop.

A hook never holds a person up: it ends in time, with exit code 0, and says what it did without.
"""
