"""The code of a model's file: what changes its digest, and what does not."""

from pathlib import Path

import pytest
from bench.measure.suites.source_digest import source_digest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model, with neighbours that it imports in every way, directly and not, and one that it does not import."""
    files = {
        "net.py": "import torch, deep.inner\nfrom blocks import Block\n\nclass Net: ...\n\ndef late():\n    import lazy\n",
        "blocks.py": "from deep import outer\nimport net\n",  # a circle
        "lazy.py": "x = 1\n",
        "stranger.py": "x = 1\n",
        "deep/__init__.py": "",
        "deep/inner.py": "from . import near\nfrom ..blocks import Block\nfrom .... import far\n",
        "deep/near.py": "not Python (\n",
        "deep/outer.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("net.py", True), ("blocks.py", True), ("lazy.py", True), ("deep/__init__.py", True), ("deep/inner.py", True),
        ("deep/near.py", True), ("deep/outer.py", True), ("stranger.py", False),
    ],
)  # fmt: skip
def test_whatever_it_imports_from_its_folder_counts(folder: Path, name: str, counts: bool) -> None:
    """By any way to write an import, wherever it stands; no other file does."""
    before = source_digest(f"{folder}/net.py:Net")

    (folder / name).write_text((folder / name).read_text() + "\n# changed\n")

    assert (source_digest(f"{folder}/net.py:Net") != before) is counts


def test_a_copy_elsewhere_is_the_same_code(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """So that machines that keep it in other places know each other's results; a file of another name is another."""
    copy = tmp_path_factory.mktemp("copy")
    for path in folder.rglob("*.py"):
        (copy / path.relative_to(folder)).parent.mkdir(exist_ok=True)
        (copy / path.relative_to(folder)).write_bytes(path.read_bytes())

    assert source_digest(f"{copy}/net.py:Net") == source_digest(f"{folder}/net.py:Net")
    assert source_digest(f"{copy}/lazy.py:Net") != source_digest(f"{copy}/stranger.py:Net")


def test_a_configuration_counts_as_it_is_and_a_package_by_its_version(tmp_path: Path) -> None:
    """Which the environment has; a file that is not there is nobody's code."""
    file = tmp_path / "bert.json"
    file.write_text("{}")
    before = source_digest(f"{file}:config")
    file.write_text('{"model_type": "bert"}')

    assert before != source_digest(f"{file}:config")
    assert source_digest("bench.measure.suites.builtin_models:Mlp") is None
