"""A site in a bucket: what differs is sent, the page last, and files of others are left alone."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.viz.publish import bucket
from bench.viz.publish.bucket import made_in, upload
from bench.viz.publish.folder import SiteFolder
from bench.warehouse.errors import BenchError
from bench.warehouse.remote.places import Bucket

from ...exhaustive import sampled
from ...object_server import ObjectServer

pytest.importorskip("obstore")
pytest.importorskip("moto")


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An empty prefix of a bucket on this machine."""
    server = ObjectServer()
    for name, value in {
        "AWS_ENDPOINT_URL": server.url, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    yield f"s3://bucket/{tmp_path.parent.name}/{tmp_path.name}/site"
    server.stop()


def send(url: str, text: str) -> str:
    """Make and send a small site whose data are these."""
    site = SiteFolder.open(made_in(url))
    site.add(f"data/{text}.js", text.encode())
    site.put("index.html", f"page of {text}".encode())
    site.finish()
    return upload(site.root, site.files, url)


def test_a_bucket_has_the_newest_site_and_nothing_else(url: str) -> None:
    """Data that are there are not sent again, old ones go, and a browser is told what each file is."""
    send(url, "one")
    sent = send(url, "two")
    there = Bucket(url)
    before = [entry.modified_at for entry in there.list("")]
    again = send(url, "two")

    assert sorted(entry.name for entry in there.list("")) == ["data/two.js", "index.html", "site.json"]
    assert there.read("index.html") == b"page of two"
    assert sent.startswith("sent 2 files") and again == f"{url} has this site already"
    assert [entry.modified_at for entry in there.list("")] == before
    import obstore

    assert obstore.get(there.store, "index.html").attributes["Content-Type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("puts", sampled(range(5), 1, 3))
def test_an_interrupted_upload_leaves_the_old_site(url: str, puts: int) -> None:
    """The page in the bucket finds its data whenever it ends; the next site takes away what the interrupted one brought."""
    put, sent = bucket._put, list[str]()

    def failing(*arguments: Any) -> None:
        if len(sent) == puts:
            raise KeyboardInterrupt
        sent.append(arguments[1])
        put(*arguments)

    send(url, "one")
    with pytest.MonkeyPatch.context() as patched, contextlib.suppress(KeyboardInterrupt):
        patched.setattr(bucket, "_put", failing)
        send(url, "two")
    there = Bucket(url)
    page = there.read("index.html").decode().removeprefix("page of ")
    assert page == ("two" if "index.html" in sent else "one")
    assert there.read(f"data/{page}.js") == page.encode()

    for text in ("three", "one"):
        send(url, text)
        assert sorted(entry.name for entry in there.list("")) == [f"data/{text}.js", "index.html", "site.json"]
        assert there.read("index.html").decode() == f"page of {text}"


def test_files_of_others_are_left_alone(url: str) -> None:
    """A prefix that holds something else is refused, and a list that names it is not followed out of the prefix."""
    import obstore

    there, other = Bucket(url), url.replace("/site", "/other")
    obstore.put(there.store, "thesis", b"mine")
    with pytest.raises(BenchError, match="did not write"):
        send(url, "one")
    assert [entry.name for entry in there.list("")] == ["thesis"]

    listed = {"kind": "bench site", "files": {"../other/thesis": 4}}
    obstore.put(there.store, "site.json", json.dumps(listed).encode())
    obstore.put(Bucket(other).store, "thesis", b"mine")
    send(url, "one")
    assert Bucket(other).read("thesis") == b"mine"
