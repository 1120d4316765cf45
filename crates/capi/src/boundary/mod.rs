//! Where C ends: the types of arguments, what is behind pointers, the guard that every entry goes through.
//!
//! The types of arguments are pointers that nothing in Rust can make: only a C program passes them. What may be assumed of them is what
//! the header says, so their methods are safe to call for the rest of the crate, which has no `unsafe` code.

pub(crate) mod entry;
pub(crate) mod handle;
pub(crate) mod memory;
mod throws;

pub(crate) use handle::{Handle, In, New, Slot};
pub(crate) use memory::{Data, DataOut, Out, OutText, Text};
