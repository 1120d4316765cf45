"""Grids of any source as dense arrays of a group: what they become, and how they are written in bounded memory."""

from __future__ import annotations

import urllib.parse

import numpy as np

from .. import _smalti, create, create_group
from ..progress import hook_of
from ..schema import attr, dim
from ..xarray import ATTRIBUTE_PREFIX, LAST, SCALAR, SUFFIX, kept
from .report import Piece

# So many bytes of cells are in memory at once.
BLOCK_BYTES = 64 << 20
# What a text, or a list of numbers, is taken to have where nobody knows it.
GUESSED_BYTES = 64
# Folders of the format inside of a group.
RESERVED = ("__group", "__meta", "__labels", "__schema", "__fragments", "__commits", "__fragment_meta", "__tiledb_group.tdb")


class Grid:
    """A variable of a source: a grid of cells that are read box by box.

    Attributes:
        path: its path in the source, with slashes.
        dims, shape: the names and lengths of its dimensions.
        dtype: NumPy's dtype of a cell; ``str``, ``bytes``, or ``list`` for cells of any length.
        item: the dtype of the values of a ``list``.
        read: a function that takes a tuple of slices and gives the cells.
        chunks: the chunks of the source; ``None`` if it has none.
        attrs: its attributes.
        fill: the value of cells that nobody wrote; ``None`` if nothing is known of it.
        unlimited: the names of dimensions that can grow.
        filters: as for :func:`smalti.attr`.
    """

    def __init__(self, path, dims, shape, dtype, read, *, item=None, chunks=None, attrs=None, fill=None, unlimited=(), filters=None):
        self.path = path
        self.dims = tuple(dims)
        self.shape = tuple(shape)
        self.dtype = dtype
        self.read = read
        self.item = item
        self.chunks = chunks
        self.attrs = attrs or {}
        self.fill = fill
        self.unlimited = unlimited
        self.filters = filters

    @property
    def name(self):
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    @property
    def cell_bytes(self):
        """What a cell takes, about where its length is not fixed."""
        return self.dtype.itemsize if isinstance(self.dtype, np.dtype) else GUESSED_BYTES

    @property
    def bytes(self):
        """What its cells take."""
        return int(np.prod(self.shape, dtype=object)) * self.cell_bytes

    def piece(self):
        """What becomes of it."""
        told = "text" if self.dtype is str else "bytes" if self.dtype is bytes else f"lists of {self.item}" if self.dtype is list else str(self.dtype)
        return Piece(self.path, "dense array", told, self.shape, self.bytes)


class Tree:
    """Groups with their attributes, and the grids in them.

    Attributes:
        groups: attributes of groups by path; ``""`` is the outermost.
        grids: the grids.
        lengths: the lengths of dimensions by group and name.
        is_one: whether this is one array, without a group around it.
    """

    def __init__(self, is_one=False):
        self.groups = {"": {}}
        self.grids = []
        self.lengths = {}
        self.is_one = is_one

    def pieces(self):
        """What is made of it."""
        if self.is_one:
            return [grid.piece()._replace(name="") for grid in self.grids]
        return [Piece(path, "group", "", None, None) for path in self.groups] + [grid.piece() for grid in self.grids]


