"""Arrays."""

from __future__ import annotations

from . import _smalti
from ._lazy import numpy as np
from .conditions import condition_of
from .errors import InvalidArgumentError
from .indexing import Axis, axes_of, axis_of, placed
from .metadata import Metadata
from .progress import hook_of
from .scan import Request, Scan
from .times import moment_of, shown
from .types import dtype_of, end_of, is_bytes, is_text, is_time, texts_of, value_of, values_of

# Beside its result a read into NumPy may take this much.
READ_BYTES = 512 << 20


class Dimension:
    """A dimension of an array.

    Attributes:
        name: its name.
        datatype: the name of its datatype, such as ``"DATETIME_DAY"``.
        domain: the least and the greatest coordinate; ``None`` for text.
        tile: the extent of a tile, if it has one.
    """

    __slots__ = ("name", "datatype", "domain", "tile")

    def __init__(self, name, datatype, domain, tile):
        self.name = name
        self.datatype = datatype
        self.domain = domain and tuple(value_of(end) for end in domain)
        self.tile = tile and _extent_of(tile)

    @property
    def dtype(self):
        """NumPy's dtype of its coordinates; ``object`` for text."""
        return np.dtype(object) if self.domain is None else dtype_of(self.datatype)

    def __repr__(self):
        domain = "" if self.domain is None else f", domain=({self.domain[0]}, {self.domain[1]})"
        tile = "" if self.tile is None else f", tile={self.tile}"
        return f"Dimension({self.name!r}, {self.datatype}{domain}{tile})"


def _extent_of(told):
    datatype, data = told
    if is_time(datatype):
        return int(np.frombuffer(data, "<i8")[0])
    return value_of(told)


class Attribute:
    """An attribute of an array.

    Attributes:
        name: its name.
        datatype: the name of its datatype, such as ``"FLOAT32"``.
        count: how many values are in a cell; ``None`` for any number of them.
        nullable: whether cells may have no value.
        enumeration: the name of the enumeration whose labels its values stand for.
    """

    __slots__ = ("name", "datatype", "count", "nullable", "_fill", "enumeration")

    def __init__(self, name, datatype, count, nullable, fill, enumeration):
        self.name = name
        self.datatype = datatype
        self.count = count
        self.nullable = nullable
        self._fill = fill
        self.enumeration = enumeration

    @property
    def fill(self):
        """The value of cells that were never written."""
        return value_of(self._fill)

    @property
    def dtype(self):
        """NumPy's dtype of its values; ``object`` for text and cells of any length."""
        if self.count is None or (is_text(self.datatype) and not is_bytes(self.datatype)):
            return np.dtype(object)
        return dtype_of(self.datatype, self.count) if is_bytes(self.datatype) else dtype_of(self.datatype)

    def __repr__(self):
        count = "" if self.count == 1 else f", count={'any' if self.count is None else self.count}"
        null = ", nullable" if self.nullable else ""
        enumeration = f", enumeration={self.enumeration!r}" if self.enumeration else ""
        return f"Attribute({self.name!r}, {self.datatype}{count}{null}{enumeration})"


