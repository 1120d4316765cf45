"""What a release of libtiledb reads of a trial's array, compared with the model.

Old releases read some arrays wrongly, or crash, whoever wrote them. So a read that comes out wrong is tried again in a
fresh process (an earlier crash may have damaged the first), and then on an array of the same content that the release
of that version wrote itself: if that comes out wrong as well, and the newest release reads both arrays right, the fault
is the old release's, and the read counts as excused.
"""
import itertools
import json
import os
import shutil

import celltypes
from known_differences import known
from libtiledb import ReferenceCrash, TileDBError
from limits import limit
from model import difference
from smalti import schema_difference
from trial import Mismatch

# How often the old release reads its own array: what corrupts memory does not always show.
OWN_TRIES = 6


class Judge:
    def __init__(self, trial, own_writer, newest):
        """`own_writer`: a release that writes the trial's version; `newest`: the newest release. Both as `OldReader`."""
        self.trial, self.own_writer, self.newest = trial, own_writer, newest
        self.case, self.schema, self.writes = trial.case, trial.schema, trial.writes
        self.own = None  # path of the old release's own array, once written
        self.own_failure = None

    def hear(self, release, reader):
        """Has a release read everything. Returns the exceptions under which something was left out, as (name, whether it
        was the whole array); raises `Mismatch`."""
        excused = limit(release, self.case, self.schema, self.writes)
        if excused:
            return [(excused.name, True)]
        left_out = []
        for what, check in self.checks():
            read = what if isinstance(what, dict) else None
            excused = read and (limit(release, self.case, self.schema, self.writes, read) or known("read", self.schema, read))
            if excused:
                left_out.append((excused.name, False))
                continue
            failure = self.failure(check, reader, self.trial.uri)
            if failure:
                reader.close()
                failure = self.failure(check, reader, self.trial.uri)
            if failure and self.is_own_fault(check, reader):
                left_out.append((situation(self.schema, self.writes, what), False))
            elif failure:
                raise Mismatch(failure)
        return left_out

    def checks(self):
        """(what, check): what is the read, or a word; a check takes reader and path and raises `Mismatch`."""
        yield "schema", self.check_schema
        for at in {None, *(w["ts"] for w in self.writes)}:
            yield "non-empty domain", lambda reader, uri, at=at: self.check_domain(reader, uri, at)
        for read in self.trial.reads:
            yield read, lambda reader, uri, read=read: self.check_read(reader, uri, read)
        for at in [None, *(ts for ts, _ in self.trial.metadata)]:
            yield "metadata", lambda reader, uri, at=at: self.check_metadata(reader, uri, at)

    @staticmethod
    def failure(check, reader, uri):
        try:
            check(reader, uri)
        except (Mismatch, TileDBError, ReferenceCrash) as error:
            return str(error) or repr(error)
        return None

    def is_own_fault(self, check, reader):
        """Whether the reader fails on libtiledb's own array too, while the newest release fails on neither."""
        self.write_own()
        if self.own is None or self.failure(check, self.newest, self.own) or self.failure(check, self.newest, self.trial.uri):
            return False
        for _ in range(OWN_TRIES):
            reader.close()
            if self.failure(check, reader, self.own):
                return True
        return False

    def write_own(self):
        """Writes an array of the same content with the old release; if it cannot, with the newest one into an array that
        the old release made, which keeps the format version."""
        for writer in (self.own_writer, self.newest):
            if self.own or self.own_failure:
                return
            path = os.path.join(self.trial.folder, "own")
            shutil.rmtree(path, ignore_errors=True)
            try:
                self.write_with(writer, path)
                self.own = path
            except (TileDBError, ReferenceCrash) as error:
                self.own_failure = str(error) if writer is self.newest else None

    def write_with(self, writer, path):
        key, dense = self.case.key, self.schema["array_type"] == "dense"
        self.own_writer("create", key, path, self.schema)
        for write in self.writes:
            pairs = {name: (values, write["hidden"].get(name)) for name, values in write["columns"].items()}
            for dim in self.schema["dims"] if dense else []:
                del pairs[dim["name"]]
            writer("write", key, path, self.schema, write["layout"], write["ts"], [pairs], write["ranges"])
        for ts, items in self.trial.metadata:
            writer("put_metadata", key, path, items, ts)

    # ---------------------------------------------------------------- the checks

    def check_schema(self, reader, uri):
        seen = reader("schema", self.case.key, uri)
        for mine, theirs in zip(self.schema["dims"], seen["dims"]):
            # Tiles mean nothing in Hilbert order, and 2.8 does not show them.
            if self.schema["cell_order"] == "hilbert" and theirs["tile"] is None:
                theirs["tile"] = mine["tile"]
        found = schema_difference(self.schema, seen)
        if found:
            raise Mismatch("sees another schema: " + found)

    def check_read(self, reader, uri, read):
        shown = "\n  read: " + json.dumps(read)
        try:
            columns = reader("read", self.case.key, uri, self.schema, **read)
        except (TileDBError, ReferenceCrash) as error:
            raise Mismatch(str(error) + shown) from error
        named = [(name, t) for name, t, _, _, _ in celltypes.fields(self.schema) if name in columns]
        rows = list(zip(*([celltypes.canonical(t, v) for v in columns[name]] for name, t in named)))
        found = difference(self.trial.model.read(**read), rows)
        if found:
            raise Mismatch("reads other cells: " + found + shown)

    def check_domain(self, reader, uri, at):
        seen = reader("non_empty_domain", self.case.key, uri, self.schema, at=at)
        expected = []
        for dim in self.schema["dims"]:
            columns = [w["columns"][dim["name"]] for w in self.writes if at is None or w["ts"] <= at]
            values = [celltypes.coordinate(dim["type"], raw) for raw in itertools.chain(*columns)]
            shown = bytes.hex if dim["type"] == "STRING_ASCII" else lambda v: v
            expected.append([shown(min(values)), shown(max(values))] if values else None)
        expected = None if None in expected else expected
        if expected != seen:
            raise Mismatch("sees another non-empty domain at %s: %s where %s is expected" % (at, seen, expected))

    def check_metadata(self, reader, uri, at):
        canonical = lambda items: {k: (t, celltypes.canonical(t, v)) for k, (t, v) in items.items()}  # noqa: E731
        seen = canonical(reader("metadata", self.case.key, uri, at))
        expected = canonical(self.trial.model.metadata(at))
        if seen != expected:
            key = next(k for k in [*expected, *seen] if seen.get(k) != expected.get(k))
            raise Mismatch("sees metadata %r at %s as %r where %r is expected" % (key, at, seen.get(key), expected.get(key)))


def situation(schema, writes, what):
    """A few words on what was asked of the old release."""
    kind = "hilbert" if schema["cell_order"] == "hilbert" else schema["array_type"]
    if not isinstance(what, dict):
        return "unnamed: %s of %s arrays" % (what, kind)
    if what["layout"] in ("row", "col"):
        order = "the cells' order" if schema["cell_order"].startswith(what["layout"]) else "another order than the cells'"
    else:
        order = what["layout"] + " order"
    return "unnamed: %s reads in %s, %s" % (kind, order, "several fragments" if len(writes) > 1 else "one fragment")
