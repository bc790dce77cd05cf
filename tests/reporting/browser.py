"""A real browser, driven through a pipe: what a page shows, asks for, runs and complains of."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
PATIENCE_SECONDS = 120.0
"""A busy machine may take long to start it."""

SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
    "--disable-dev-shm-usage", "--disable-background-networking", "--disable-extensions",
    "--remote-debugging-pipe",
)  # fmt: skip


@dataclass
class Seen:
    """What a page did."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


class Browser:
    """One browser with one page; speaks the protocol of its developer tools."""

    def __init__(self, process: "subprocess.Popen[bytes]", to: int, back: int) -> None:
        self._process = process
        self._to, self._back = to, back
        self._rest = b""
        self._number = 0
        self._session = ""
        self.seen = Seen()

    def begin(self) -> None:
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        found = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def open(self, path: Path, *, width: int = 1100, scheme: str = "light") -> Seen:
        """Show a file, and wait until it is there whole."""
        self.look(width=width, scheme=scheme)
        self.seen = Seen()
        self.ask("Page.navigate", url=path.as_uri())
        self._until("Page.loadEventFired")
        # Twice round the page's own loop: whatever would run or be fetched has been by then.
        waits = "new Promise(done => setTimeout(() => setTimeout(done, 50), 50))"
        self.value(waits, promise=True)
        return self.seen

    def look(self, *, width: int, scheme: str, media: str = "") -> None:
        """How the page is looked at."""
        feature = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=media, features=feature)
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip

    def value(self, expression: str, *, promise: bool = False) -> Any:
        """What an expression says in the page, whatever its policy forbids it."""
        found = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=promise
        )
        return found["result"].get("value")

    def picture(self) -> bytes:
        """The whole page, as PNG."""
        told = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(told["data"])

    def printed(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.ask("Page.printToPDF", preferCSSPageSize=True)["data"])

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask for something; returns the answer."""
        self._number += 1
        asked = {"id": self._number, "method": method, "params": params}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        while (told := self._next()).get("id") != self._number:
            self._note(told)
        assert "error" not in told, told
        return dict(told["result"])

    def _until(self, method: str) -> None:
        while (told := self._next()).get("method") != method:
            self._note(told)

    def _note(self, told: dict[str, Any]) -> None:
        params = told.get("params", {})
        match told.get("method"):
            case "Network.requestWillBeSent":
                self.seen.requests.append(params["request"]["url"])
            case "Log.entryAdded":
                self.seen.complaints.append(params["entry"]["text"])
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown":
                self.seen.complaints.append(json.dumps(params))
            case "Page.javascriptDialogOpening":
                self.seen.dialogs.append(params["message"])
                self.ask("Page.handleJavaScriptDialog", accept=True)
            case _:
                pass

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE_SECONDS
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._back], [], [], max(0.0, until - time.monotonic()))
            block = os.read(self._back, 1 << 20) if ready else b""
            assert block, f"the browser is silent, or has ended ({self._process.poll()})"
            self._rest += block
        raw, self._rest = self._rest.split(b"\0", 1)
        return dict(json.loads(raw))


@contextlib.contextmanager
def browsing(place: Path) -> Iterator[Browser]:
    """Start a browser with nothing in it; it is gone at the end."""
    assert CHROMIUM is not None
    theirs_in, to = os.pipe()
    back, theirs_out = os.pipe()
    profile = [f"--user-data-dir={place / 'profile'}", f"--crash-dumps-dir={place}"]
    # It reads what it is asked from descriptor 3, and answers on 4.
    wired = f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$@"'
    command = ["/bin/bash", "-c", wired, "chromium", CHROMIUM, *SWITCHES, *profile, "about:blank"]
    process = subprocess.Popen(
        command, pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "HOME": str(place)},
    )  # fmt: skip
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        browser = Browser(process, to, back)
        browser.begin()
        yield browser
    finally:
        os.close(to)  # at which it ends
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()
        os.close(back)
