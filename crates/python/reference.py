"""Makes docs/python/reference.md of the docstrings: ``python reference.py > ../../docs/python/reference.md`` with the package installed."""

import importlib
import inspect
import re
import sys

# Modules in the order of the page: a title, what is said of it, and where its names come from.
MODULES = [
    ("smalti", "smalti", None),
    ("Errors", "smalti.errors", None),
    ("Dask", "smalti.dask", None),
    ("xarray", "smalti.xarray", ("Accessor", "SmaltiBackend")),
    ("Conversions", "smalti.convert", None),
]
HEAD = """# API reference

Made of the docstrings of the package, whose examples run in its tests. What goes with what is told in [smalti from Python](README.md).
"""
# What sections of docstrings are called here.
SECTIONS = {"Args": "Arguments", "Returns": "Returns", "Raises": "Raises", "Attributes": "Attributes"}
# What a class has because of its kind, and not of itself.
PLAIN = ("with_traceback", "add_note")


def page():
    """The page, as text."""
    parts, seen = [HEAD], set()
    for title, name, names in MODULES:
        module = importlib.import_module(name)
        parts.append(f"## {title}\n\n{text_of(module)}\n")
        for public in names or listed(module):
            value = getattr(module, public)
            if inspect.ismodule(value) or id(value) in seen:
                continue
            seen.add(id(value))
            parts.append(entry(public, value))
    return "\n".join(parts)


def listed(module):
    """The public names of a module: those that it lists, or that it makes."""
    made = getattr(module, "__all__", None)
    if made is not None:
        return [name for name in made if not name.startswith("_") and not isinstance(getattr(module, name), (str, tuple))]
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return [name for name in own if not name.startswith("_")]


def entry(name, value):
    """A function, or a class with what it has."""
    if not inspect.isclass(value):
        return f"### {name}{signature_of(value)}\n\n{text_of(value)}\n"
    bases = [base.__name__ for base in value.__bases__ if base is not object]
    made = f"### class {name}{signature_of(value, is_class=True)}\n\n"
    made += f"A {' and a '.join(f'`{base}`' for base in bases)}. " if bases else ""
    parts = [made + text_of(value) + "\n"]
    for member, found in members_of(value):
        inner = found.fget if isinstance(found, property) else found
        mark = "" if isinstance(found, property) else signature_of(inner)
        parts.append(f"#### {name}.{member}{mark}\n\n{text_of(found)}\n")
    return "\n".join(parts)


def members_of(value):
    """What a class itself has that is public: methods and properties, in their order."""
    for name, found in vars(value).items():
        if name.startswith("_") or name in PLAIN:
            continue
        if isinstance(found, (classmethod, staticmethod)):
            found = found.__func__
        if inspect.isfunction(found) or isinstance(found, property) or inspect.ismethoddescriptor(found):
            yield name, found


def signature_of(value, is_class=False):
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "" if is_class else "()"
    kept = [each.replace(annotation=each.empty) for each in signature.parameters.values() if each.name not in ("self", "cls")]
    if is_class and (not kept or any(each.name in ("handle", "_handle") for each in kept)):
        return ""
    return re.sub(r"<[^<>]* at 0x[^<>]*>", "...", str(signature.replace(parameters=kept, return_annotation=signature.empty)))


def text_of(value):
    """A docstring as Markdown."""
    told = inspect.getdoc(value)
    if not told:
        raise ValueError(f"{getattr(value, '__qualname__', None) or getattr(value.fget, '__qualname__', value)} has no docstring")
    lines, made, is_example = told.splitlines(), [], False
    idx = 0
    while idx < len(lines):
        line = lines[idx]
        if line.rstrip(":") in SECTIONS and line.endswith(":"):
            body, idx = indented(lines, idx + 1)
            made += ["", f"{SECTIONS[line.rstrip(':')]}:", "", *items(body), ""]
            continue
        if line.startswith(">>> ") and not is_example:
            made += ["```pycon"]
            is_example = True
        elif is_example and not line.strip():
            made += ["```"]
            is_example = False
        made.append(line if is_example else inline(line))
        idx += 1
    if is_example:
        made.append("```")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(made)).strip()


def indented(lines, idx):
    """The lines of a section, without what they are indented by, and where the next one begins."""
    body = []
    while idx < len(lines) and (not lines[idx].strip() or lines[idx].startswith("    ")):
        body.append(lines[idx].removeprefix("    "))
        idx += 1
    return body, idx


def items(body):
    """Names with what is said of them, as a list."""
    made = []
    for line in body:
        if not line.strip():
            continue
        if line.startswith("    ") and made:
            made[-1] += " " + inline(line.strip())
            continue
        found = re.match(r"([\w., *]+): (.*)", line)
        made.append(f"- {', '.join(f'`{name.strip()}`' for name in found[1].split(','))}: {inline(found[2])}" if found else f"- {inline(line.strip())}")
    return made


def inline(line):
    """A line of reStructuredText in Markdown: roles and literals are code."""
    line = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", line)
    return line.replace("``", "`")


if __name__ == "__main__":
    sys.stdout.write(page())
