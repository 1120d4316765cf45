//! What a read did and asked of the store, on standard error.

use crate::args::Global;
use smalti_tools::report::statistics::Done;

/// Prints what opening and read did.
pub(crate) fn print(global: &Global, done: &Done) {
    if global.json {
        eprintln!("{}", done.lines_json());
    } else {
        done.lines().iter().for_each(|line| eprintln!("{line}"));
    }
}
