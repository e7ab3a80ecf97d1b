"""A real Chromium without a window, driven over a pipe by its DevTools protocol; nothing else to install."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

__all__ = ["Browser", "chromium", "open_browser"]

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS: Final = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # root, as in a container, has no sandbox; only pages that the tests made are opened
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # a page that needs the network would look broken
)


def chromium() -> str | None:
    """Return the path of a Chromium or Chrome, or None."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class Browser:
    """One tab of a running browser."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._buffer, self._number, self._session = b"", 0, ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 16)
            assert part, "the browser has stopped"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def show(self, path: Path, width: int, *, dark: bool) -> None:
        """Open a file at a width, in a light or dark scheme, and wait until its pictures are decoded."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=844, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=path.resolve().as_uri())
        while self._next().get("method") != "Page.loadEventFired":
            pass
        self.run("Promise.all([...document.images].map(image => image.decode().catch(() => 0)))")

    def run(self, script: str) -> Any:
        """Return the value of a script in the page."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """Write the entire page to a PNG file."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))


@contextmanager
def open_browser(executable: str, profile: Path) -> Iterator[Browser]:
    """Start a browser with a profile of its own; stop it at the end."""
    (their_read, write), (read, their_write) = os.pipe(), os.pipe()
    # Above 9, so the numbers 3 and 4, which the browser reads from and writes to, are free.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (their_read, their_write)]
    for end in (their_read, their_write):
        os.close(end)
    script = f'exec "$@" 3<&{ends[0]} 4>&{ends[1]}'
    command = ["bash", "-c", script, "bash", executable, *_FLAGS, f"--user-data-dir={profile}"]
    process = subprocess.Popen(
        command, pass_fds=ends, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    for end in ends:
        os.close(end)
    try:
        yield Browser(write, read)
    finally:
        os.close(write)  # the browser ends when its pipe does
        os.close(read)
        process.terminate()
        process.wait(timeout=20)
