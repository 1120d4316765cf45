//! Entries: functions that C calls. All of them are made by the macros here, and go through one guard.
#![allow(unsafe_code, reason = "a name that C finds is an unsafe attribute")]

use super::{Handle, In, New};
use crate::failure::{Failure, Fallible, fail};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, Ordering};

/// All went well.
pub(crate) const OK: i32 = 0;
/// Something did not; the context, or the error that was asked for, says what.
const ERR: i32 = -1;
/// There is not enough memory.
const OOM: i32 = -2;
/// The context is none.
const INVALID_CONTEXT: i32 = -3;
/// The place for the error is none.
const INVALID_ERROR: i32 = -4;

/// What keeps the last error of calls that it is passed to.
pub(crate) trait KeepsError: Handle {
    /// Keeps what is told when somebody asks for the last error.
    fn keep_error(&self, failure: &Failure);
}

/// Entries whose first argument is the context, which keeps the error. Who calls this names the type `Context`.
macro_rules! entries {
    ($($(#[$attribute:meta])* fn $name:ident($ctx:ident $(, $argument:tt: $type:ty)* $(,)?) $body:block)*) => {$(
        $(#[$attribute])*
        #[allow(unsafe_code, reason = "a name that C finds is an unsafe attribute")]
        #[unsafe(no_mangle)]
        extern "C" fn $name($ctx: $crate::boundary::In<Context> $(, $argument: $type)*) -> i32 {
            $crate::boundary::entry::with_context($ctx, |$ctx| {
                let _ = $ctx;
                $body
            })
        }
    )*};
}

/// Entries that list something under the guard, and then call back for each item of the list. The callbacks are called outside of
/// it: Rust's guard ends the program at an exception of C++.
macro_rules! callback_entries {
    ($(fn $name:ident($ctx:ident $(, $argument:tt: $type:ty)* $(,)?) $list:block each |$item:ident| $call:block)*) => {$(
        #[allow(unsafe_code, reason = "a name that C finds is an unsafe attribute")]
        #[unsafe(no_mangle)]
        extern "C-unwind" fn $name($ctx: $crate::boundary::In<Context> $(, $argument: $type)*) -> i32 {
            $crate::boundary::entry::with_callbacks($ctx, |$ctx| $list, |$item| $call)
        }
    )*};
}

/// Entries that return a code and have no place for an error.
macro_rules! plain_entries {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:tt: $type:ty),* $(,)?) $body:block)*) => {$(
        $(#[$attribute])*
        #[allow(unsafe_code, reason = "a name that C finds is an unsafe attribute")]
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) -> i32 {
            $crate::boundary::entry::plain(|| $body)
        }
    )*};
}

/// Entries whose last argument is a place for an error. Who calls this names the type `ErrorText`.
macro_rules! error_entries {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:tt: $type:ty),* ; error) $body:block)*) => {$(
        $(#[$attribute])*
        #[allow(unsafe_code, reason = "a name that C finds is an unsafe attribute")]
        #[unsafe(no_mangle)]
        extern "C" fn $name(
            $($argument: $type,)*
            error: $crate::boundary::New<ErrorText>,
        ) -> i32 {
            $crate::boundary::entry::with_error(error, || $body)
        }
    )*};
}

/// Entries that free a handle and return nothing.
macro_rules! free_entries {
    ($($name:ident: $kind:ty),* $(,)?) => {$(
        #[allow(unsafe_code, reason = "a name that C finds is an unsafe attribute")]
        #[unsafe(no_mangle)]
        extern "C" fn $name(handle: $crate::boundary::New<$kind>) {
            $crate::boundary::entry::plain(|| handle.free());
        }
    )*};
}

/// Entries that return a value and cannot fail.
macro_rules! value_entries {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:tt: $type:ty),*) -> $result:ty $body:block)*) => {$(
        $(#[$attribute])*
        #[allow(unsafe_code, reason = "a name that C finds is an unsafe attribute")]
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) -> $result $body
    )*};
}

/// Symbols that are data: pointers whose addresses mean something, and nothing behind them.
macro_rules! data_symbols {
    ($($name:ident = $place:expr;)*) => {$(
        #[allow(unsafe_code, reason = "a name that C finds is an unsafe attribute")]
        #[allow(non_upper_case_globals, reason = "the name is C's")]
        #[unsafe(no_mangle)]
        static $name: $crate::boundary::entry::Constant = $crate::boundary::entry::Constant::new($place);
    )*};
}

/// A pointer that nobody here changes. It lies in memory that can be written, as an atomic one does: a program that was linked with this
/// library has a copy of it where the linker found that memory, and libtiledb writes its own pointers into the copy at its start.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Constant(AtomicPtr<u8>);

impl Constant {
    /// A pointer to a place.
    pub(crate) const fn new(place: &'static u8) -> Constant {
        Constant(AtomicPtr::new(std::ptr::from_ref(place).cast_mut()))
    }

    /// The pointer.
    pub(crate) fn address(&self) -> *const u8 {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) use {
    callback_entries, data_symbols, entries, error_entries, free_entries, plain_entries, value_entries,
};

/// What a failure returns.
fn code_of(failure: &Failure) -> i32 {
    match failure {
        Failure::OutOfMemory => OOM,
        _ => ERR,
    }
}

/// Runs the body of an entry; a panic is a failure like others.
fn guarded(body: impl FnOnce() -> Fallible<()>) -> Fallible<()> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(panic) => Err(Failure::of_panic(panic.as_ref())),
    }
}

/// Runs an entry that has a context.
pub(crate) fn with_context<C: KeepsError>(ctx: In<C>, body: impl FnOnce(&C) -> Fallible<()>) -> i32 {
    let Ok(context) = ctx.read() else { return INVALID_CONTEXT };
    match guarded(|| body(&context)) {
        Ok(()) => OK,
        Err(failure) => {
            let code = code_of(&failure);
            context.keep_error(&failure);
            code
        }
    }
}

/// Runs an entry that calls back for each item of a list, until an answer of 0 stops it, or of -1 is an error.
pub(crate) fn with_callbacks<C: KeepsError, T>(
    ctx: In<C>,
    list: impl FnOnce(&C) -> Fallible<Vec<T>>,
    call: impl Fn(&T) -> Fallible<i32>,
) -> i32 {
    let mut items = Vec::new();
    let code = with_context(ctx, |context| {
        items = list(context)?;
        Ok(())
    });
    if code != OK {
        return code;
    }
    for item in &items {
        match call(item) {
            Ok(0) => return OK,
            Ok(-1) => return with_context(ctx, |_| fail("C API", "the callback reported an error")),
            Ok(_) => {}
            Err(failure) => return with_context(ctx, |_| Err(failure)),
        }
    }
    OK
}

/// Runs an entry that has a place for an error.
pub(crate) fn with_error<E: Handle + From<Failure>>(
    error: New<E>,
    body: impl FnOnce() -> Fallible<()>,
) -> i32 {
    if error.is_null() {
        return INVALID_ERROR;
    }
    let result = guarded(body);
    let told = match &result {
        Ok(()) => error.put_null(),
        Err(failure) => error.put(E::from(failure.clone())),
    };
    match result.and(told) {
        Ok(()) => OK,
        Err(failure) => code_of(&failure),
    }
}

/// Runs an entry that has neither.
pub(crate) fn plain(body: impl FnOnce() -> Fallible<()>) -> i32 {
    match guarded(body) {
        Ok(()) => OK,
        Err(failure) => code_of(&failure),
    }
}
