"""Counts of the tests inside the wheel of TileDB-Py, for `cargo xtask`: a plugin, `pytest -p drop_in --pyargs tiledb`.

Its tests that draw what they do draw the same in each run: by chance they draw so many ranges outside of the domain that hypothesis gives up.
"""

import hypothesis

hypothesis.settings.register_profile("smalti", derandomize=True, database=None)
hypothesis.settings.load_profile("smalti")


def pytest_terminal_summary(terminalreporter):
    counts = {kind: len(terminalreporter.stats.get(kind, [])) for kind in ("passed", "failed", "error")}
    terminalreporter.write_line(f"{counts['passed']} passed, {counts['failed'] + counts['error']} failed")
