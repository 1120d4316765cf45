"""Counts of the tests inside the wheel of TileDB-Py, for `cargo xtask`: a plugin, `pytest -p drop_in --pyargs tiledb`."""


def pytest_terminal_summary(terminalreporter):
    counts = {kind: len(terminalreporter.stats.get(kind, [])) for kind in ("passed", "failed", "error")}
    terminalreporter.write_line(f"{counts['passed']} passed, {counts['failed'] + counts['error']} failed")