class Array:
    """A dense or sparse array, as it was when it was opened.

    Made by :func:`smalti.open` and :func:`smalti.create`. Dense arrays are indexed as NumPy's are, by position; ``.loc`` takes coordinates.
    Every array is read with :meth:`read`, and changed with :meth:`write` and :meth:`delete`.

    >>> import numpy as np, smalti as sm
    >>> heights = sm.from_numpy("mem://array-docs", np.arange(12, dtype="f4").reshape(3, 4))
    >>> heights.shape
    (3, 4)
    >>> heights[1:, ::2]
    array([[ 4.,  6.],
           [ 8., 10.]], dtype=float32)
    """

    def __init__(self, handle, settings):
        self._handle = handle
        self._settings = settings
        self._facts = None

    # -- opening and closing

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Lets go of the array's files; other handles on it keep theirs."""
        self._handle = _Closed(self.uri)
        self._facts = None

    @property
    def closed(self):
        """Whether it was closed."""
        return isinstance(self._handle, _Closed)

    def reopen(self, at=None):
        """The array as it is now, or as it was at a time."""
        settings = self._settings if at is None else self._settings.with_times(at)
        return Array(_smalti.Array.open(self.uri, settings.options()), settings)

    def _changed(self):
        """What was remembered of the schema may be out of date."""
        self._facts = None

    def __reduce__(self):
        return _opened, (self.uri, self._settings)

    # -- what it is

    @property
    def uri(self):
        """Where it is."""
        return self._handle.uri

    @property
    def is_dense(self):
        """Whether every position of its domain has a cell."""
        return self._known.is_dense

    @property
    def _known(self):
        if self._facts is None:
            self._facts = _Facts(self._handle)
        return self._facts

    @property
    def dims(self):
        """Its dimensions."""
        return self._known.dims

    @property
    def attributes(self):
        """Its attributes."""
        return self._known.attributes

    @property
    def names(self):
        """The names of its dimensions and attributes."""
        return [field.name for field in (*self.dims, *self.attributes)]

    @property
    def shape(self):
        """The number of positions on each dimension of a dense array: of its current domain where it has one."""
        return self._known.shape

    @property
    def ndim(self):
        """The number of dimensions."""
        return len(self.dims)

    @property
    def size(self):
        """The number of cells of a dense array."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def dtype(self):
        """The dtype of its attribute, where it has just one; a structured dtype of all otherwise."""
        attributes = self.attributes
        if len(attributes) == 1:
            return attributes[0].dtype
        return np.dtype([(attribute.name, attribute.dtype) for attribute in attributes])

    def __len__(self):
        if not self.is_dense:
            raise TypeError("a sparse array has no length; A.read().count() counts its cells")
        return self.shape[0]

    @property
    def schema(self):
        """The schema in smalti's JSON notation, as a dictionary."""
        import json

        return json.loads(self._handle.schema_json())

    @property
    def meta(self):
        """Its metadata, a mapping."""
        return Metadata(self)

    def __arrow_c_schema__(self):
        return self._handle.arrow_schema()

    @property
    def current_domain(self):
        """The least and greatest coordinate of each dimension of the current domain; ``None`` where it has none."""
        return _ends(self._handle.current_domain())

    @property
    def nonempty_domain(self):
        """The least and greatest coordinate of each dimension that was written; ``None`` where nothing was."""
        return _ends(self._handle.non_empty_domain())

    @property
    def fragments(self):
        """Its fragments, the oldest first."""
        return [Fragment(*fragment) for fragment in self._handle.fragments()]

    def enumeration(self, name):
        """The labels of an enumeration, as a list."""
        labels, _ = self._handle.enumeration(name)
        return [value_of(label) for label in labels]

    @property
    def labels(self):
        """The dimension labels: for each its dimension."""
        return {name: dimension for name, dimension, _ in self._handle.labels()}

    def label(self, name):
        """The array that holds a dimension label."""
        return Array(self._handle.label(name), self._settings)

    # -- reading

    def __getitem__(self, key):
        if isinstance(key, str):
            return Field(self, key)
        values = self.read_dense(key)
        return next(iter(values.values())) if len(self.attributes) == 1 else values

    @property
    def loc(self):
        """The array by coordinates: ``A.loc[48.0:52.0]``, ends included, or ``A.loc[{"lat": slice(48, 52)}]`` by name of a dimension or a
        dimension label.

        Dense arrays give NumPy's arrays, sparse ones a :class:`smalti.Scan`.

        >>> import numpy as np, smalti as sm
        >>> days = sm.dim("day", (np.datetime64("2024-01-01"), np.datetime64("2024-12-31")), tile=30)
        >>> A = sm.create("mem://loc-docs", days, sm.attr("visitors", "int32"))
        >>> A[:] = np.arange(366, dtype="i4")
        >>> A.loc["2024-03-01":"2024-03-03"].tolist()
        [60, 61, 62]
        """
        return Located(self)

    def read_dense(self, key=..., columns=None, *, where=None, nulls="mask", order="C", codes=False, progress=None):
        """Cells of a dense array as NumPy's arrays, by name of the attribute.

        Args:
            key: an index as NumPy has it, or one array of positions for each dimension (orthogonal indexing).
            columns: the attributes to read; all if not said.
            where: a condition: cells that do not fulfil it are fill values.
            nulls: what cells without a value become: ``"mask"`` gives masked arrays for attributes that may be null, ``"fill"`` the values
                that lie under the nulls, ``"none"`` arrays of objects with ``None``.
            order: ``"C"`` or ``"F"``.
            codes: whether attributes with an enumeration give codes instead of labels.
            progress: as for :meth:`write`.

        Returns:
            A dictionary of arrays, whose shape is that of the index; attributes with several values in a cell have one more axis.
        """
        if not self.is_dense:
            raise TypeError("a sparse array is no grid; read it with A.read(), or A.loc[...] by coordinates")
        known = self._known
        axes, new = axes_of(key, known.shape, [dimension.name for dimension in known.dims])
        return self._read_axes(axes, new, columns, where, nulls, order, codes, progress)

    def _read_axes(self, axes, new, columns, where, nulls, order, codes, progress):
        known = self._known
        wanted = [known.attribute(name) for name in _names(columns)] if columns is not None else known.attributes
        shape = tuple(axis.length for axis in axes)
        count = 1
        for length in shape:
            count *= length
        if count == 0:
            empty = {attribute.name: np.empty(_with_values(shape, attribute), attribute.dtype) for attribute in wanted}
            return {name: placed(values, axes, new) for name, values in empty.items()}
        cell_bytes = sum(attribute_bytes(attribute) for attribute in wanted)
        request = Request(
            columns=[attribute.name for attribute in wanted],
            positions=[(idx, axis.stretches) for idx, axis in enumerate(axes) if not _is_whole(axis, known.shape[idx])],
            condition=condition_of(where),
            order="row-major" if order == "C" else "col-major",
            # One batch has all cells, so that nothing is copied; a context with a budget says itself what a read may take.
            memory=None if self._settings.is_bounded else READ_BYTES + 8 * count * (cell_bytes + 8),
            batch_cells=count,
        )
        cells, columns = self._handle.scan(request).columns(hook_of(progress))
        if cells != count:
            raise InvalidArgumentError(f"{cells} cells were read where {count} were expected: the array has changed; open it again")
        result = {}
        for attribute, column in zip(wanted, columns):
            values = self._values_of(attribute, column, shape, nulls, order, codes)
            result[attribute.name] = placed(values, axes, new, order)
        return result

    def _values_of(self, attribute, column, shape, nulls, order, codes):
        _, datatype, per_cell, data, offsets, validity = column
        is_null = None if validity is None else np.frombuffer(validity, "u1") == 0
        if per_cell is None:
            values = cells_of(datatype, data, offsets)
        else:
            values = fixed_of(datatype, per_cell, data)
        if attribute.enumeration is not None and not codes:
            values = labelled(values, self._known.labels_of(self._handle, attribute.enumeration))
        values = _shaped(values, shape, order)
        if is_null is None:
            return values
        is_null = _shaped(is_null, shape, order)
        if nulls == "none":
            values = values.astype(object)
            values[is_null] = None
        elif nulls == "mask":
            mask = np.broadcast_to(is_null[..., None], values.shape) if values.ndim > is_null.ndim else is_null
            values = np.ma.MaskedArray(values, mask)
        elif nulls != "fill":
            raise ValueError(f'nulls= is "mask", "fill" or "none", not {nulls!r}')
        return values

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("the cells are in files; reading them makes an array")
        values = self[...]
        if isinstance(values, dict):
            raise TypeError("the array has several attributes; take one: numpy.asarray(A['name'])")
        return values if dtype is None else values.astype(dtype)

    def read(
        self,
        columns=None,
        where=None,
        ranges=None,
        order=None,
        limit=None,
        *,
        memory=None,
        batch_size=None,
        timestamps=False,
        codes=False,
        progress=None,
    ):
        """Cells as a table: what pyarrow, pandas, polars and DuckDB take without a copy, whole or batch by batch.

        Args:
            columns: fields by name, attributes and dimensions; all if not said.
            where: which cells: text such as ``"population > 1_000_000"``, or a condition made with :func:`smalti.col`.
            ranges: for dimensions and dimension labels by name a value, a ``slice`` of coordinates (ends included) or a list of these.
            order: ``"row-major"``, ``"col-major"``, ``"global"`` or ``"unordered"``.
            limit: the most cells.
            memory: the bytes that the read may take.
            batch_size: the most cells of a batch.
            timestamps: whether times of writes come along, as ``__timestamps``.
            codes: whether attributes with an enumeration give codes instead of dictionaries.
            progress: as for :meth:`write`.

        Returns:
            A :class:`smalti.Scan`. Nothing is read before it is asked for cells.

        >>> import smalti as sm
        >>> cities = sm.create("mem://read-docs", sm.dim("lat", (-90.0, 90.0), tile=10.0), [sm.attr("name", str), sm.attr("size", "int64")], sparse=True)
        >>> _ = cities.write({"lat": [48.85, 52.52], "name": ["Paris", "Berlin"], "size": [2113705, 3677472]})
        >>> cities.read(["name"], where=sm.col("size") > 3_000_000).to_dict()["name"].tolist()
        ['Berlin']
        >>> cities.read(ranges={"lat": slice(45, 50)}).count()
        1
        """
        request = Request(
            columns=_names(columns),
            ranges=self._ranges_of(ranges),
            condition=condition_of(where),
            order=order,
            limit=limit,
            memory=memory,
            batch_cells=batch_size,
            timestamps=timestamps,
            matching_only=where is not None,
            codes=codes,
        )
        return Scan(self, request, progress)

    def _ranges_of(self, ranges):
        known = self._known
        told = []
        for name, wanted in (ranges or {}).items():
            datatype = known.datatype_of(name)
            wanted = wanted if isinstance(wanted, list) else [wanted]
            told.append((name, [_range_of(one, datatype) for one in wanted]))
        return told

    # -- changing

    def __setitem__(self, key, values):
        from .write import write_dense

        write_dense(self, key, values)

    def write(self, data, *, at=None, order=None, keep_first=False, memory=None, progress=None):
        """Writes cells: what is written is durable, and seen, when the call returns, or nothing of it is.

        Args:
            data: a dictionary of columns, a table of pandas, polars, pyarrow or DuckDB, or whatever has Arrow's stream interface. Sparse arrays
                take a column for every dimension and attribute; dense ones too, or an array (or a dictionary of them) that fills the domain.
            at: the time of the write; now if not said.
            order: ``"global"`` for sparse cells that are sorted already.
            keep_first: whether the first of several cells at one place is kept, where the array has no duplicates; otherwise they are refused.
            memory: the bytes that a stream of Arrow may take; more cells than that become several fragments, which are seen at one moment.
            progress: ``None`` shows a bar by itself when the work takes long, ``True`` always, ``False`` never; a callable is told how far it is.

        Returns:
            The names of the fragments.

        >>> import numpy as np, smalti as sm
        >>> A = sm.create("mem://write-docs", sm.dim("x", (0, 9)), sm.attr("value", "float64", nullable=True), sparse=True)
        >>> _ = A.write({"x": [1, 5], "value": [0.5, None]})
        >>> A.reopen().read().to_dict()["value"].tolist()
        [0.5, None]
        """
        from .write import write

        return write(self, data, at=at, order=order, keep_first=keep_first, memory=memory, progress=progress)

    def share_write(self, at=None):
        """Begins a write that several processes do together, so that all of it is seen at one moment: a :class:`smalti.SharedWrite`."""
        from .shared import SharedWrite

        return SharedWrite(self, self._handle.share_write(moment_of(at)))

    def delete(self, where, *, at=None):
        """Deletes the cells of a sparse array that fulfil a condition; times before still show them. Returns the time of the delete.

        >>> import numpy as np, smalti as sm
        >>> A = sm.create("mem://delete-docs", sm.dim("x", (0, 9)), sm.attr("value", "int64"), sparse=True)
        >>> _ = A.write({"x": np.arange(10), "value": np.arange(10)}, at=1000)
        >>> _ = A.delete("value < 3", at=2000)
        >>> A.reopen().read().count(), A.T(1500).read().count()
        (7, 10)
        """
        deleted = self._handle.delete(condition_of(where), moment_of(at))
        self._changed()
        return deleted

    def evolve(
        self,
        *,
        add=(),
        drop=(),
        add_enumerations=(),
        extend_enumerations=None,
        drop_enumerations=(),
        current_domain=None,
        at=None,
    ):
        """Changes the schema: cells stay as they are, and times before show the schema of then. Returns the time of the change.

        Args:
            add: attributes made with :func:`smalti.attr`.
            drop: names of attributes.
            add_enumerations: enumerations made with :func:`smalti.enum`.
            extend_enumerations: more labels, by name of the enumeration.
            drop_enumerations: names of enumerations.
            current_domain: for dimensions by name the ends that the current domain grows to.
            at: the time of the change; now if not said.
        """
        import json

        extended = [(name, [_label_bytes(label) for label in labels]) for name, labels in (extend_enumerations or {}).items()]
        types = {dimension.name: dimension.datatype for dimension in self.dims}
        grown = []
        for name, (low, high) in (current_domain or {}).items():
            if name not in types:
                raise KeyError(f"there is no dimension {name!r}; there are {', '.join(types)}")
            grown.append((name, (end_of(low, types[name]), end_of(high, types[name]))))
        changed = self._handle.evolve(
            add_attributes=[json.dumps(attribute) for attribute in _listed(add)],
            drop_attributes=[drop] if isinstance(drop, str) else list(drop),
            add_enumerations=[json.dumps(enumeration) for enumeration in _listed(add_enumerations)],
            extend_enumerations=extended,
            drop_enumerations=[drop_enumerations] if isinstance(drop_enumerations, str) else list(drop_enumerations),
            current_domain=grown,
            at=moment_of(at),
        )
        self._changed()
        return changed

    def consolidate(self, what="fragments", *, purge=False, memory=None, verify=True, progress=None):
        """Merges fragments into fewer; or with another ``what`` (``"commits"``, ``"fragment_metadata"``, ``"metadata"``) their small files.

        Readers see what was merged, or what it became, never both. What was merged stays, for readers of earlier times, until :meth:`vacuum`.

        Args:
            purge: whether deleted cells are left out, which times before will miss.
            memory: the bytes that it may take.
            verify: whether what was written is read back and compared before it is shown.

        >>> import numpy as np, smalti as sm
        >>> A = sm.from_numpy("mem://consolidate-docs", np.zeros(100), tile=10)
        >>> A[10:20] = 1.0
        >>> _ = A.consolidate()
        >>> len(A.reopen().fragments)
        1
        """
        if what != "fragments":
            return self._handle.upkeep_files(what, False)
        return self._handle.consolidate(purge=purge, memory=memory, verify=verify, hook=hook_of(progress))

    def share_consolidation(self, parts, *, purge=False):
        """Plans a consolidation that several processes do together, each merge in at most so many parts: a :class:`smalti.SharedConsolidation`."""
        from .shared import SharedConsolidation

        return SharedConsolidation(self, self._handle.share_consolidation(parts, purge=purge))

    def vacuum(self, what="fragments", *, dry_run=False, progress=None):
        """Removes what was merged: the names of the fragments; or with another ``what``, as for :meth:`consolidate`, those files.

        Args:
            dry_run: whether it only says what would be removed.
        """
        if what != "fragments":
            return self._handle.upkeep_files(what, True, dry_run)
        names, _, waits = self._handle.vacuum(dry_run=dry_run, hook=hook_of(progress))
        if waits:
            import warnings

            warnings.warn("other handles read the array, so that nothing was removed; close them, or vacuum later", stacklevel=2)
        return names

    # -- checks

    def digest(self, *, timestamps=False, progress=None):
        """A digest of all cells: arrays with the same cells have the same, however they were written.

        >>> import numpy as np, smalti as sm
        >>> A = sm.from_numpy("mem://digest-docs", np.arange(100.0), tile=10)
        >>> before = A.digest()
        >>> A[10:20] = np.arange(10.0, 20.0)
        >>> A.reopen().digest() == before
        True
        """
        return self._handle.digest(timestamps, hook_of(progress))[0]

    def diff(self, other, *, progress=None):
        """How many cells differ in another array, or in the state of this one at a time: ``added`` are those that only the other has, ``removed`` those
        that only this one has.

        >>> import numpy as np, smalti as sm
        >>> A = sm.create("mem://diff-docs", sm.dim("x", (0, 9)), sm.attr("value", "int64"), sparse=True)
        >>> _ = A.write({"x": np.arange(5), "value": np.zeros(5, "i8")}, at=1000)
        >>> _ = A.write({"x": [4, 5], "value": [7, 8]}, at=2000)
        >>> A.reopen().diff(1500)
        {'added': 0, 'removed': 1, 'changed': 1, 'same': 4}
        """
        if not isinstance(other, Array):
            other = self.reopen(at=other)
        added, removed, changed, same = self._handle.diff(other._handle, hook_of(progress))
        return {"added": added, "removed": removed, "changed": changed, "same": same}

    def fsck(self, *, data=False, progress=None):
        """What is wrong with its files."""
        from . import fsck

        return fsck(self.uri, data=data, progress=progress, _settings=self._settings)

    # -- looked at

    def describe(self):
        """The array on one page: schema, sizes, metadata, the last fragments. It prints, and ``.json`` has it for programs."""
        return Report(*_smalti.describe_array(self._handle))

    @property
    def history(self):
        """What happened to it, the oldest change first: writes, merges, deletes, changes of the schema. Each prints as a line, and has its parts in
        ``.json``."""
        return [Report(*told) for told in _smalti.history_of_array(self._handle)]

    def T(self, time):
        """The array as it was at a time; the same as :meth:`reopen`, to be written in the middle of an expression: ``A.T("-1h").draw()``."""
        return self.reopen(at=time)

    def draw(
        self,
        fields=(),
        *,
        dims=(),
        ranges=(),
        where=None,
        versions=False,
        panels=6,
        size=None,
        log=False,
        min=None,
        max=None,
        flip=False,
        title=None,
        progress=None,
    ):
        """A picture of a slice: a map of two dimensions, or lines along one; of a sparse array where its cells are.

        Args:
            fields: the attribute of a map, or several for lines; chosen if not said.
            dims: the dimensions from left to right and from top to bottom.
            ranges: parts of dimensions as the command line has them: ``["time=2024-05-01", "x=0:99"]``.
            where: only cells that fulfil a condition are drawn.
            versions: a picture for each change of the array, side by side, ``panels`` of them at most.
            size: width and height in pixels.
            log: whether equal factors are equally far apart.
            min, max: where the colours begin and end.
            flip: whether the y axis is turned around.
            title: what stands above it.

        Returns:
            A :class:`Picture`, which notebooks show.
        """
        condition = condition_of(where)
        request = _Drawing(
            _names(fields or None),
            list(dims),
            [ranges] if isinstance(ranges, str) else list(ranges),
            None if condition is None else str(condition),
            versions,
            panels,
            size,
            log,
            min,
            max,
            flip,
            title,
        )
        return Picture(self, request, hook_of(progress))

    # -- shown

    def __repr__(self):
        if self.closed:
            return f"<smalti.Array {self.uri!r}, closed>"
        kind = "dense" if self.is_dense else "sparse"
        dims = ", ".join(f"{dim.name}: {_domain_text(dim)}" for dim in self.dims)
        fields = ", ".join(f"{attribute.name}: {_type_text(attribute)}" for attribute in self.attributes)
        return f"<smalti.Array {self.uri!r}, {kind} ({dims}) -> ({fields})>"

    def _repr_html_(self):
        from .html import array_html

        return array_html(self)


