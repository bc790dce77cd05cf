"""Finding what is remembered, over all tiers, in one result."""
