"""A site in a bucket: what differs is sent, the page last, and files of others are left alone."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.viz.publish.bucket import made_in, upload
from bench.viz.publish.folder import SiteFolder
from bench.warehouse.errors import BenchError
from bench.warehouse.remote.places import Bucket

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
    again = send(url, "two")
    bucket = Bucket(url)

    assert sorted(entry.name for entry in bucket.list("")) == ["data/two.js", "index.html", "site.json"]
    assert bucket.read("index.html") == b"page of two"
    assert sent.startswith("sent 3 files") and again.startswith("sent 2 files")
    import obstore

    assert obstore.get(bucket.store, "index.html").attributes["Content-Type"] == "text/html; charset=utf-8"


def test_files_of_others_are_left_alone(url: str) -> None:
    """A prefix that holds something else is refused, and a list that names it is not followed out of the prefix."""
    import obstore

    bucket, other = Bucket(url), url.replace("/site", "/other")
    obstore.put(bucket.store, "thesis", b"mine")
    with pytest.raises(BenchError, match="did not write"):
        send(url, "one")
    assert [entry.name for entry in bucket.list("")] == ["thesis"]

    listed = {"kind": "bench site", "files": {"../other/thesis": 4}}
    obstore.put(bucket.store, "site.json", json.dumps(listed).encode())
    obstore.put(Bucket(other).store, "thesis", b"mine")
    send(url, "one")
    assert Bucket(other).read("thesis") == b"mine"
