"""Sealing: the rows of a journal become Parquet files of the log, a part at a time.

A run that is left open is sealed while the interpreter ends. No module may be imported then that registers something to be
done at the end, or starts a thread. pandas is one, and `pa.array`, `pa.scalar` and `pa.repeat` of a Python value import it
where it is installed. So arrays are made here of their buffers, by `arrow_numbers` and `arrow_texts`.

A journal has each text once, and so has a dictionary of Arrow. Texts stay numbers all the way: Arrow's writer would otherwise
hash and compare the text of each row, which took a third of the time.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from . import schema
from .events import TABLES, ScheduleChunk
from .files import make_folder
from .journal import TYPES, Layout
from .journals.parts import Unreadable
from .journals.reader import Contents, DecodedRows, FieldValues, is_absent
from .journals.records import FEWEST_ALIKE

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

ROWS_TOGETHER = 100_000  # in a row group
DICTIONARY_BYTES = 1 << 20  # Arrow's own limit
NO_TEXT = -1  # instead of a text's place

Publish = Callable[[Path, Path, str], Path]  # `log.publish`


def seal_journal(contents: Contents, events: Path, stem: str, publish: Publish) -> None:
    """Write what a journal holds as files of the log, one for each table.

    File names begin with the stem. Rows that such files have already, because sealing was broken off or the journal went on,
    are not written again. Damage that is found while the journal is read is added to its `damage`.

    Raises:
        Unreadable: It is of a newer bench, which has more tables.
    """
    for layout in contents.layouts:
        if layout.table not in TABLES:
            raise Unreadable(f"holds table {layout.table!r}, which this bench does not know. Update bench to seal it.")
    texts = _Texts(contents.strings)
    with contextlib.ExitStack() as stack:
        files: dict[str, _TableFile] = {}
        for part in contents.parts():
            texts.update()
            for table in dict.fromkeys(rows.layout.table for rows in part):
                if table not in files:
                    layouts = [layout for layout in contents.layouts if layout.table == table]
                    files[table] = stack.enter_context(
                        _TableFile(events / table, stem, layouts[0], contents.header, texts)
                    )
                files[table].add([rows for rows in part if rows.layout.table == table])
        for file in files.values():
            file.finish(publish)


class _Texts:
    """The strings of a journal: each text has a place, which it keeps when others come."""

    def __init__(self, strings: Mapping[int, str]) -> None:
        import numpy as np

        self._strings = strings
        self._texts: list[str] = []  # by place
        self._place_of: dict[str, int] = {}
        self._count = 0  # of the strings that have a place
        self._places = np.zeros(0, np.int32)  # by the number of the string
        self.update()

    def update(self) -> None:
        """Take in what was defined since."""
        import numpy as np

        new = dict(itertools.islice(self._strings.items(), self._count, None))
        if new:
            self._count += len(new)
            places = np.full(max(len(self._places), max(new) + 1), NO_TEXT, np.int32)
            places[: len(self._places)] = self._places
            places[list(new)] = [self._place_of.setdefault(text, len(self._place_of)) for text in new.values()]
            self._places, self._texts = places, list(self._place_of)

    def places(self, numbers: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """The places of these strings."""
        return self._places.take(numbers)

    def at(self, places: "np.ndarray[Any, Any]") -> "pa.Array":
        """The texts at these places."""
        return arrow_texts([self._texts[place] for place in places.tolist()])

    def encode(self, places: "np.ndarray[Any, Any]") -> "pa.DictionaryArray":
        """The texts at these places, NULL where there is none; the dictionary has only those that occur."""
        import numpy as np
        import pyarrow as pa

        least, most = places.min(), places.max()
        if least == most:  # as in most columns
            codes, used = np.zeros(len(places), np.int32), places[:1][places[:1] != NO_TEXT]
        else:
            occurs = np.bincount(places + 1, minlength=len(self._texts) + 1)[1:] > 0
            codes, used = (occurs.cumsum(dtype=np.int32) - 1).take(places, mode="wrap"), np.flatnonzero(occurs)
        indices = arrow_numbers(codes, places == NO_TEXT if least == NO_TEXT else None)
        return pa.DictionaryArray.from_arrays(indices, self.at(used), safe=False)


class _TableFile:
    """One table's file on its way into the log."""

    def __init__(self, folder: Path, stem: str, layout: Layout, header: Mapping[str, Any], texts: _Texts) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        event = TABLES[layout.table]
        wanted = schema.arrow_schema(event)
        for name, code, _ in layout.fields:  # columns that only a newer bench knows are kept for it
            if name not in wanted.names:
                wanted = wanted.append(pa.field(name, schema.arrow_type(TYPES[code])))
        about = {**schema.metadata(event), "bench.version": str(layout.version)}
        self._schema = wanted.with_metadata(about)
        constants = ("run_id", "writer") if event is ScheduleChunk else ("run_id",)
        self._constants = {name: arrow_texts([header[name]]) for name in constants}
        self._texts = texts
        own = [field for field in wanted if field.name not in self._constants]
        places = pa.int32()  # of texts
        self._rows = pa.schema([field.with_type(places) if pa.types.is_string(field.type) else field for field in own])
        self._nulls: dict[pa.DataType, pa.Array] = {}
        self._folder, self._stem = folder, stem
        self._temporary = folder / f".{stem}.tmp"
        there = folder.glob(f"{stem}-*.parquet")
        self._known = sum(pq.read_metadata(path).num_rows for path in there)
        self._pending: list[pa.Table] = []
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
        self._temporary.unlink(missing_ok=True)

    def add(self, shapes: Sequence[DecodedRows]) -> None:
        """Add the rows of a part, in the order written."""
        import pyarrow as pa

        table = pa.Table.from_batches([self._batch(rows) for rows in shapes], self._rows)
        if len(shapes) > 1:
            table = _in_order(table, [rows.places for rows in shapes])
        if self._known:
            skipped = min(self._known, table.num_rows)
            self._known -= skipped
            table = table.slice(skipped)
        self._pending.append(table)
        if sum(each.num_rows for each in self._pending) >= ROWS_TOGETHER:
            self._write()

    def finish(self, publish: Publish) -> None:
        """Put the file into the log, if it has rows."""
        self._write()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            publish(self._temporary, self._folder, self._stem)

    def _write(self) -> None:
        import pyarrow as pa

        rows = pa.concat_tables(self._pending) if self._pending else None
        self._pending = []
        if rows is None or not rows.num_rows:
            return
        for begin in range(0, rows.num_rows, schema.ROWS_IN_GROUP):
            columns = self._columns(rows.slice(begin, schema.ROWS_IN_GROUP))
            if self._writer is None:
                self._writer = self._open(columns)
            wanted = self._writer.schema
            together = zip(columns, wanted.types, strict=True)
            columns = [each if each.type == kind else each.dictionary_decode() for each, kind in together]
            self._writer.write_table(pa.table(columns, wanted), schema.ROWS_IN_GROUP)

    def _open(self, columns: "Sequence[pa.Array | pa.ChunkedArray]") -> "pq.ParquetWriter":
        """The writer of the file. As Arrow's own, a dictionary that is large is none: here that of the first rows decides."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        make_folder(self._folder)
        coded = [
            field.with_type(column.type)
            if pa.types.is_dictionary(column.type) and column.dictionary.nbytes < DICTIONARY_BYTES
            else field
            for field, column in zip(self._schema, columns, strict=True)
        ]
        wanted = pa.schema(coded, self._schema.metadata)
        # Few batches take less time; only at the end of one it looks whether a dictionary that it made has become large.
        batch = None if pa.string() in wanted.types else schema.ROWS_IN_GROUP
        levels = {  # what no row has is not compressed, since that takes a state of zstd for each column and row group
            field.name: 1 for field, column in zip(wanted, columns, strict=True) if column.null_count < len(column)
        }
        methods = {field.name: "zstd" if field.name in levels else "none" for field in wanted}
        how: dict[str, Any] = {"compression": methods, "compression_level": levels, **schema.encodings(wanted)}
        writer = pq.ParquetWriter(self._temporary, wanted, write_batch_size=batch, **how)
        writer.add_key_value_metadata(schema.as_read(self._schema))
        return writer

    def _columns(self, rows: "pa.Table") -> "list[pa.Array | pa.ChunkedArray]":
        """The columns of the file, of rows whose texts are places: texts in dictionaries."""
        import numpy as np
        import pyarrow as pa

        columns: list[pa.Array | pa.ChunkedArray] = []
        for field in self._schema:
            if field.name in self._constants:
                codes = arrow_numbers(np.zeros(rows.num_rows, np.int32))
                columns.append(pa.DictionaryArray.from_arrays(codes, self._constants[field.name], safe=False))
            elif pa.types.is_string(field.type):
                places = [_numbers(chunk, np.int32) for chunk in rows.column(field.name).chunks]
                columns.append(self._texts.encode(np.concatenate(places)))
            else:
                columns.append(rows.column(field.name))
        return columns

    def _batch(self, rows: DecodedRows) -> "pa.RecordBatch":
        import pyarrow as pa

        arrays = [
            _array(rows.columns[field.name], field.type, self._texts)
            if field.name in rows.columns
            else self._null(field.type, len(rows.places))
            for field in self._rows
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._rows)

    def _null(self, kind: "pa.DataType", count: int) -> "pa.Array":
        """A column that no row has: a part of one that is made once, because most columns are so."""
        import numpy as np
        import pyarrow as pa

        if kind not in self._nulls or len(self._nulls[kind]) < count:
            is_place = kind == pa.int32()
            self._nulls[kind] = arrow_numbers(np.full(count, NO_TEXT, np.int32)) if is_place else pa.nulls(count, kind)
        return self._nulls[kind].slice(0, count)


def _in_order(table: "pa.Table", places: "Sequence[np.ndarray[Any, Any]]") -> "pa.Table":
    """The rows of some shapes, one shape after the other, in the order of their places."""
    import numpy as np
    import pyarrow as pa

    order = np.argsort(np.concatenate(places), kind="stable")
    begins = np.flatnonzero(np.diff(order, prepend=-2) != 1)
    if len(begins) * FEWEST_ALIKE > len(order):
        return table.take(arrow_numbers(order))
    lengths = np.diff(begins, append=len(order))  # of long stretches: put together without a copy
    return pa.concat_tables(map(table.slice, order[begins].tolist(), lengths.tolist()))


def _array(column: FieldValues, kind: "pa.DataType", texts: _Texts) -> "pa.Array":
    """A column as Arrow has it."""
    import numpy as np
    import pyarrow as pa

    values, code = column.values, column.code
    if column.counts is not None:
        ends = np.concatenate([[0], column.counts.cumsum()]).astype(np.int32)
        inner = texts.at(texts.places(values)) if code == "*I" else arrow_numbers(values.astype(np.int64))
        return pa.ListArray.from_arrays(arrow_numbers(ends), inner)
    if code == "I":
        return arrow_numbers(texts.places(values))
    if code == "?":
        bits = pa.py_buffer(np.packbits(values, bitorder="little"))
        return pa.Array.from_buffers(kind, len(values), [None, bits])
    if code == "n":
        return arrow_numbers(values // 1000).view(kind)
    return arrow_numbers(values, is_absent(values, code) if code in "QD" else None)


def arrow_numbers(values: "np.ndarray[Any, Any]", absent: "np.ndarray[Any, Any] | None" = None) -> "pa.Array":
    """An Arrow array of numpy's numbers, NULL where `absent` is true."""
    import numpy as np
    import pyarrow as pa

    valid = None if absent is None else pa.py_buffer(np.packbits(~absent, bitorder="little"))
    buffers = [valid, pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def _numbers(array: "pa.Array", kind: "type[np.generic]") -> "np.ndarray[Any, Any]":
    """The numbers of an Arrow array that has no NULL, not copied."""
    import numpy as np

    return np.frombuffer(array.buffers()[1], kind)[array.offset : array.offset + len(array)]


def arrow_texts(texts: Iterable[str]) -> "pa.Array":
    """An Arrow array of texts."""
    import numpy as np
    import pyarrow as pa

    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))
