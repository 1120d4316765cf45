"""How arrays and groups look in notebooks."""

from __future__ import annotations

import html

# A tile of the picture of a domain is at least so many pixels wide.
SIDE = 120


def array_html(array):
    """An array: its domain, fields and sizes, and a small picture of its tiles."""
    kind = "dense" if array.is_dense else "sparse"
    rows = []
    for dim in array.dims:
        domain = "text" if dim.domain is None else f"{dim.domain[0]} … {dim.domain[1]}"
        rows.append(("dimension", dim.name, dim.datatype, domain, "" if dim.tile is None else f"tile {dim.tile}"))
    for attribute in array.attributes:
        notes = [note for note, holds in (("nullable", attribute.nullable), (f"labels {attribute.enumeration}", attribute.enumeration)) if holds]
        rows.append(("attribute", attribute.name, attribute.datatype, "", ", ".join(notes)))
    cells = "".join("<tr>" + "".join(f"<td>{html.escape(str(part))}</td>" for part in row) + "</tr>" for row in rows)
    fragments = array.fragments
    size = sum(fragment.bytes for fragment in fragments)
    noun = "fragment" if len(fragments) == 1 else "fragments"
    return (
        "<div style='display:flex;gap:1em;align-items:flex-start'>"
        f"<div><b>smalti.Array</b> <code>{html.escape(array.uri)}</code><br>{kind}, {len(fragments)} {noun}, {_bytes(size)}"
        f"<table>{cells}</table></div>{_picture(array)}</div>"
    )


def group_html(group):
    """A group: its members."""
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{member.kind or ''}</td><td><code>{html.escape(member.address or member.uri)}</code></td></tr>"
        for name, member in group.members.items()
    )
    return f"<b>smalti.Group</b> <code>{html.escape(group.uri)}</code><table>{rows}</table>"


def _bytes(size):
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return str(size)


def _picture(array):
    """The last two dimensions of a grid with its tiles, to scale."""
    if not array.is_dense:
        return ""
    shape = array.shape[-2:]
    tiles = [dim.tile for dim in array.dims[-2:]]
    if len(shape) == 1:
        shape, tiles = (1, shape[0]), (1, tiles[0])
    longest = max(shape)
    height, width = (max(4, SIDE * length // longest) for length in shape)
    lines = []
    for (length, tile), across in zip(zip(shape, tiles), (False, True)):
        count = -(-length // tile) if tile else 1
        extent = width if across else height
        for number in range(1, min(count, extent // 3 or 1)):
            at = extent * number * tile / length if count <= extent // 3 else number * 3
            ends = f"x1='{at:.1f}' x2='{at:.1f}' y1='0' y2='{height}'" if across else f"y1='{at:.1f}' y2='{at:.1f}' x1='0' x2='{width}'"
            lines.append(f"<line {ends} stroke='#0003'/>")
    return (
        f"<svg width='{width + 2}' height='{height + 2}'><rect x='0' y='0' width='{width}' height='{height}' fill='#8fb8ca' stroke='#345'/>"
        f"{''.join(lines)}</svg>"
    )
