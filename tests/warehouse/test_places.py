"""Places: a folder and a bucket keep the same promises, and their errors name the cause and no secret."""

import errno
import hashlib
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from bench.warehouse.errors import BenchError, Missing, MissingExtra, PlaceError
from bench.warehouse.remote.object_store import clean_url
from bench.warehouse.remote.places import Bucket, DamagedFile, Folder, Place, digest_of

from ..object_server import ObjectServer
from .conftest import SECRET


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Folder(tmp_path / "place") if request.param == "folder" else Bucket(request.getfixturevalue("url"))


@pytest.fixture
def file(tmp_path: Path) -> Callable[[bytes], tuple[Path, str]]:
    """A file with this content, and the name the log would give it."""

    def make(content: bytes) -> tuple[Path, str]:
        path = tmp_path / "file"
        path.write_bytes(content)
        return path, f"events/timings/a-{hashlib.sha256(content).hexdigest()[:16]}.parquet"

    return make


def test_what_is_put_is_listed_and_comes_out_the_same(
    place: Place, tmp_path: Path, file: Callable[[bytes], tuple[Path, str]]
) -> None:
    """Name, size and content; the end of it by itself."""
    path, name = file(b"0123456789")
    place.put(path, name)
    place.get(name, tmp_path / "a" / "out")

    assert [(entry.name, entry.size_bytes) for entry in place.list("events")] == [(name, 10)]
    assert place.stat(name) == next(place.list("events/timings"))
    assert (tmp_path / "a" / "out").read_bytes() == place.read(name) == b"0123456789"
    assert place.read(name, last=3) == b"789" and place.read(name, last=99) == b"0123456789"


def test_what_is_touched_is_newer_and_stays_what_it_is(place: Place) -> None:
    """The heartbeat of a claim; one that is gone does not come back."""
    place.create("claims/a", b"mine")
    made = place.stat("claims/a")
    assert made
    newer = made
    while newer.modified_at <= made.modified_at:  # some servers count seconds
        place.touch("claims/a")
        newer = place.stat("claims/a") or made
    assert place.read("claims/a") == b"mine"

    place.delete("claims/a")
    with pytest.raises(Missing):
        place.touch("claims/a")
    assert place.stat("claims/a") is None


@pytest.mark.exhaustive
def test_a_large_file_goes_in_parts(place: Place, tmp_path: Path) -> None:
    """And is as whole, and is not uploaded a second time."""
    content = os.urandom(17 << 20)
    (tmp_path / "file").write_bytes(content)
    for _ in range(2):
        place.put(tmp_path / "file", "artefacts/run/trace")
    place.get("artefacts/run/trace", tmp_path / "out")

    assert (tmp_path / "out").read_bytes() == content


def test_a_listing_goes_on_after_a_name(place: Place) -> None:
    """In the order of names, also of those below folders; of what is not there nothing."""
    for name in ("uploads/b", "uploads/a", "uploads/c/d", "uploaded"):
        place.create(name, b"")

    assert [entry.name for entry in place.list("uploads")] == ["uploads/a", "uploads/b", "uploads/c/d"]
    assert [entry.name for entry in place.list("uploads", after="uploads/a")] == ["uploads/b", "uploads/c/d"]
    assert list(place.list("nothing")) == []


def test_what_is_there_is_never_overwritten(place: Place, tmp_path: Path) -> None:
    """The same size is the same file; another size is an error that names both."""
    path = tmp_path / "file"
    path.write_bytes(b"first")
    place.put(path, "artefacts/run/log")
    path.write_bytes(b"other")
    place.put(path, "artefacts/run/log")
    assert place.read("artefacts/run/log") == b"first"

    path.write_bytes(b"longer than that")
    with pytest.raises(DamagedFile, match=r"log has 5 bytes, .*file has 16"):
        place.put(path, "artefacts/run/log")


def test_a_damaged_file_gets_neither_in_nor_out(
    place: Place, tmp_path: Path, file: Callable[[bytes], tuple[Path, str]]
) -> None:
    """Its content is compared with the checksum in its name, and nothing is left of the attempt."""
    path, name = file(b"whole")
    path.write_bytes(b"holed")
    with pytest.raises(DamagedFile, match="is damaged"):
        place.put(path, name)
    assert place.stat(name) is None

    place.create(name, b"holed")
    with pytest.raises(DamagedFile, match=f"{name} is damaged"):
        place.get(name, tmp_path / "out" / "file")
    assert list((tmp_path / "out").iterdir()) == []


def test_of_many_who_create_a_file_one_succeeds(place: Place) -> None:
    """The content says who."""
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda n: place.create("claims/cell", str(n).encode()), range(8)))

    assert sum(won) == 1
    assert place.read("claims/cell") == str(won.index(True)).encode()


def test_what_is_missing_is_an_error_and_deleting_it_none(place: Place, tmp_path: Path) -> None:
    """The error names the place and the file."""
    with pytest.raises(Missing, match="holds no events/x"):
        place.read("events/x")
    with pytest.raises(Missing, match="holds no events/x"):
        place.get("events/x", tmp_path / "x")
    place.create("events/x", b"")
    place.delete("events/x")
    place.delete("events/x")

    assert place.stat("events/x") is None


