"""XML documents read with care: no document type, so no entities but XML's own; bounded in depth and number of elements."""

import xml.etree.ElementTree as ET

from ..format import Part, encoding
from .document import MAX_DEPTH, BadRecord, read_bytes

MAX_ELEMENTS = 1_000_000  # each takes some hundred bytes, however short its text


class _Builder(ET.TreeBuilder):
    """Builds the tree as long as it is one we want."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = self._count = 0

    def doctype(self, *_: object) -> None:
        raise BadRecord(
            "declares a document type, which no results need, and which can name other files or fill memory"
        )

    def start(self, tag: str, attrs: dict[str, str], /) -> ET.Element:
        self._depth += 1
        self._count += 1
        if self._depth > MAX_DEPTH:
            raise BadRecord(f"nested deeper than {MAX_DEPTH} levels")
        if self._count > MAX_ELEMENTS:
            raise BadRecord(f"more than {MAX_ELEMENTS:,} elements")
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> ET.Element:
        self._depth -= 1
        return super().end(tag)


def read_xml(part: Part) -> ET.Element:
    """The root element of a file, in UTF-8, UTF-16 by its byte order mark, or the encoding that it declares.

    Raises:
        BadRecord: It is no XML, declares a document type, or is too much.
    """
    data = read_bytes(part)
    text: str | bytes
    try:
        text = data.decode(encoding(data))
    except UnicodeDecodeError:
        text = data  # the parser reads what it declares
    parser = ET.XMLParser(target=_Builder())
    try:
        parser.feed(text)
        root: ET.Element = parser.close()
    except (ET.ParseError, ValueError, LookupError) as error:
        raise BadRecord(f"not valid XML: {error}") from None
    return root
