"""Parquet and CSV, read and written with pyarrow."""

from __future__ import annotations

import contextlib
import json
import os

from .. import create, from_arrow
from ..arrow import dated
from ..progress import hook_of
from .datasets import told_of_versions
from .places import path_of
from .report import Piece

# Where Parquet files that were made of arrays have the schema and the metadata of these.
SCHEMA_KEY = b"smalti.schema"
METADATA_KEY = b"smalti.metadata"
# Keys of the file's metadata that are for its readers.
OWN_KEYS = (SCHEMA_KEY, METADATA_KEY, b"ARROW:schema", b"pandas")
# So many rows go to a file at once.
BATCH_ROWS = 1 << 17


def dataset_of(uri, kind):
    """A file, or a folder of files, as a dataset of pyarrow."""
    import pyarrow.csv
    import pyarrow.dataset

    path = path_of(uri)
    if kind == "parquet":
        return pyarrow.dataset.dataset(path, format="parquet", partitioning="hive" if os.path.isdir(path) else None)
    is_tabbed = path.lower().endswith((".tsv", ".tsv.gz"))
    # Text alone that is quoted is text, whatever it looks like; what is empty and not quoted is missing.
    options = pyarrow.csv.ParseOptions(delimiter="\t" if is_tabbed else ",", newlines_in_values=True)
    convert = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    return pyarrow.dataset.dataset(path, format=pyarrow.dataset.CsvFileFormat(parse_options=options, convert_options=convert))


def plan_source(uri, kind, dims, losses):
    """What a file becomes: pieces, the columns that are taken, and the schema that smalti wrote into it, if it did."""
    import pyarrow as pa

    table = dataset_of(uri, kind)
    schema = table.schema
    own = (schema.metadata or {}).get(SCHEMA_KEY)
    kept = []
    for field in schema:
        where, kind_of = field.name, field.type
        value = kind_of.value_type if pa.types.is_dictionary(kind_of) else kind_of
        if not _can_be_kept(value):
            losses.lost(where, f"a column of type {kind_of}")
            continue
        kept.append(field.name)
        if field.metadata and own is None:
            names = [key.decode("utf-8", "replace") for key in field.metadata if key != b"PARQUET:field_id"]
            if names:
                losses.lost(where, f"metadata of the column: {', '.join(names)}")
        if pa.types.is_timestamp(kind_of) and kind_of.tz is not None:
            losses.changed(where, f"times of {kind_of.tz} become those of UTC, without a zone")
        elif pa.types.is_float16(kind_of):
            losses.changed(where, "half floats become float32")
        elif pa.types.is_dictionary(kind_of) and own is None:
            losses.changed(where, "a dictionary becomes an enumeration")
    missing = [name for name in dims or () if name not in kept]
    if missing:
        raise KeyError(f"there is no column {', '.join(map(repr, missing))} that can be a dimension; there are {', '.join(kept)}")
    for key in schema.metadata or {}:
        if key not in OWN_KEYS:
            losses.changed(".", f"metadata {key.decode('utf-8', 'replace')!r} of the file becomes metadata of the array")
    if own is None and not dims:
        losses.changed(".", "rows are numbered by a dimension 'row'; name columns with --dims to find cells by them")
    if kind == "csv":
        losses.changed(".", "types are those that the first lines show; a value that does not fit is refused with its line")
    rows = table.count_rows() if kind == "parquet" else None
    told = ", ".join(f"{name}: {schema.field(name).type}" for name in kept)
    is_dense = own is not None and json.loads(own).get("array_type") == "dense"
    piece = Piece("", "dense array" if is_dense else "sparse array", told, None if rows is None else (rows,), None)
    return [piece], kept, own


def _can_be_kept(kind):
    import pyarrow as pa

    of = pa.types
    if of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind):
        return _is_number(kind.value_type)
    refused = (of.is_struct, of.is_map, of.is_union, of.is_decimal, of.is_interval, of.is_null, of.is_list_view, of.is_large_list_view)
    return not any(check(kind) for check in refused)


def _is_number(kind):
    import pyarrow as pa

    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)


