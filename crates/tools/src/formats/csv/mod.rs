//! Comma-separated values (RFC 4180) with a header line.
//!
//! Strings, numbers and dates stand as plain text; lists and bytes that are no text in their JSON notation. Null is an
//! empty field without quotes, the empty string one with quotes.

mod read;
mod write;

pub(crate) use read::read_csv;
pub use write::CsvSink;
