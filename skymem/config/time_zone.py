"""Whether a time zone's name is known here, without asking the machine's own setting (C15)."""

import zoneinfo


def check_time_zone(name: str) -> str | None:
    """Say what is wrong with the name, as the rest of a sentence; None when nothing is.

    `UTC` is always right, even on a machine without time zone data.
    """
    if name == "UTC":
        return None
    try:
        zoneinfo.ZoneInfo(name)
    # A name with `..`, NUL or a surrogate, one of a directory, one that is too long.
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return _explain(name)
    return None


def _explain(name: str) -> str:
    known = zoneinfo.available_timezones()
    if not known:
        return "cannot be checked: this machine has no time zone data (install tzdata, or use UTC)"
    import difflib

    by_lower = {zone.lower(): zone for zone in known}
    near = difflib.get_close_matches(name[:64].lower(), by_lower, n=1, cutoff=0.7)
    if not near:
        return "is not a known time zone (such as Europe/Berlin, or UTC)"
    return f'is not a known time zone (did you mean "{by_lower[near[0]]}"?)'
