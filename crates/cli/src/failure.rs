//! Why a command ended without success, and the exit status that says so.

use crate::interrupt::{name_of, status_of};
use std::fmt;
use std::process::ExitCode;

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

    /// Prints one line to standard error and gives the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Failure::ReaderGone => return ExitCode::SUCCESS,
            Failure::Silent(status) => return ExitCode::from(*status),
            _ => eprintln!("smalti: {}", one_line(&self.to_string())),
        }
        ExitCode::from(match self {
            Failure::Usage(_) => 2,
            Failure::Stopped(signal) => u8::try_from(status_of(*signal)).unwrap_or(1),
            _ => 1,
        })
    }
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
        }
    }
}

impl From<smalti::Error> for Failure {
    fn from(error: smalti::Error) -> Self {
        Failure::Error(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Failure::ReaderGone
        } else {
            Failure::Error(error.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let error = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert!(matches!(Failure::from(error), Failure::ReaderGone));
    }

    #[test]
    fn messages_are_one_line() {
        assert_eq!(one_line("a\n  b\tc"), "a b c");
    }
}