def add(tree, losses, path, dims, shape, dtype, read, **more):
    """Adds a variable, as the grids that the format can hold: each field of a compound type is one."""
    dtype = np.dtype(dtype)
    if 0 in shape:
        losses.lost(path, f"it has no cells (shape {'x'.join(map(str, shape))}), and an array has at least one")
        return
    if dtype.names is not None:
        losses.changed(path, f"the compound type becomes an array for each field: {', '.join(dtype.names)}")
        more.pop("fill", None)
        for field in dtype.names:
            inner = dtype[field]
            sides = tuple(f"{field}_{idx}" for idx in range(len(inner.shape)))
            chunks = more.get("chunks") and (*more["chunks"], *inner.shape)
            grown = {**more, "chunks": chunks}
            add(tree, losses, f"{path}.{field}", (*dims, *sides), (*shape, *inner.shape), inner.base, _field_of(read, field, len(shape)), **grown)
        return
    if dtype.kind == "c":
        losses.changed(path, "complex numbers become pairs, of the real and the imaginary part")
        part = np.dtype(f"f{dtype.itemsize // 2}")
        chunks = more.get("chunks") and (*more["chunks"], 2)
        grown = {**more, "chunks": chunks, "fill": None}
        add(tree, losses, path, (*dims, f"{path.rpartition('/')[2]}_part"), (*shape, 2), part, _parts_of(read, part, len(shape)), **grown)
        return
    if dtype.kind == "f" and dtype.itemsize == 2:
        losses.changed(path, "half floats become float32")
        dtype = np.dtype("f4")
    elif dtype.kind == "f" and dtype.itemsize > 8:
        losses.lost(path, f"digits of {dtype} beyond those of float64")
        dtype = np.dtype("f8")
    dims = _dims_of(tree, losses, path, dims, shape)
    tree.grids.append(Grid(path, dims, shape, dtype.newbyteorder("<"), read, **more))


def add_any_length(tree, losses, path, dims, shape, dtype, read, *, item=None, **more):
    """Adds a variable of texts, bytes or lists of numbers."""
    if 0 in shape:
        losses.lost(path, f"it has no cells (shape {'x'.join(map(str, shape))}), and an array has at least one")
        return
    tree.grids.append(Grid(path, _dims_of(tree, losses, path, dims, shape), shape, dtype, read, item=item, **more))


def _dims_of(tree, losses, path, dims, shape):
    """Names of dimensions as a group can have them: none twice in a variable, and each of one length in all of the group."""
    group = path.rpartition("/")[0]
    made = []
    for name, length in zip(dims, shape):
        fresh, number = name, 1
        while fresh in made or tree.lengths.setdefault((group, fresh), length) != length:
            fresh, number = f"{name}_{number}", number + 1
        if fresh != name:
            losses.changed(path, f"dimension {name!r} is there already, and becomes {fresh!r}")
        made.append(fresh)
    return tuple(made)


def _field_of(read, field, ndim):
    return lambda key: read(key[:ndim])[field][(..., *key[ndim:])] if len(key) > ndim else read(key)[field]


def _parts_of(read, part, ndim):
    def read_parts(key):
        values = np.ascontiguousarray(read(key[:ndim]))
        return values.view(part.newbyteorder("=")).reshape(*values.shape, 2)[(..., *key[ndim:])]

    return read_parts


def attributes_of(items, losses, where):
    """Attributes that metadata can hold: numbers, text, lists of them, and what JSON can say."""
    found = {}
    for key, value in items:
        value = _plain(value)
        try:
            kept(value)
        except (TypeError, ValueError):
            losses.lost(where, f"attribute {key!r}, whose type {_type_of(value)} metadata cannot hold")
        else:
            found[str(key)] = value
    return found


def _plain(value):
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "OSU":
            value = [cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell for cell in value.reshape(-1).tolist()]
            return value[0] if len(value) == 1 else value
        if value.size == 0 and value.dtype.kind in "biuf":
            return []
        return value[()] if value.ndim == 0 else value
    if isinstance(value, np.str_):
        return str(value)
    if isinstance(value, np.bytes_):
        return bytes(value).decode("utf-8", "replace")
    return value


def _type_of(value):
    return str(getattr(value, "dtype", type(value).__name__))


def store(tree, uri, progress=None, *, key=None, context=None):
    """Makes arrays of the grids of a tree, and the groups around them."""
    options = {"key": key, "context": context}
    hook = hook_of(progress)
    total = sum(grid.bytes for grid in tree.grids)
    done = 0

    def written(count):
        nonlocal done
        done += count
        if hook is not None:
            hook([("converting", "bytes", min(done, total), total)])

    if tree.is_one:
        _store_grid(tree.grids[0], uri, written, options)
        return
    groups = {}
    for path, attributes in sorted(tree.groups.items()):
        if path == "":
            groups[path] = create_group(uri, **options)
        else:
            above, _, name = path.rpartition("/")
            folder = f"{groups[above].uri.rstrip('/')}/{_folder_of(name)}"
            groups[path] = create_group(folder, **options)
            groups[above].add(groups[path], name)
        if attributes:
            groups[path].meta.update({name: kept(value) for name, value in attributes.items()})
    for grid in tree.grids:
        group = groups[grid.path.rpartition("/")[0]]
        place = f"{group.uri.rstrip('/')}/{_folder_of(grid.name)}"
        group.add(_store_grid(grid, place, written, options), grid.name)


