//! Times on the command line.

use smalti_tools::When;
use smalti_tools::when::clock_ms;
use std::sync::OnceLock;

/// How the help of an option calls a time.
pub(super) const TIME: &str = "TIME";

/// A value parser of times. What `now` means is the same all through a command.
pub(super) fn parse_time(text: &str) -> Result<When, String> {
    static NOW: OnceLock<u64> = OnceLock::new();
    When::parse(text, *NOW.get_or_init(clock_ms))
}
