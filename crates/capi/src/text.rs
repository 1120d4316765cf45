//! Handles of text: errors and strings.

use crate::boundary::entry::{free_entries, plain_entries};
use crate::boundary::handle::kinds;
use crate::boundary::{In, New, Out, OutText};
use crate::failure::Failure;
use std::ffi::c_char;

/// An error that C holds.
#[derive(Debug)]
pub(crate) struct ErrorText(pub(crate) String);

/// A text that C holds.
#[derive(Debug)]
pub(crate) struct TextHandle(pub(crate) String);

impl From<Failure> for ErrorText {
    fn from(failure: Failure) -> ErrorText {
        ErrorText(failure.to_string())
    }
}

kinds! { ErrorText => "error", TextHandle => "string" }

plain_entries! {
    fn tiledb_error_message(error: In<ErrorText>, message: OutText) {
        let slot = error.slot()?;
        let text = &slot.read().0;
        message.put(if text.is_empty() { std::ptr::null() } else { slot.lend_text(text) })
    }

    fn tiledb_string_view(text: In<TextHandle>, data: Out<*const c_char>, length: Out<usize>) {
        let slot = text.slot()?;
        data.check()?;
        length.put(slot.read().0.len())?;
        data.put(slot.lend_text(&slot.read().0))
    }

    fn tiledb_string_free(text: New<TextHandle>) {
        text.free()
    }
}

free_entries! { tiledb_error_free: ErrorText }
