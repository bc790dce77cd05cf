"""Bringing a home over from the format of an older release to this one's (`skymem upgrade`)."""
