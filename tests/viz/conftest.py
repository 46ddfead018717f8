"""The browser that pages are looked at with, and what renders images."""

from collections.abc import Iterator

import pytest
from bench.viz.output.render import Renderer

from .browser import Page


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """One Chromium for all tests of a module."""
    page = Page(tmp_path_factory.mktemp("profile"))
    yield page
    page.close()


@pytest.fixture(scope="session")
def renderer() -> Iterator[Renderer]:
    """One for all images."""
    pytest.importorskip("vl_convert")
    with Renderer() as renderer:
        yield renderer
