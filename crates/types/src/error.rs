//! The one error type of smalti.

use std::fmt;

/// The result of every fallible operation of smalti.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in the categories that a caller can act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The array, group, file or field is not there.
    NotFound,
    /// Something is there that was to be created.
    AlreadyExists,
    /// Bytes on disk contradict the format.
    Corrupt,
    /// The bytes or the request are valid, but this release cannot handle them.
    Unsupported,
    /// An argument is wrong; nothing was read or written.
    InvalidArgument,
    /// The storage refused access, or the encryption key is absent or wrong.
    Permission,
    /// The storage failed.
    Io,
    /// The caller cancelled the operation.
    Cancelled,
    /// The memory budget is too small for the operation, or memory ran out.
    OutOfMemory,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorKind::NotFound => "not found",
            ErrorKind::AlreadyExists => "already exists",
            ErrorKind::Corrupt => "corrupt",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::InvalidArgument => "invalid argument",
            ErrorKind::Permission => "permission denied",
            ErrorKind::Io => "input/output error",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::OutOfMemory => "out of memory budget",
        })
    }
}

/// Where in a damaged file an error was found. Every part is optional: the layers fill in what they know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Location {
    /// The URI of the array, group or file.
    pub uri: Option<String>,
    /// The on-disk structure, as named in the format specification.
    pub structure: Option<&'static str>,
    /// The field of that structure.
    pub field: Option<String>,
    /// The byte offset from the start of the file, or of the unfiltered tile that holds the structure.
    pub byte_offset: Option<u64>,
}

/// An error: a kind to act on, a message for people, and the place of the damage where there is one.
#[derive(Clone)]
pub struct Error {
    inner: Box<Inner>,
}

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    location: Location,
}

impl Error {
    /// Makes an error of a kind with a message that quotes the offending values.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { inner: Box::new(Inner { kind, message: message.into(), location: Location::default() }) }
    }

    /// Bytes on disk contradict the format.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Corrupt, message)
    }

    /// An argument is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::InvalidArgument, message)
    }

    /// Valid, but not handled by this release.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Unsupported, message)
    }

    /// Nothing of that name is there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::NotFound, message)
    }

    /// The category of the error.
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// The message without the location.
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// Where the error was found.
    pub fn location(&self) -> &Location {
        &self.inner.location
    }

    /// Names the array, group or file, unless a deeper layer already did. A password in the URI is [left out](without_login).
    #[must_use]
    pub fn at_uri(mut self, uri: impl Into<String>) -> Self {
        self.inner.location.uri.get_or_insert_with(|| without_login(&uri.into()));
        self
    }

    /// Names the on-disk structure and field, unless a deeper layer already did.
    #[must_use]
    pub fn in_field(mut self, structure: &'static str, field: impl Into<String>) -> Self {
        let location = &mut self.inner.location;
        if location.structure.is_none() {
            location.structure = Some(structure);
            location.field = Some(field.into());
        }
        self
    }

    /// States the byte offset, unless a deeper layer already did.
    #[must_use]
    pub fn at_offset(mut self, byte_offset: u64) -> Self {
        self.inner.location.byte_offset.get_or_insert(byte_offset);
        self
    }

    /// Puts a phrase that names the operation in front of the message.
    #[must_use]
    pub fn context(mut self, phrase: impl fmt::Display) -> Self {
        self.inner.message = format!("{phrase}: {}", self.inner.message);
        self
    }
}

/// A URI without the name and password that one of HTTP may have in front of the host (RFC 3986, section 3.2.1): as it may be shown.
pub fn without_login(uri: &str) -> String {
    let scheme = ["http://", "https://"]
        .into_iter()
        .find(|&scheme| uri.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let Some((scheme, rest)) = scheme.and_then(|scheme| uri.split_at_checked(scheme.len())) else {
        return uri.to_owned();
    };
    let host_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest.get(..host_end).unwrap_or_default();
    // Whoever forgot to encode a slash in a password does not show it either: what is in front of it is no port then.
    let is_cut = host.split_once(':').is_some_and(|(_, port)| !port.bytes().all(|b| b.is_ascii_digit()));
    let login_end = host.rfind('@').or_else(|| rest.rfind('@').filter(|_| is_cut));
    match login_end.and_then(|at| rest.get(at + 1..)) {
        Some(place) => [scheme, place].concat(),
        None => uri.to_owned(),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, message, location } = &*self.inner;
        if let Some(uri) = &location.uri {
            write!(f, "{uri}: ")?;
        }
        if let Some(structure) = location.structure {
            write!(f, "{structure}")?;
            if let Some(field) = &location.field {
                write!(f, ".{field}")?;
            }
            if let Some(offset) = location.byte_offset {
                write!(f, " at byte {offset}")?;
            }
            f.write_str(": ")?;
        } else if let Some(offset) = location.byte_offset {
            write!(f, "at byte {offset}: ")?;
        }
        match kind {
            ErrorKind::InvalidArgument | ErrorKind::NotFound | ErrorKind::AlreadyExists => {
                f.write_str(message)
            }
            kind => write!(f, "{kind}: {message}"),
        }
    }
}

impl fmt::Debug for Error {
    /// The message, and the kind by its name: this is what a program prints whose `main` returns the error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} ({:?})", self.kind())
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    /// An error that went through a reader or writer of the standard library comes out as it went in.
    fn from(error: std::io::Error) -> Self {
        let error = match error.downcast::<Error>() {
            Ok(error) => return error,
            Err(error) => error,
        };
        use std::io::ErrorKind as Os;
        let kind = match error.kind() {
            Os::NotFound => ErrorKind::NotFound,
            Os::AlreadyExists => ErrorKind::AlreadyExists,
            Os::PermissionDenied => ErrorKind::Permission,
            Os::OutOfMemory => ErrorKind::OutOfMemory,
            _ => ErrorKind::Io,
        };
        Error::new(kind, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_main_returns_reads_as_its_message_and_kind() {
        let error = Error::not_found("no array is here").at_uri("a");
        assert_eq!(format!("{error:?}"), "a: no array is here (NotFound)");
    }

    #[test]
    fn an_error_that_went_through_a_reader_comes_out_as_it_went_in() {
        let error = Error::from(std::io::Error::other(Error::new(ErrorKind::Cancelled, "stopped")));
        assert_eq!((error.kind(), error.message()), (ErrorKind::Cancelled, "stopped"));
    }

    #[test]
    fn passwords_of_uris_are_not_told() {
        for (uri, shown) in [
            ("http://ann:secret@host:80/a", "http://host:80/a"),
            ("HTTPS://ann:se/cr@et@host/a", "HTTPS://host/a"),
            ("https://ann@host/a@b", "https://host/a@b"),
            ("https://host:80/a@b:c@d", "https://host:80/a@b:c@d"),
            ("abfss://box@account/a", "abfss://box@account/a"),
            ("a@b/c", "a@b/c"),
        ] {
            assert_eq!(without_login(uri), shown);
            assert!(Error::invalid("x").at_uri(uri).to_string().starts_with(shown), "{uri}");
        }
    }

    #[test]
    fn the_deepest_location_is_kept() {
        let error = Error::corrupt("count 9 exceeds the 3 bytes left")
            .in_field("footer", "tile_count")
            .at_offset(17)
            .in_field("fragment metadata", "footer")
            .at_uri("a/__fragments/x")
            .at_uri("a");
        assert_eq!(
            error.to_string(),
            "a/__fragments/x: footer.tile_count at byte 17: corrupt: count 9 exceeds the 3 bytes left"
        );
    }
}
