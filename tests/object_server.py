"""An S3 server on loopback for tests, behind a proxy that does what networks and servers do on bad days."""

import contextlib
import http.client
import http.server
import logging
import socket
import struct
import threading
import time
import urllib.request
from collections.abc import Callable

Fault = Callable[[str, str, int], str | None]  # method, path and number of a request -> what goes wrong with it


class ObjectServer:
    """moto's server and the proxy; `fault` says what goes wrong:

    throttle    503 SlowDown, and nothing is done
    deny        403 that repeats the key, as S3 does
    refuse      400, for good
    reset       the connection is reset while the request is sent
    lost        the request is done, and the connection reset before the answer
    truncate    the connection ends in the middle of the answer
    shorten     the answer is half of the file, and says that it is all
    delay       the answer takes a while
    """

    def __init__(self) -> None:
        from moto.server import ThreadedMotoServer

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._moto.start()
        self.behind = self._moto.get_host_and_port()
        self.fault: Fault | None = None
        self.requests = 0
        self.writing = threading.Lock()  # S3 lets one of two create a file; moto looks and writes apart, and lets both
        handler = type("Handler", (_Handler,), {"owner": self})
        self._proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._proxy.daemon_threads = True
        threading.Thread(target=self._proxy.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._proxy.server_port}"
        self.raw("PUT", "/bucket")

    def raw(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Send a request past the proxy and past any client's ideas of a good name."""
        host, port = self.behind
        request = urllib.request.Request(f"http://{host}:{port}{path}", method=method, data=body or None)
        request.add_header("Authorization", "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/s3/aws4_request")
        request.add_header("Content-Type", "application/octet-stream")
        with urllib.request.urlopen(request) as answer:
            content: bytes = answer.read()
        return content

    def stop(self) -> None:
        self._proxy.shutdown()
        self._proxy.server_close()
        self._moto.stop()


class _Handler(http.server.BaseHTTPRequestHandler):
    owner: ObjectServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two packets, and the second would wait

    def _handle(self) -> None:
        self.owner.requests += 1
        fault = self.owner.fault
        wrong = fault(self.command, self.path, self.owner.requests) if fault else None
        if wrong == "reset":
            self.rfile.read(int(self.headers.get("Content-Length") or 0) // 2)
            return self._hang_up()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if wrong in ("throttle", "deny", "refuse"):
            status, code = {"throttle": (503, "SlowDown"), "deny": (403, "InvalidAccessKeyId"), "refuse": (400, "Odd")}[
                wrong
            ]
            key = self.headers.get("Authorization", "")
            return self._answer(status, [], f"<Error><Code>{code}</Code><Key>{key}</Key></Error>".encode())
        with self.owner.writing if self.command == "PUT" else contextlib.nullcontext():
            upstream = http.client.HTTPConnection(*self.owner.behind)
            upstream.request(self.command, self.path, body, dict(self.headers))
            answer = upstream.getresponse()
            content = answer.read()
            upstream.close()
        if wrong == "lost":
            return self._hang_up()
        if wrong == "delay":
            time.sleep(0.1)
        if wrong == "shorten" and self.command == "GET":
            content = content[: len(content) // 2]
        return self._answer(answer.status, answer.getheaders(), content, half=wrong == "truncate")

    do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _handle  # noqa: N815

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes, half: bool = False) -> None:
        self.send_response_only(status)
        length = str(len(content))
        for name, value in headers:
            if name.lower() == "content-length" and self.command == "HEAD":
                length = value
            elif name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[: len(content) // 2] if half else content)
        if half:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def finish(self) -> None:
        with contextlib.suppress(OSError):  # hung up on
            super().finish()

    def log_message(self, *_: object) -> None:
        pass
