"""Sealing: the rows of a journal become Parquet files of the log, a part at a time.

A run that is left open is sealed while the interpreter ends. No module may be imported then that registers something to be
done at the end, or starts a thread. pandas is one, and `pa.array`, `pa.scalar` and `pa.repeat` of a Python value import it
where it is installed. So arrays are made here of their buffers, by `arrow_numbers` and `arrow_texts`.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from . import schema
from .events import TABLES, ScheduleChunk
from .files import make_folder
from .journal import TYPES, Layout
from .journals.parts import Unreadable
from .journals.reader import Contents, DecodedRows, FieldValues, is_absent

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

ROWS_TOGETHER = 100_000  # in a row group
FEWEST_ALIKE = 64  # rows in a stretch, in the mean, that is no longer worth a copy

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
                    files[table] = stack.enter_context(_TableFile(events / table, stem, layouts[0], contents.header))
                files[table].add([rows for rows in part if rows.layout.table == table], texts)
        for file in files.values():
            file.finish(publish)


class _Texts:
    """The strings of a journal by their numbers, as Arrow has them."""

    def __init__(self, strings: Mapping[int, str]) -> None:
        self._strings = strings
        self._count = -1
        self.update()

    def update(self) -> None:
        """Take in what was defined since."""
        import numpy as np

        if len(self._strings) != self._count:
            self._count = len(self._strings)
            self._places = np.full(max(self._strings, default=0) + 1, -1)
            self._places[list(self._strings)] = np.arange(self._count)
            self._values = arrow_texts(self._strings.values())

    def take(self, numbers: "np.ndarray[Any, Any]") -> "pa.Array":
        """The strings of these numbers."""
        import pyarrow as pa

        if len(numbers) and numbers.min() == numbers.max():
            return pa.repeat(self._values[self._places[numbers[0]]], len(numbers))
        return self._values.take(arrow_numbers(self._places[numbers]))


class _TableFile:
    """One table's file on its way into the log."""

    def __init__(self, folder: Path, stem: str, layout: Layout, header: Mapping[str, Any]) -> None:
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
        self._constants = {name: arrow_texts([header[name]])[0] for name in constants}
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

    def add(self, shapes: Sequence[DecodedRows], texts: _Texts) -> None:
        """Add the rows of a part, in the order written."""
        import pyarrow as pa

        table = pa.Table.from_batches([self._batch(rows, texts) for rows in shapes], self._schema)
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
        import pyarrow.parquet as pq

        rows = pa.concat_tables(self._pending) if self._pending else None
        self._pending = []
        if rows is None or not rows.num_rows:
            return
        if self._writer is None:
            make_folder(self._folder)
            self._writer = pq.ParquetWriter(
                self._temporary, self._schema, compression="zstd", compression_level=1, **schema.encodings(self._schema)
            )
        self._writer.write_table(rows, schema.ROWS_IN_GROUP)

    def _batch(self, rows: DecodedRows, texts: _Texts) -> "pa.RecordBatch":
        import pyarrow as pa

        arrays = []
        for field in self._schema:
            if field.name in self._constants:
                arrays.append(pa.repeat(self._constants[field.name], len(rows.places)))
            elif field.name in rows.columns:
                arrays.append(_array(rows.columns[field.name], field.type, texts))
            else:
                arrays.append(pa.nulls(len(rows.places), field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


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
        inner = texts.take(values) if code == "*I" else arrow_numbers(values.astype(np.int64))
        return pa.ListArray.from_arrays(arrow_numbers(ends), inner)
    if code == "I":
        return texts.take(values)
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


def arrow_texts(texts: Iterable[str]) -> "pa.Array":
    """An Arrow array of texts."""
    import numpy as np
    import pyarrow as pa

    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))