class Report(str):
    """A text for people; ``.json`` is the same for programs."""

    def __new__(cls, text, json):
        made = super().__new__(cls, text)
        made._json = json
        return made

    @property
    def json(self):
        """What the text says, as dictionaries and lists."""
        import json

        return json.loads(self._json)

    def __repr__(self):
        return str(self)


class _Drawing:
    """What is drawn, as the tools take it."""

    __slots__ = ("fields", "dims", "ranges", "condition", "versions", "panels", "size", "log", "min", "max", "flip", "title")

    def __init__(self, *values):
        for name, value in zip(self.__slots__, values):
            setattr(self, name, value)


class Picture:
    """A picture of an array, which notebooks show; made by :meth:`Array.draw`.

    Attributes:
        notes: what was chosen where nothing was said, such as the slice of a third dimension.
    """

    def __init__(self, array, request, hook):
        self._array = array
        self._request = request
        self._png, self.notes = self._drawn("png", hook)

    def _drawn(self, format, hook=None):
        data, notes = _smalti.draw(self._array._handle, self._request, format, self._array._settings.options(), hook)
        return bytes(data), notes

    def _repr_png_(self):
        return self._png

    @property
    def png(self):
        """The bytes of a PNG file."""
        return self._png

    @property
    def svg(self):
        """The text of an SVG file."""
        return self._drawn("svg")[0].decode()

    def save(self, path):
        """Writes it to a file: PNG, or SVG where the name ends so."""
        import os

        data = self.svg.encode() if os.fspath(path).endswith(".svg") else self._png
        with open(path, "wb") as file:
            file.write(data)

    def __repr__(self):
        return f"<smalti.Picture of {self._array.uri!r}, {len(self._png)} bytes of PNG>"


