"""Telling by a webhook: one POST to the URL that is configured, and nowhere else (promise 9).

No proxy, no netrc, no redirect: what the environment or the server says must not send it elsewhere.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from skymem.model.alarm import AlarmRules
from skymem.stores.token_file import bearer, read_token

LOOK_SECONDS: Final = 0.1
REDIRECTS: Final = range(300, 400)
TAKEN: Final = range(200, 300)


def by_webhook(
    rules: AlarmRules, message: bytes, *, environment: Mapping[str, str], stop: Callable[[], str]
) -> str:
    """Post a message; returns "" or why it was not taken.

    Args:
        rules: the URL, where the token is, and the deadline for all of it, name lookup included.
        message: JSON.
        environment: where the token may be.
        stop: names the signal that came: then it isn't waited for.
    """
    try:
        headers = {"Content-Type": "application/json", **_token(rules, environment)}
    except ValueError as error:
        return str(error)
    ends = time.monotonic() + rules.deadline_seconds
    told: list[str] = []
    call = threading.Thread(
        target=lambda: told.append(_post(rules, message, headers, ends)), daemon=True
    )
    call.start()
    while call.is_alive() and time.monotonic() < ends:
        if signal_name := stop():
            return f"was ended by {signal_name}"
        call.join(LOOK_SECONDS)
    return told[0] if told else f"gave no answer within {rules.deadline_seconds:g} s"


def _token(rules: AlarmRules, environment: Mapping[str, str]) -> dict[str, str]:
    token = ""
    if rules.token_env is not None:
        token = environment.get(rules.token_env, "").strip()
        if not token:
            raise ValueError(f"has no token: the daemon was started without {rules.token_env}")
    elif rules.token_file is not None:
        token = read_token(rules.token_file)
    return {"Authorization": bearer(token)} if token else {}


def _post(rules: AlarmRules, message: bytes, headers: Mapping[str, str], ends: float) -> str:
    """Post it, in a thread of its own."""
    try:
        import httpx
    except ImportError:
        return "needs httpx: pip install 'skymem[llm]'"
    left = max(0.1, ends - time.monotonic())
    try:
        with (
            httpx.Client(timeout=left, trust_env=False, follow_redirects=False) as client,
            client.stream("POST", rules.webhook or "", content=message, headers=headers) as answer,
        ):
            return _why_not(answer.status_code)
    except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, ValueError) as error:
        return f"can't be reached: {type(error).__name__}"


def _why_not(status: int) -> str:
    if status in TAKEN:
        return ""
    if status in REDIRECTS:
        return f"answered {status}: a redirect is not followed"
    return f"answered {status}"
