"""Working memory: scratchpad, preferences, playbooks, documents, conversation (rows W1 to W11).

All of it is lines of an agent's tiers, as the rest is: expired, superseded and undone alike.
"""
