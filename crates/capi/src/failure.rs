//! What stops an entry, and what is told of it.

use std::any::Any;
use std::fmt;

/// Why an entry did not do what it was asked.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// A text in libtiledb's form: origin, colon, message.
    Told(String),
    /// There is not enough memory.
    OutOfMemory,
}

/// What an entry does, or why not.
pub(crate) type Fallible<T> = Result<T, Failure>;

impl Failure {
    /// A failure that `origin` tells.
    pub(crate) fn told(origin: &str, message: impl fmt::Display) -> Failure {
        Failure::Told(format!("{origin}: {message}"))
    }

    /// A failure of the engine, told by `origin`.
    pub(crate) fn of(origin: &'static str) -> impl Fn(smalti::Error) -> Failure {
        move |error| Failure::told(origin, error)
    }

    /// A failure to open an array; that there is none is told in libtiledb's words, which clients look for.
    pub(crate) fn of_opening(origin: &'static str) -> impl Fn(smalti::Error) -> Failure {
        move |error| match error.kind() {
            smalti::ErrorKind::NotFound => {
                Failure::told("TileDB internal", "Cannot open array; Array does not exist.")
            }
            _ => Failure::told(origin, error),
        }
    }

    /// What is left of a panic.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Failure {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Failure::told("TileDB internal", text.unwrap_or("unknown exception type; no further information"))
    }
}

/// Fails, as `origin` tells.
pub(crate) fn fail<T>(origin: &str, message: impl fmt::Display) -> Fallible<T> {
    Err(Failure::told(origin, message))
}

impl From<smalti::Error> for Failure {
    fn from(error: smalti::Error) -> Failure {
        if error.kind() == smalti::ErrorKind::OutOfMemory {
            return Failure::OutOfMemory;
        }
        Failure::told("TileDB", error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Told(text) => f.write_str(text),
            Failure::OutOfMemory => f.write_str("C API: out of memory"),
        }
    }
}
