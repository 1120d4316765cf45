//! Why work ended without success.

use std::fmt;

/// The result of work or of a step of it.
pub type Outcome<T = ()> = Result<T, Failure>;

/// What stopped work.
#[derive(Debug)]
pub enum Failure {
    /// Options that have no meaning, alone or together; the message says what to do instead.
    Usage(String),
    /// The engine or the system refused.
    Error(smalti::Error),
    /// Whoever read the output has gone, as `head` does: no failure.
    ReaderGone,
}

impl Failure {
    /// Wrong usage, with what to do instead.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure::Usage(message.into())
    }

    /// Input or request that cannot be carried out.
    pub fn invalid(message: impl Into<String>) -> Self {
        Failure::Error(smalti::Error::invalid(message))
    }

    /// Names the file or array that an error is about, unless the engine already did.
    pub fn at(self, uri: impl Into<String>) -> Self {
        match self {
            Failure::Error(error) => Failure::Error(error.at_uri(uri)),
            other => other,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message) => f.write_str(message),
            Failure::Error(error) => write!(f, "{error}"),
            Failure::ReaderGone => f.write_str("nobody reads the output"),
        }
    }
}

impl std::error::Error for Failure {}

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

impl From<Failure> for smalti::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Usage(message) => smalti::Error::invalid(message),
            Failure::Error(error) => error,
            Failure::ReaderGone => std::io::Error::from(std::io::ErrorKind::BrokenPipe).into(),
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
    fn wrong_usage_is_an_invalid_argument() {
        let error = smalti::Error::from(Failure::usage("both"));
        assert_eq!((error.kind(), error.message()), (smalti::ErrorKind::InvalidArgument, "both"));
    }
}
