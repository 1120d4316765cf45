//! Why a command ended without success, and the exit status that says so.

use crate::interrupt::{name_of, status_of};
use serde_json::json;
use smalti::ErrorKind;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether failures are told as JSON: known before the command line is parsed, which can fail itself.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// From now on every failure is told as a JSON object.
pub(crate) fn report_as_json() {
    IS_JSON.store(true, Relaxed);
}

/// The result of a command or of a step of one.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// What stopped a command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line says something that has no meaning: exit status 2.
    Usage(String),
    /// The engine or the system refused: exit status 1.
    Error(smalti::Error),
    /// A signal stopped the command: exit status 128 and the number of the signal.
    Stopped(usize),
    /// Nothing went wrong, but the exit status tells what was found.
    Silent(u8),
    /// Whoever read the output has gone, as `head` does: no failure.
    ReaderGone,
    /// Any of the others, in a command that was given this array or group.
    Of(Box<Failure>, String),
}

impl Failure {
    /// Wrong usage, with what to do instead.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure::Usage(message.into())
    }

    /// Input or request that cannot be carried out.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Failure::Error(smalti::Error::invalid(message))
    }

    /// Names the file or array that an error is about, unless the engine already did.
    pub(crate) fn at(self, uri: impl Into<String>) -> Self {
        match self {
            Failure::Error(error) => Failure::Error(error.at_uri(uri)),
            other => other,
        }
    }

    /// As [`at`](Failure::at), and says that the array or group is what the command was given, whichever of its files the error
    /// is about.
    pub(crate) fn of(self, uri: &str) -> Self {
        Failure::Of(Box::new(self.at(uri)), smalti::without_login(uri))
    }

    /// Prints one line to standard error, a JSON object with `--json`, and gives the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        match self.root() {
            Failure::ReaderGone => return ExitCode::SUCCESS,
            Failure::Silent(status) => return ExitCode::from(*status),
            _ if IS_JSON.load(Relaxed) => eprintln!("{}", self.to_json()),
            _ => eprintln!("smalti: {}", one_line(&self.to_string())),
        }
        ExitCode::from(match self.root() {
            Failure::Usage(_) => 2,
            Failure::Stopped(signal) => u8::try_from(status_of(*signal)).unwrap_or(1),
            _ => 1,
        })
    }

    /// The failure itself, without the command that it belongs to.
    pub(crate) fn root(&self) -> &Failure {
        match self {
            Failure::Of(failure, _) => failure.root(),
            failure => failure,
        }
    }

    /// The failure for programs: its kind, the message without the place, and the place. What is not known is null.
    fn to_json(&self) -> serde_json::Value {
        let mut uri = match self {
            Failure::Of(_, uri) => Some(uri.clone()),
            _ => None,
        };
        let (mut file, mut field, mut offset) = (None, None, None);
        let (kind, message) = match self.root() {
            Failure::Error(error) => {
                let location = error.location();
                match (&uri, &location.uri) {
                    (Some(given), Some(found)) if !is_same_place(given, found) => file = Some(found.clone()),
                    (None, found) => uri = found.clone(),
                    _ => {}
                }
                field = location.structure.map(|structure| match &location.field {
                    Some(field) => format!("{structure}.{field}"),
                    None => structure.to_string(),
                });
                offset = location.byte_offset;
                (name_of_kind(error.kind()), error.message().to_string())
            }
            Failure::Usage(_) => ("usage", self.to_string()),
            Failure::Stopped(_) => ("stopped", self.to_string()),
            _ => ("none", self.to_string()),
        };
        let message = one_line(&message);
        json!({"kind": kind, "message": message, "uri": uri, "file": file, "field": field, "offset": offset})
    }
}

/// The kind of an error for programs.
fn name_of_kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "not_found",
        ErrorKind::AlreadyExists => "already_exists",
        ErrorKind::Corrupt => "corrupt",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::InvalidArgument => "invalid_argument",
        ErrorKind::Permission => "permission",
        ErrorKind::Io => "io",
        ErrorKind::Cancelled => "cancelled",
        ErrorKind::OutOfMemory => "out_of_memory",
        _ => "other",
    }
}

/// Whether two spellings name one thing.
fn is_same_place(a: &str, b: &str) -> bool {
    let plain = |uri: &str| {
        let path = Path::new(uri.strip_prefix("file://").unwrap_or(uri));
        std::path::absolute(path).map(|path| path.components().collect::<std::path::PathBuf>())
    };
    a == b || plain(a).is_ok_and(|a| plain(b).is_ok_and(|b| a == b))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message) => f.write_str(message),
            Failure::Error(error) => write!(f, "{error}"),
            Failure::Stopped(signal) => write!(f, "stopped by {} before the end", name_of(*signal)),
            Failure::Silent(_) => f.write_str("the exit status tells what was found"),
            Failure::ReaderGone => f.write_str("nobody reads the output"),
            Failure::Of(failure, _) => write!(f, "{failure}"),
        }
    }
}

impl From<smalti::Error> for Failure {
    fn from(error: smalti::Error) -> Self {
        Failure::Error(error)
    }
}

impl From<smalti_tools::Failure> for Failure {
    fn from(failure: smalti_tools::Failure) -> Self {
        match failure {
            smalti_tools::Failure::Usage(message) => Failure::Usage(message),
            smalti_tools::Failure::Error(error) => Failure::Error(error),
            smalti_tools::Failure::ReaderGone => Failure::ReaderGone,
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        smalti_tools::Failure::from(error).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_the_kind_and_the_place() {
        let damage = smalti::Error::corrupt("count 9 exceeds the 3 bytes left")
            .in_field("footer", "tile_count")
            .at_offset(17)
            .at_uri("a/__fragments/x");
        let json = Failure::from(damage).at("a").of("a").to_json();
        assert_eq!(
            json.to_string(),
            r#"{"kind":"corrupt","message":"count 9 exceeds the 3 bytes left","uri":"a","file":"a/__fragments/x","field":"footer.tile_count","offset":17}"#
        );
        let json = Failure::from(smalti::Error::not_found("no array")).of("a").to_json();
        assert_eq!(
            json.to_string(),
            r#"{"kind":"not_found","message":"no array","uri":"a","file":null,"field":null,"offset":null}"#
        );
        let failure = Failure::usage("both").of("a");
        assert_eq!((failure.to_json()["kind"].as_str(), failure.to_string()), (Some("usage"), "both".into()));
        assert_eq!(Failure::Stopped(2).to_json()["kind"], "stopped");
        assert!(is_same_place("a/", "a") && is_same_place("file:///a/b", "/a/b") && !is_same_place("a", "b"));
    }

    #[test]
    fn messages_are_one_line() {
        assert_eq!(one_line("a\n  b\tc"), "a b c");
    }
}