class _Closed:
    """In place of the handle of a closed array or group."""

    def __init__(self, uri):
        self.uri = uri

    def __getattr__(self, name):
        raise ValueError(f"{self.uri} was closed; open it again with smalti.open")


class _Facts:
    """What is asked of a schema again and again."""

    def __init__(self, handle):
        self.is_dense = handle.is_dense
        self.dims = [Dimension(*told) for told in handle.dimensions()]
        self.attributes = [Attribute(*told) for told in handle.attributes()]
        self._label_types = {name: datatype for name, _, datatype in handle.labels()}
        self._handle = handle
        self._shape = None
        self._firsts = None
        self._labels = {}
        self._label_values = {}

    @property
    def shape(self):
        if self._shape is None:
            if not self.is_dense:
                raise TypeError("a sparse array has no shape; .dims tells the domain, .nonempty_domain what was written")
            self._shape = tuple(self._handle.shape)
        return self._shape

    def attribute(self, name):
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise KeyError(f"there is no attribute {name!r}; there are {', '.join(found.name for found in self.attributes)}")

    def datatype_of(self, name):
        for dimension in self.dims:
            if dimension.name == name:
                return dimension.datatype
        if name in self._label_types:
            return self._label_types[name]
        names = [dimension.name for dimension in self.dims] + list(self._label_types)
        raise KeyError(f"there is no dimension or label {name!r}; there are {', '.join(names)}")

    def first_of(self, dimension):
        """The coordinate of the first position on a dimension, as a whole number."""
        if self._firsts is None:
            current = self._handle.current_domain()
            ends = [dim[2][0] for dim in self._handle.dimensions()] if current is None else [low for low, _ in current]
            self._firsts = [int(values_of(end).astype("O").item()) if not is_time(end[0]) else int(np.frombuffer(end[1], "<i8")[0]) for end in ends]
        return self._firsts[self.dims.index(dimension)]

    def label_values(self, array, name):
        """The labels of all positions on a dimension."""
        if name not in self._label_values:
            label = array.label(name)
            self._label_values[name] = np.ma.getdata(next(iter(label.read_dense(nulls="fill").values())))
        return self._label_values[name]

    def labels_of(self, handle, name):
        """The labels of an enumeration, as an array of objects, or of numbers."""
        if name not in self._labels:
            told, _ = handle.enumeration(name)
            labels = [value_of(label) for label in told]
            if labels and not isinstance(labels[0], (str, bytes)):
                self._labels[name] = np.asarray(labels)
            else:
                held = np.empty(len(labels), object)
                held[:] = labels
                self._labels[name] = held
        return self._labels[name]


