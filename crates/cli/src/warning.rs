//! Warnings: what people should know although the command goes on. Each is one line on standard error, an object with `--json`.

use crate::args::Global;
use smalti_tools::Warning;
use std::fmt;

/// Warns about an array, a group or a file.
pub(crate) fn warn(global: &Global, uri: &str, message: impl fmt::Display) {
    let uri = smalti::without_login(uri);
    if global.json {
        let json = serde_json::json!({"kind": "warning", "message": message.to_string(), "uri": uri});
        eprintln!("{json}");
    } else {
        eprintln!("smalti: warning: {uri}: {message}");
    }
}

/// Prints the warnings of work.
pub(crate) fn warnings(global: &Global) -> impl Fn(Warning) + '_ {
    |Warning { uri, message }| warn(global, &uri, message)
}
