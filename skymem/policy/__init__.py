"""Which and why: pure functions from memories, rules and a time to a plan."""
