"""A real Chromium driven over a pipe (DevTools protocol, `--remote-debugging-pipe`), without any package."""

import contextlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--window-size=1200,1000", "--remote-debugging-pipe",
)  # fmt: skip

_COLOURED = """(() => {
  const canvas = document.querySelector('#chart-0 canvas');
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  const found = [];
  for (let i = 0; i < data.length; i += 4)
    if (Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60) found.push(i / 4);
  return found;
})"""


class Page:
    """One tab: opens a file, remembers every request, dialog and error, and can be clicked."""

    def __init__(self, profile: Path) -> None:
        assert PROGRAM is not None
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.errors: list[str] = []
        read, self._write = os.pipe()
        self._read, write = os.pipe()
        # the browser wants 3 to read from and 4 to write to; copies keep ours out of each other's way, whatever their numbers
        descriptors = f"exec {{r}}<&{read} {{w}}>&{write}; exec 3<&$r 4>&$w"
        self._process = subprocess.Popen(
            ["bash", "-c", f'{descriptors}; exec "$@"', "bash", PROGRAM, *_FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(read, write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read)
        os.close(write)
        self._number = 0
        self._session: str | None = None
        self._buffer = b""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(OSError):
            os.close(self._write)
        self._process.terminate()
        self._process.wait(60)
        os.close(self._read)

    def open(self, path: Path, *, dark: bool = False) -> "Page":
        """Load a page of a chart, and wait until it says that it has drawn."""
        for heard in (self.requests, self.dialogs, self.errors):
            heard.clear()
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.navigate", url=path.as_uri())
        deadline = time.monotonic() + 120
        while self.ask("document.documentElement.dataset.drawn") is None:
            assert time.monotonic() < deadline, f"not drawn after 120 s; errors: {self.errors}"
            time.sleep(0.05)
        return self

    def window(self, width: int, height: int, *, phone: bool = False) -> None:
        """Make the window so large, in CSS pixels; as a phone's is, if asked."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def ask(self, expression: str) -> Any:
        """Evaluate in the page."""
        return self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)[
            "result"
        ].get("value")

    def marks(self) -> int:
        """Pixels of the chart that are neither paper nor grey ink: the marks and the legend's symbols."""
        return int(self.ask(f"({_COLOURED})().length"))

    def coloured_in_first_row(self) -> int:
        """As `marks`, in the topmost row of pixels that has any."""
        return int(
            self.ask(f"""(() => {{
          const across = document.querySelector('#chart-0 canvas').width;
          const rows = ({_COLOURED})().map(at => Math.floor(at / across));
          return rows.filter(row => row === rows[0]).length;
        }})()""")
        )

    def first_mark(self) -> tuple[float, float]:
        """Where the topmost mark is in the window, legends at the right left out."""
        x, y = self.ask(f"""(() => {{
          const canvas = document.querySelector('#chart-0 canvas'), box = canvas.getBoundingClientRect();
          const left = at => at % canvas.width < canvas.width * 0.8;
          const at = ({_COLOURED})().filter(left)[0];
          return [box.x + at % canvas.width, box.y + Math.floor(at / canvas.width) + 2];
        }})()""")
        return x, y

    def symbol(self) -> tuple[float, float]:
        """Where a symbol of the legend is in the window: nothing else has colours as far to the right."""
        x, y = self.ask(f"""(() => {{
          const canvas = document.querySelector('#chart-0 canvas'), box = canvas.getBoundingClientRect();
          const at = ({_COLOURED})().reduce((most, at) => at % canvas.width > most % canvas.width ? at : most);
          return [box.x + at % canvas.width - 2, box.y + Math.floor(at / canvas.width)];
        }})()""")
        return x, y

    def mouse(self, kind: str, x: float, y: float, **extra: object) -> None:
        """Move, press, release or turn the wheel."""
        self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **extra)

    def click(self, x: float, y: float) -> None:
        """Press and release the left button."""
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def key(self, name: str) -> None:
        """Press and release a key."""
        code = {"Tab": 9, "ArrowDown": 40}[name]
        for kind in ("rawKeyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def _call(self, method: str, **parameters: object) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._hear(answer)

    def _receive(self) -> Any:
        while b"\0" not in self._buffer:
            more = os.read(self._read, 1 << 20)
            assert more, "the browser closed the pipe"
            self._buffer += more
        first, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(first)

    def _hear(self, event: Any) -> None:
        method, said = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(said["message"])
            self._number += 1
            answer = {
                "id": self._number,
                "method": "Page.handleJavaScriptDialog",
                "params": {"accept": True},
                "sessionId": self._session,
            }
            os.write(self._write, json.dumps(answer).encode() + b"\0")
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(said["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning"):
            self.errors.append(" ".join(str(part.get("value", part.get("description"))) for part in said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] == "error":
            self.errors.append(said["entry"]["text"])