class Fragment:
    """A fragment of an array: what one write, or one consolidation, made.

    Attributes:
        name: the name of its folder.
        timestamps: the first and the last time of its cells, in milliseconds since 1970.
        cells: how many it holds, of a dense one those of whole tiles.
        bytes: what it takes on the disk.
        is_dense: whether it is a grid.
        format_version: the version of its format.
    """

    __slots__ = ("name", "timestamps", "cells", "bytes", "is_dense", "format_version")

    def __init__(self, name, first, last, cells, size, is_dense, format_version):
        self.name = name
        self.timestamps = (first, last)
        self.cells = cells
        self.bytes = size
        self.is_dense = is_dense
        self.format_version = format_version

    @property
    def time(self):
        """The last of its times."""
        return np.datetime64(self.timestamps[1], "ms")

    def __repr__(self):
        return f"<Fragment {self.name}, {shown(self.timestamps[1])}, {self.cells} cells, {self.bytes} bytes>"


class Field:
    """One attribute of an array, with all that indexing does for a whole one; made by ``A["name"]``."""

    def __init__(self, array, name):
        self._array = array
        self._attribute = array._known.attribute(name)

    attribute = property(lambda self: self._attribute, doc="What the schema says of it.")
    name = property(lambda self: self._attribute.name, doc="Its name.")
    shape = property(lambda self: self._array.shape, doc="As of the array.")
    ndim = property(lambda self: self._array.ndim, doc="As of the array.")
    size = property(lambda self: self._array.size, doc="As of the array.")
    dtype = property(lambda self: self._attribute.dtype, doc="NumPy's dtype of its values.")

    def __getitem__(self, key):
        return self._array.read_dense(key, [self.name])[self.name]

    def __setitem__(self, key, values):
        from .write import write_dense

        write_dense(self._array, key, {self.name: values})

    def __len__(self):
        return len(self._array)

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("the cells are in files; reading them makes an array")
        values = self[...]
        return values if dtype is None else values.astype(dtype)

    @property
    def loc(self):
        """As :attr:`Array.loc`."""
        return Located(self._array, self.name)

    def __reduce__(self):
        return Field, (self._array, self.name)

    def __repr__(self):
        return f"<smalti.Field {self.name!r} of {self._array!r}>"


