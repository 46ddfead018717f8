"""The browser that pages are looked at with."""

from collections.abc import Iterator

import pytest

from .browser import Page


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """One Chromium for all tests of a module."""
    page = Page(tmp_path_factory.mktemp("profile"))
    yield page
    page.close()
