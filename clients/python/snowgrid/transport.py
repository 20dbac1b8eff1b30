"""Requests to /v1/grants over one connection that is kept open."""

from __future__ import annotations

import http.client
import io
import ipaddress
import json
import os
import selectors
import socket
import ssl
import time
import urllib.parse
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from .errors import RequestError

REPLY_MAX = 1 << 16  # bytes
RETRY_MAX = 3_600_000  # ms
PATH = "/v1/grants"
MEMBER = "member.snowgrid"  # the name in each certificate that a grid made


class Options(NamedTuple):
    """Where to send requests, and as whom."""

    addresses: Tuple[str, ...]
    token: Union[str, Callable[[], str], None]
    token_file: Optional[str]
    ca_file: Optional[str]
    cert_file: Optional[str]
    key_file: Optional[str]
    server_name: Optional[str]

    def bearer(self) -> Optional[str]:
        """Returns the present token."""
        if self.token_file is not None:
            with open(self.token_file, encoding="utf-8") as f:
                return f.read().strip()
        return self.token() if callable(self.token) else self.token

    def tls(self) -> ssl.SSLContext:
        """Reads the files of certificates and keys. Its errors name the file."""
        files = [f for f in (self.ca_file, self.cert_file, self.key_file) if f is not None]
        for file in files:
            with open(file, "rb"):  # the error of ssl for a file that cannot be read has no name
                pass
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
            if self.cert_file is not None:
                context.load_cert_chain(self.cert_file, self.key_file)
        except ssl.SSLError as e:
            raise ssl.SSLError(f"snowgrid: unusable PEM in {' or '.join(files)}: {e}") from e
        return context

    def verified_name(self, host: str) -> str:
        """Returns the name that the certificate of a host has to have."""
        name = self.server_name
        if name is None:
            name = "" if self.ca_file is None else MEMBER
        return name or host


def check_addresses(addresses: Sequence[str], insecure: bool) -> Tuple[str, ...]:
    """Returns base addresses in their short form. It raises ValueError for others."""
    if isinstance(addresses, str):
        addresses = [addresses]
    if not addresses:
        raise ValueError("snowgrid: addresses is empty; give at least one, as https://host:7948")
    for address in addresses:
        url = urllib.parse.urlsplit(address)
        if url.scheme not in ("http", "https") or not url.hostname or url.path.strip("/") \
                or url.query or url.fragment or url.username is not None:
            raise ValueError(
                f"snowgrid: the address {address!r} is no base address; write https://host:7948"
            )
        url.port  # raises ValueError
        if url.scheme == "http" and not insecure and not _loopback(url.hostname):
            raise ValueError(
                f"snowgrid: the address {address!r} is in clear text and not of this host; "
                "write https://, or give insecure=True"
            )
    return tuple(address.rstrip("/") for address in addresses)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Limit:
    """The time that is left for a request."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self, parts: int = 1) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("no reply in time")
        return left / parts


class _Reads(io.RawIOBase):
    """Reads of a socket that all end at the limit of the request."""

    def __init__(self, sock: socket.socket, limit: _Limit, owner: Any) -> None:
        self._sock, self._limit = sock, limit
        self._owner = owner  # keeps the socket open until the reply is read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(self._limit.left())
        return self._sock.recv_into(buffer)

    def close(self) -> None:
        super().close()
        self._owner.close()


class Transport:
    """Sends requests to one address, and after a failure to the next one. One call at a time.

    A process that was forked abandons the transport of its parent, and makes one of its own.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._index = 0
        self._connection: Optional[http.client.HTTPConnection] = None

    def call(self, method: str, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        """Returns the object of the reply, or raises RequestError; it ends within the time."""
        address = self._options.addresses[self._index % len(self._options.addresses)]
        try:
            status, text = self._exchange(address, method, body, _Limit(seconds))
            reply = _object(text)
            if status == 200 and reply is not None:
                return reply
            if reply is None or not isinstance(reply.get("code"), str):
                tls = status == 400 and address.startswith("http://")
                raise RequestError(
                    f"{address} answers {status} without a code; is it a member?"
                    + (" Write https:// if it speaks TLS" if tls else "")
                )
            after = reply.get("retry_after_ms")
            raise RequestError(
                f"{reply['code']}: {reply.get('message', '')}", reply["code"],
                min(after, RETRY_MAX) if type(after) is int and after > 0 else 0,
            )
        except RequestError:
            self.next_address()
            raise
        except Exception as e:  # also of a callable that returns the token
            self.next_address()
            late = isinstance(e, (TimeoutError, socket.timeout))
            reason = "no reply in time" if late else str(e) or repr(e)
            raise RequestError(f"{address}: {reason}") from e
        except BaseException:
            self.next_address()
            raise

    def next_address(self) -> None:
        """Closes the connection, and goes on to the next address."""
        self._index += 1
        self.close()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def abandon(self) -> None:
        """Closes the socket that a child process has from its parent, without a use of the objects
        around it: another thread of the parent may have held their locks at the fork."""
        sock = getattr(self._connection, "sock", None)
        if sock is not None:
            try:
                os.close(sock.detach())
            except OSError:
                pass

    def _exchange(
        self, address: str, method: str, body: Mapping[str, Any], limit: _Limit
    ) -> Tuple[int, bytes]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        token = self._options.bearer()
        if token:
            headers["Authorization"] = "Bearer " + token
        connection = self._connection
        if connection is None or connection.sock is None or _stale(connection.sock):
            self.close()
            connection = self._connection = self._connect(address, limit)
        sock = connection.sock
        sock.settimeout(limit.left())
        connection.request(method, PATH, json.dumps(body).encode(), headers)

        def response(sock: socket.socket, *args: Any, **kwargs: Any) -> http.client.HTTPResponse:
            made = http.client.HTTPResponse(sock, *args, **kwargs)
            made.fp = io.BufferedReader(_Reads(sock, limit, made.fp))
            return made

        connection.response_class = response  # type: ignore[assignment]
        reply = connection.getresponse()
        text = reply.read(REPLY_MAX + 1)
        if len(text) > REPLY_MAX:
            raise ValueError(f"the reply has more than {REPLY_MAX} bytes")
        reply.close()
        return reply.status, text

    def _connect(self, address: str, limit: _Limit) -> http.client.HTTPConnection:
        url = urllib.parse.urlsplit(address)
        host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
        targets = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for i, target in enumerate(targets):
            sock = socket.socket(*target[:3])
            try:
                sock.settimeout(limit.left(len(targets) - i))
                sock.connect(target[4])
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if url.scheme == "https":
                    sock.settimeout(limit.left())
                    name = self._options.verified_name(host)
                    sock = self._options.tls().wrap_socket(sock, server_hostname=name)
                break
            except BaseException as e:
                sock.close()
                if i + 1 == len(targets) or not isinstance(e, OSError):
                    raise
        connection = http.client.HTTPConnection(host, port)
        connection.sock = sock
        return connection


def _stale(sock: socket.socket) -> bool:
    """Returns whether a connection without a request has something to read: its end."""
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(0))


def _object(text: bytes) -> Optional[Mapping[str, Any]]:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