class Located:
    """An array by coordinates; see :attr:`Array.loc`."""

    def __init__(self, array, name=None):
        self._array = array
        self._name = name

    def __getitem__(self, key):
        array = self._array
        if not array.is_dense:
            columns = None if self._name is None else [self._name]
            return array.read(columns, ranges=self._ranges(key))
        known = array._known
        wanted = self._ranges(key)
        axes = []
        for idx, dimension in enumerate(known.dims):
            names = [name for name in wanted if name == dimension.name or array.labels.get(name) == dimension.name]
            if len(names) > 1:
                raise ValueError(f"{' and '.join(names)} are both of dimension {dimension.name!r}; give one of them")
            part = wanted[names[0]] if names else slice(None)
            if names and names[0] != dimension.name:
                axes.append(self._of_label(names[0], part, known.shape[idx]))
            else:
                axes.append(self._of_coordinates(dimension, part, known.shape[idx]))
        columns = None if self._name is None else [self._name]
        values = array._read_axes(axes, [], columns, None, "mask", "C", False, None)
        single = self._name is not None or len(known.attributes) == 1
        return next(iter(values.values())) if single else values

    def _ranges(self, key):
        if isinstance(key, dict):
            return key
        key = key if isinstance(key, tuple) else (key,)
        dims = self._array.dims
        if any(part is Ellipsis for part in key):
            where = next(idx for idx, part in enumerate(key) if part is Ellipsis)
            key = (*key[:where], *([slice(None)] * (len(dims) - len(key) + 1)), *key[where + 1 :])
        if len(key) > len(dims):
            raise IndexError(f"{len(key)} coordinates for {len(dims)} dimensions")
        return {dim.name: part for dim, part in zip(dims, key) if not _is_all(part)}

    def _of_coordinates(self, dimension, part, size):
        first = self._array._known.first_of(dimension)
        if isinstance(part, slice):
            if part.step is not None:
                raise ValueError("a slice of coordinates has no step; give the coordinates as a list")
            low = 0 if part.start is None else _whole(end_of(part.start, dimension.datatype), up=True) - first
            high = size - 1 if part.stop is None else _whole(end_of(part.stop, dimension.datatype), up=False) - first
            low, high = max(low, 0), min(high, size - 1)
            return Axis([(low, high)], high - low + 1) if low <= high else Axis([], 0)
        if np.ndim(part) == 0:
            position = end_of(part, dimension.datatype) - first
            if position != int(position) or not 0 <= position < size:
                raise KeyError(f"{part!r} is no coordinate of dimension {dimension.name!r}")
            return Axis([(int(position), int(position))], 1, drops=True)
        positions = np.asarray([end_of(one, dimension.datatype) - first for one in part], "i8")
        if len(positions) and (positions.min() < 0 or positions.max() >= size):
            raise KeyError(f"not all are coordinates of dimension {dimension.name!r}")
        return axis_of(positions, size, dimension.name)

    def _of_label(self, name, part, size):
        values = self._array._known.label_values(self._array, name)
        positions = np.arange(len(values))
        if isinstance(part, slice):
            low = True if part.start is None else values >= _like(values, part.start)
            high = True if part.stop is None else values <= _like(values, part.stop)
            return axis_of(positions[np.broadcast_to(low & high, values.shape)], size, name)
        if np.ndim(part) == 0:
            found = positions[values == _like(values, part)]
            if len(found) == 0:
                raise KeyError(f"{part!r} is no label of {name!r}")
            return Axis([(int(found[0]), int(found[0]))], 1, drops=True)
        found = [positions[values == _like(values, one)] for one in part]
        for one, spots in zip(part, found):
            if len(spots) == 0:
                raise KeyError(f"{one!r} is no label of {name!r}")
        return axis_of(np.asarray([spots[0] for spots in found]), size, name)


