"""A property that is computed once, and that type checkers take for a property, as which `Form` declares it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    cached_property = property
else:
    from functools import cached_property

__all__ = ("cached_property",)