def convert(uri, kind, target, dims, progress, options):
    """Makes an array of a file."""
    from .report import Losses

    _, kept, own = plan_source(uri, kind, dims, Losses())
    table = dataset_of(uri, kind)
    reader = table.scanner(columns=kept, batch_size=BATCH_ROWS).to_reader()
    if own is not None and not dims:
        array = create(target, schema=json.loads(own), **options)
        array.write(reader, progress=progress)
    else:
        array = from_arrow(target, reader, dims=list(dims or ()), progress=progress, **options)
    told = table.schema.metadata or {}
    meta = {key.decode(): value.decode("utf-8", "replace") for key, value in told.items() if key not in OWN_KEYS}
    if meta:
        array.meta.update(meta)
    if METADATA_KEY in told:
        array.meta.restore(json.loads(told[METADATA_KEY]))
    array.close()


def plan_target(array, kind, losses):
    """What an array becomes as a file."""
    import pyarrow as pa

    told_of_versions(array, ".", losses)
    schema = _schema_of(array)
    if kind == "csv":
        for field in schema:
            value = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            if _is_list(value):
                losses.changed(field.name, "lists become JSON text")
            elif pa.types.is_binary(value) or pa.types.is_large_binary(value) or pa.types.is_fixed_size_binary(value):
                losses.changed(field.name, "bytes become hexadecimal digits")
            elif pa.types.is_duration(value):
                losses.changed(field.name, f"durations become numbers of {value.unit}")
            if pa.types.is_dictionary(field.type):
                losses.lost(field.name, "the labels that no cell has, and their codes")
        losses.lost(".", "types, domains and tiles: the file has text alone")
        if len(array.meta):
            losses.lost(".", f"metadata: {', '.join(array.meta)}")
    if array.labels:
        losses.lost(".", f"labels of dimensions: {', '.join(array.labels)}")
    told = ", ".join(f"{field.name}: {field.type}" for field in schema)
    return [Piece("", "table", told, (array.read().count(),), None)]


def _schema_of(array):
    import pyarrow as pa

    return dated(pa.schema(array.read()).empty_table()).schema


def _is_list(kind):
    import pyarrow as pa

    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def write(array, kind, path, progress):
    """Writes the cells of an array to a file, batch after batch."""
    import pyarrow as pa

    scan = array.read(batch_size=BATCH_ROWS)
    hook = hook_of(progress)
    total = scan.count() if hook is not None else 0
    done = 0
    with pa.RecordBatchReader.from_stream(scan) as reader, _writer(array, kind, path, _schema_of(array)) as put:
        for batch in reader:
            put(dated(batch))
            done += batch.num_rows
            if hook is not None:
                hook([("converting", "rows", done, total)])


@contextlib.contextmanager
def _writer(array, kind, path, schema):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    if kind == "parquet":
        told = {SCHEMA_KEY: json.dumps(array.schema), METADATA_KEY: json.dumps(array.meta.exact())}
        schema = schema.with_metadata({**(schema.metadata or {}), **told})
        with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            yield writer.write_batch
        return
    delimiter = "\t" if path.lower().endswith(".tsv") else ","
    plain = pa.schema([pa.field(field.name, _text_type(field.type), field.nullable) for field in schema])
    with contextlib.ExitStack() as stack:
        target = path
        if path.lower().endswith(".gz"):
            target = stack.enter_context(pa.CompressedOutputStream(path, "gzip"))
        options = pyarrow.csv.WriteOptions(delimiter=delimiter)
        writer = stack.enter_context(pyarrow.csv.CSVWriter(target, plain, write_options=options))
        yield lambda batch: writer.write_batch(pa.record_batch([_as_text(column) for column in batch.columns], schema=plain))


def _text_type(kind):
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _text_type(kind.value_type)
    if pa.types.is_duration(kind):
        return pa.int64()
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return pa.string() if _is_list(kind) or is_bytes or pa.types.is_large_string(kind) else kind


def _as_text(column):
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _as_text(column.dictionary_decode())
    if pa.types.is_duration(kind):
        return column.cast(pa.int64())
    if _is_list(kind):
        return pa.array([None if cell is None else json.dumps(cell) for cell in column.to_pylist()], pa.string())
    if _text_type(kind) == pa.string() and not pa.types.is_string(kind):
        if pa.types.is_large_string(kind):
            return column.cast(pa.string())
        return pa.array([None if cell is None else cell.hex() for cell in column.to_pylist()], pa.string())
    return column


__all__ = ["convert", "plan_source", "plan_target", "write"]