def _listed(made):
    return [made] if isinstance(made, dict) else list(made)


def _label_bytes(label):
    if isinstance(label, str):
        return label.encode()
    return bytes(label) if isinstance(label, (bytes, bytearray)) else np.asarray(label).tobytes()


def _opened(uri, settings):
    return Array(_smalti.Array.open(uri, settings.options()), settings)


def _ends(told):
    if told is None:
        return None
    return tuple((value_of(low), high and value_of(high)) for low, high in told)


def _names(columns):
    if columns is None:
        return []
    if isinstance(columns, str):
        return [columns]
    return [getattr(column, "name", column) for column in columns]


def _range_of(wanted, datatype):
    if isinstance(wanted, slice):
        if wanted.step is not None:
            raise ValueError("a range of coordinates has no step")
        return end_of(wanted.start, datatype), end_of(wanted.stop, datatype)
    if isinstance(wanted, tuple) and len(wanted) == 2:
        return end_of(wanted[0], datatype), end_of(wanted[1], datatype)
    end = end_of(wanted, datatype)
    return end, end


def _is_all(part):
    return isinstance(part, slice) and part == slice(None)


def _is_whole(axis, size):
    return axis.stretches == [(0, size - 1)]


def _whole(end, up):
    """A coordinate as a whole number: the first one from it on, or the last one before it."""
    if isinstance(end, float) and end != int(end):
        return int(np.ceil(end) if up else np.floor(end))
    return int(end)


