"""Object stores: their addresses, how to connect to one, when to ask again, and what to say where that is no use."""

import contextlib
import ipaddress
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from ..errors import BenchError, Missing, MissingExtra, PlaceError

if TYPE_CHECKING:
    from obstore.store import ObjectStore, RetryConfig

SCHEMES = {"s3": "AWS", "gs": "GOOGLE", "az": "AZURE"}  # and what the variables of each begin with
RETRY: "RetryConfig" = {  # throttling, resets, servers that restart; who is not there in 20 seconds is away
    "max_retries": 5,
    "retry_timeout": timedelta(seconds=20),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=3), "base": 2},
}
AGAIN = (0.05, 0.2, 0.8)  # seconds before what obstore does not repeat is
WAIT = {"connect_timeout": "5s", "read_timeout": "20s", "timeout": "120s"}

ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
ENDPOINT = re.compile(r"https?://(\[.+\]|[\w.-]+)(?::(\d{1,5}))?(/[\w.~!$&'()*+,;=:%/-]*)?", re.ASCII | re.IGNORECASE)
NUMBER = re.compile(r"(.*\.)?(\d+|0x[\da-f]*)\.?", re.IGNORECASE)  # a host that ends in one is read as an address

T = TypeVar("T")


def clean_url(url: str) -> str:
    """The address of a remote store, as it may be shown to anyone: `s3://bucket/prefix`.

    Raises:
        BenchError: It is none, or holds a credential; the message repeats neither credential nor query.
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # it says what is wrong with brackets, and repeats what is between them
        raise BenchError("the address of the store is invalid. Write it as s3://bucket/prefix.") from None
    if parts.scheme not in SCHEMES:
        raise BenchError(
            f"{parts.scheme}://… is not a store: give a folder, or {', '.join(f'{s}://bucket/prefix' for s in SCHEMES)}."
        )
    if "@" in url or ":" in parts.netloc or parts.query or parts.fragment:
        raise BenchError(
            f"the address of the store, {parts.scheme}://…, holds more than bucket and prefix. Credentials come from the "
            f"environment, such as {SCHEMES[parts.scheme]}_… variables, never from the address, which is recorded and shown."
        )
    folders = [part for part in parts.path.split("/") if part]
    if not parts.netloc or ".." in folders or "." in folders:
        raise BenchError(f"{url} names no bucket and prefix: write {parts.scheme}://bucket/prefix.")
    return "/".join([f"{parts.scheme}://{parts.netloc}", *folders])


def connect(url: str) -> "ObjectStore":
    """A client for an address; credentials are found where such tools look.

    Raises:
        MissingExtra: obstore is not installed.
        PlaceError: The settings of the environment do not fit.
    """
    if _forked:
        raise PlaceError(f"{url} cannot be used by a process forked from one that used an object store already.")
    try:
        from obstore.store import from_url
    except ImportError:
        raise MissingExtra("obstore", "object") from None
    scheme = url.partition(":")[0]
    options: Any = {"client_options": WAIT, "retry_config": RETRY}
    if scheme == "s3":
        given = {name: os.environ[name] for name in ENDPOINTS if os.environ.get(name)}
        for name, endpoint in given.items():
            _check_endpoint(url, name, endpoint)
        endpoint = next(iter(given.values()), "")
        options["client_options"] = {**WAIT, "allow_http": endpoint.startswith("http://")}
        if provider := _profile(url):
            options["credential_provider"] = provider
    with explained(url):
        return from_url(url, **options)


def _check_endpoint(url: str, name: str, endpoint: str) -> None:
    """Refuse what is no address: obstore panics on it. What was written is not repeated, it may hold a credential."""
    match = ENDPOINT.fullmatch(endpoint)
    try:
        if match is None or not 0 < int(match[2] or 1) < 1 << 16:
            raise ValueError
        if match[1].startswith("["):
            ipaddress.IPv6Address(match[1][1:-1])
        elif NUMBER.fullmatch(match[1]):
            ipaddress.IPv4Address(match[1])
        else:
            match[1].encode().decode("idna")
    except ValueError:
        login = " without a login, which belongs into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" * ("@" in endpoint)
        raise PlaceError(
            f"{url}: the endpoint ({name}) is not an address. Write it as https://host:port{login}."
        ) from None


_forked = False  # with obstore in use: its threads stayed with the parent, and whoever calls it waits for ever


def _after_fork() -> None:
    global _forked
    _forked = _forked or "obstore" in sys.modules


os.register_at_fork(after_in_child=_after_fork)


def _profile(url: str) -> Any:
    """Credentials of an AWS profile, where the environment has none of its own and boto3 is there to read it."""
    named, folder = os.environ.get("AWS_PROFILE"), Path.home() / ".aws"
    if "AWS_ACCESS_KEY_ID" in os.environ or not (
        named or (folder / "credentials").exists() or (folder / "config").exists()
    ):
        return None
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider

        return Boto3CredentialProvider()
    except Exception as error:
        if not named:  # what obstore finds without a profile decides
            return None
        why = "needs boto3: pip install boto3" if isinstance(error, ImportError) else "gives no credentials"
        raise PlaceError(f"{url}: the profile {named!r} (AWS_PROFILE) {why}.") from None


@contextlib.contextmanager
def explained(url: str, name: str = "") -> Iterator[None]:
    """Say what went wrong without what the server sent, which may repeat keys and signatures."""
    from obstore.exceptions import BaseError

    try:
        yield
    except FileNotFoundError as error:
        if "NoSuchBucket" in str(error):
            raise PlaceError(_reason(url, str(error))) from None
        raise Missing(f"{url} holds no {name}") from None
    except (BaseError, ValueError) as error:
        raise PlaceError(_reason(url, str(error))) from None
    except OSError as error:
        raise PlaceError(f"cannot copy {url}/{name}: {error.strerror or type(error).__name__}.") from None


def _reason(url: str, text: str) -> str:
    """The message of an error: the likely cause and its cure."""
    variables = SCHEMES[url.partition(":")[0]]
    code = "".join(re.findall(r"<Code>(\w+)</Code>", text)[:1])
    status = "".join(re.findall(r"status code: (\d{3})", text)[:1])
    problem = code or status
    if said_path := re.search(r'invalid path: .*?Path ("[^\n]*?")( contain|:)', text):
        return f"{url} holds a name that no store gives: {said_path[1][:160]!a}. Delete it."
    if code in ("NoSuchBucket", "ContainerNotFound"):
        return (
            f"{url}: there is no such bucket. Create it, or check its name and the endpoint ({variables}_… variables)."
        )
    if status in ("401", "403") or (not status and re.search("credential|token|metadata", text, re.IGNORECASE)):
        return (
            f"{url}: access is denied{f' ({problem})' if problem else ', no credentials were found'}. "
            f"Give credentials by {variables}_… variables{', or a profile (with boto3 installed)' if variables == 'AWS' else ''}."
        )
    if status in ("429", "503"):
        return f"{url}: the server is overloaded ({problem}). Try again later."
    if status:
        return f"{url}: the server refused ({problem}). Check the region and the endpoint ({variables}_… variables)."
    if "error sending request" in text or "timed out" in text:
        return f"{url} cannot be reached. Check the network and the endpoint ({variables}_… variables)."
    first = re.sub(r"https?://\S+|\?\S+", "…", text.partition("\n")[0])
    return f"{url}: {''.join(c if c.isprintable() else '�' for c in first[:160])}"


def repeat(call: Callable[[], T]) -> T:
    """Ask again where obstore does not: after a reset of what may have been done, and an answer that broke off."""
    from obstore.exceptions import GenericError

    pauses = iter(AGAIN)
    while True:
        try:
            return call()
        except GenericError as error:
            wait(error, pauses)


def wait(error: Exception, pauses: Iterator[float]) -> None:
    """Pause before the next attempt; raises the error if there is none, an answer, or obstore made some already."""
    pause = next(pauses, None)
    if pause is None or "status code" in str(error) or " retries, " in str(error):
        raise error
    time.sleep(pause)
