"""What libtiledb sees of an array on `x` with a number `n` in each cell, and work in a process that may die."""
import json
import os
import traceback

import tiledb

_CONTEXTS = []


def context():
    """One context of one thread for the process: a new one for every read corrupts its memory now and then."""
    if not _CONTEXTS:
        _CONTEXTS.append(tiledb.Ctx({"sm.compute_concurrency_level": "1", "sm.io_concurrency_level": "1"}))
    return _CONTEXTS[0]


def cells(array):
    """Pairs of coordinate and number in order; of a dense array every cell."""
    found = array.query(attrs=["n"])[:]
    if array.schema.sparse:
        return sorted((int(x), int(n)) for x, n in zip(found["x"], found["n"]))
    # Of an array without cells it is a dictionary.
    found = found["n"] if isinstance(found, dict) else found
    low = int(array.domain.dim(0).domain[0])
    return [(low + at, int(n)) for at, n in enumerate(found)]


def metadata(array):
    return {key: int(array.meta[key]) for key in array.meta}


def schema(array):
    """The format version, the attributes, and behind each the elements of its enumeration."""
    out = [str(array.schema.version)]
    for at in range(array.schema.nattr):
        attribute = array.schema.attr(at)
        out.append(attribute.name)
        if attribute.enum_label is not None:
            labels = array.enum(attribute.enum_label).values()
            out += [label.decode() if isinstance(label, bytes) else str(label) for label in labels]
    return out


def domain(array):
    found = array.nonempty_domain()
    return None if found is None else [int(end) for end in found[0]]


def state(path):
    """What is seen now; None where there is no array."""
    if tiledb.object_type(path, ctx=context()) != "array":
        return None
    with tiledb.open(path, ctx=context()) as array:
        return {"cells": cells(array), "metadata": metadata(array), "domain": domain(array), "schema": schema(array)}


def in_a_process(work):
    """The result of work, through JSON; None where its process died. libtiledb now and then corrupts its memory where an array is
    opened often."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        status = 1
        try:
            text = json.dumps(work())
            with os.fdopen(writer, "w") as out:
                out.write(text)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as result:
        text = result.read()
    return json.loads(text) if os.waitpid(child, 0)[1] == 0 else None