def _like(values, wanted):
    if isinstance(wanted, str) and values.dtype.kind == "M":
        return np.datetime64(wanted)
    return wanted


def _with_values(shape, attribute):
    several = attribute.count is not None and attribute.count > 1 and not is_bytes(attribute.datatype)
    return (*shape, attribute.count) if several else shape


def attribute_bytes(attribute):
    """About the bytes of a cell of an attribute in memory."""
    if attribute.count is None:
        return 64
    size = 1 if is_bytes(attribute.datatype) else dtype_of(attribute.datatype).itemsize
    return attribute.count * size + attribute.nullable


def fixed_of(datatype, count, data):
    """Cells of a fixed number of values as an array over the same memory: one axis, and a second one for several values in a cell."""
    if count > 1 and is_bytes(datatype):
        return np.frombuffer(data, dtype_of(datatype, count))
    values = np.frombuffer(data, dtype_of(datatype))
    return values if count == 1 else values.reshape(-1, count)


def labelled(codes, labels):
    """The labels that codes stand for; ``None`` for codes that have none."""
    inside = (codes >= 0) & (codes < len(labels))
    if inside.all():
        return labels[codes] if len(labels) else np.empty(0, object)
    values = np.full(len(codes), None, object)
    values[inside] = labels[codes[inside]]
    return values


def cells_of(datatype, data, offsets):
    """Cells of any length as an array of objects: ``str``, ``bytes``, or arrays over the same memory."""
    if is_text(datatype) or is_bytes(datatype):
        return texts_of(datatype, data, offsets)
    bounds = np.frombuffer(offsets, "<u8").tolist()
    cells = np.empty(len(bounds) - 1, object)
    dtype = dtype_of(datatype)
    values = np.frombuffer(data, dtype)
    size = dtype.itemsize
    for idx, (start, end) in enumerate(zip(bounds, bounds[1:])):
        cells[idx] = values[start // size : end // size]
    return cells


def _shaped(values, shape, order):
    """The first axis as the axes of a result; values of a cell stay together."""
    more = values.shape[1:]
    if order == "C":
        return values.reshape(*shape, *more)
    turned = values.reshape(*shape[::-1], *more)
    return turned.transpose(*range(len(shape) - 1, -1, -1), *range(len(shape), len(shape) + len(more)))


def _domain_text(dimension):
    if dimension.domain is None:
        return "text"
    low, high = dimension.domain
    return f"{low}..{high}"


def _type_text(attribute):
    text = attribute.datatype.lower()
    text += {None: "[]", 1: ""}.get(attribute.count, f"[{attribute.count}]")
    return text + ("?" if attribute.nullable else "")