def _folder_of(name):
    """The folder of a member: its name, where that can be one."""
    if name in RESERVED or name in (".", ".."):
        return f"_{name}"
    return urllib.parse.quote(name, safe=" !#$&'()+,;=@[]{}~^`") if not name.isalnum() else name


def _store_grid(grid, uri, written, options):
    dims, shape, chunks = grid.dims, grid.shape, grid.chunks
    if not dims:
        dims, shape, chunks = (SCALAR,), (1,), None
    name = grid.name or "value"
    name = name + SUFFIX if name in dims else name
    tiles = [max(1, min(chunk, length)) for chunk, length in zip(chunks, shape)] if chunks else _smalti.dense_tiles(list(shape))
    made = []
    for each, length, tile in zip(dims, shape, tiles):
        made.append(dim(each, (0, LAST if each in grid.unlimited else length - 1), "int64", tile=tile))
    current = [(0, length - 1) for length in shape] if any(each in grid.unlimited for each in dims) else None
    dtype, count = (grid.item, "var") if grid.dtype is list else (grid.dtype, None)
    fill = grid.attrs.get("_FillValue", grid.fill)
    if grid.dtype in (str, bytes, list) or isinstance(fill, (str, bytes)) or np.ndim(fill) != 0:
        fill = None
    array = create(uri, made, attr(name, dtype, count=count, fill=fill, filters=grid.filters), current_domain=current, **options)
    prefix = f"{ATTRIBUTE_PREFIX}{name}."
    if grid.attrs:
        array.meta.update({prefix + key: kept(value) for key, value in grid.attrs.items()})
    blocks = list(blocks_of(shape, tiles, grid.cell_bytes, BLOCK_BYTES))
    if len(blocks) == 1:
        array.write({name: _cells(grid, shape, blocks[0])})
        written(grid.bytes)
        return array
    share = array.share_write()
    names = []
    try:
        for block in blocks:
            cells = _cells(grid, shape, block)
            names += share.put_box(block, {name: cells})
            written(cells.size * grid.cell_bytes)
        share.commit(names)
    except BaseException:
        share.abandon()
        raise
    return array.reopen()


def _cells(grid, shape, block):
    cells = grid.read(block if grid.dims else ())
    if grid.dtype is list:
        found = np.empty(tuple(part.stop - part.start for part in block), object)
        found.reshape(-1)[:] = list(np.asarray(cells, object).reshape(-1)) if grid.dims else [cells]
        return found
    cells = np.asarray(cells, grid.dtype if isinstance(grid.dtype, np.dtype) else object)
    return cells.reshape(shape) if not grid.dims else cells


def blocks_of(shape, tiles, cell_bytes, budget):
    """Boxes of whole tiles that cover a grid: each takes at most the budget, or is a tile; tuples of slices."""
    sides = list(tiles)
    for axis in reversed(range(len(shape))):
        size = cell_bytes * int(np.prod([min(side, length) for side, length in zip(sides, shape)], dtype=object))
        more = max(1, budget // max(size, 1))
        sides[axis] = min(shape[axis], sides[axis] * more)
        if sides[axis] < shape[axis]:
            break
    counts = [-(-length // side) for length, side in zip(shape, sides)]
    for spot in np.ndindex(*counts):
        yield tuple(slice(at * side, min((at + 1) * side, length)) for at, side, length in zip(spot, sides, shape))


__all__ = ["Grid", "Tree", "add", "add_any_length", "attributes_of", "blocks_of", "store"]