def test_an_answer_that_was_lost_is_no_claim_of_another(url: str, server: ObjectServer) -> None:
    """The client asks again and is told the file is there; the content says it is its own."""
    lost = iter(["lost"])
    server.fault = lambda method, path, number: next(lost, None) if method == "PUT" else None

    assert Bucket(url).create("claims/cell", b"mine")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("deny", r"access is denied \(InvalidAccessKeyId\).*AWS_"),
        ("throttle", r"overloaded \(SlowDown\)"),
        ("refuse", r"refused \(Odd\).*region"),
        ("reset", "cannot be reached"),
    ],
)
def test_an_error_names_the_cause_and_the_cure_and_no_key(
    fault: str, said: str, url: str, server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers repeat keys and signatures in what they answer."""
    server.fault = lambda method, path, number: fault
    with pytest.raises(PlaceError, match=said) as error:
        list(Bucket(url).list("events"))

    assert str(error.value).startswith(url)
    assert "AKIA" not in str(error.value) and "Signature" not in str(error.value)


def test_a_bucket_that_is_not_there_is_said(server: ObjectServer, tmp_path: Path) -> None:
    """Whatever is asked of it."""
    bucket = Bucket("s3://nowhere/x")
    for ask in (lambda: list(bucket.list("events")), lambda: bucket.create("x", b"")):
        with pytest.raises(PlaceError, match=r"s3://nowhere/x: there is no such bucket\. Create it"):
            ask()


def test_a_name_that_no_store_gives_is_said(url: str, server: ObjectServer) -> None:
    """No client can use it, so a listing that holds it ends there."""
    server.raw("PUT", f"/{url.removeprefix('s3://')}/events/timings/../x", b"x")
    with pytest.raises(PlaceError, match=r"holds a name that no store gives: .*timings/\.\./x.* Delete it"):
        list(Bucket(url).list("events"))


def test_a_profile_that_gives_nothing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment names it; a search elsewhere would take long."""
    pytest.importorskip("obstore")
    pytest.importorskip("boto3")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setenv("AWS_PROFILE", "none")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(PlaceError, match=r"profile 'none' \(AWS_PROFILE\) gives no credentials"):
        Bucket("s3://bucket/x")


def test_without_obstore_the_install_line_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else of bench needs it."""
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(MissingExtra, match=r"bench-warehouse\[object\]"):
        Bucket("s3://bucket/x")


@pytest.mark.parametrize(
    "address", [f"s3://key:{SECRET}@bucket/x", f"s3://bucket/x?X-Amz-Signature={SECRET}", f"az://c/x#{SECRET}"]
)
def test_an_address_with_a_credential_is_refused(address: str) -> None:
    """And not repeated."""
    with pytest.raises(BenchError, match="Credentials come from the environment") as error:
        clean_url(address)

    assert SECRET not in str(error.value)


def test_a_full_disk_is_named_where_it_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the file that was read."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "file").write_text("x")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(PlaceError, match=f"cannot use {tmp_path}/there/file: No space left on device. Free some space"):
        Folder(tmp_path).get("file", tmp_path / "there" / "file")


def test_an_endpoint_that_is_no_address_is_an_error(server: ObjectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client would panic; what was written is not repeated."""
    wrong = (
        SECRET, "http://", "http://a b", "http://:80", "http://a:b", "http://[::1", "http://a:99999", "http://a:0",
        "http://[1:2]:80", "http://[::1]x", "http://1.2.3.999", "http://256", "http://xn--a", "http://a/?b", 'http://a/"',
        f"http://{SECRET}@a", "http://a\n", "ftp://a", "a:80",
    )  # fmt: skip
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"):
        for endpoint in wrong:
            monkeypatch.setenv(name, endpoint)
            with pytest.raises(PlaceError, match=rf"\({name}\) is not an address\. Write it as https") as error:
                Bucket("s3://bucket/x")
            assert SECRET not in str(error.value)
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    "endpoint",
    ["http://localhost:9000", "HTTPS://s3.my_host.de./a/b", "http://[::1]:9000", "http://10.0.0.1", "http://xn--p1ai"],
)
def test_an_endpoint_may_be_any_address(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, numbers of both kinds, a path."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)

    assert Bucket("s3://bucket/x").url == "s3://bucket/x"


def test_an_address_is_bucket_and_prefix() -> None:
    """Slashes too many are dropped; what is no address says what one looks like."""
    assert clean_url("gs://bucket//a/b/") == "gs://bucket/a/b"
    for address in ("http://host/x", "s3://", "s3:///x", "s3://bucket/../x", "s3://[x"):
        with pytest.raises(BenchError, match="s3://bucket/prefix"):
            clean_url(address)


def test_only_files_of_the_log_have_a_checksum_in_their_names() -> None:
    """An artefact may be called as it likes."""
    assert digest_of("events/timings/a-0123456789abcdef.parquet") == "0123456789abcdef"
    assert digest_of("artefacts/r/a-0123456789abcdef.parquet") is None
    assert digest_of("events/timings/a.parquet") is None
