//! Memory of the caller: numbers, texts and buffers that C passes or waits for.
#![allow(unsafe_code, reason = "the caller's memory is behind pointers")]

use super::throws::caught;
use crate::failure::{Failure, Fallible, fail};
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::NonNull;

/// Text that C passes; it ends in a zero byte.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Text(Option<NonNull<c_char>>);

impl Text {
    /// The text; a null pointer, or one that is no UTF-8, is refused, naming the argument.
    pub(crate) fn get(&self, argument: &str) -> Fallible<&str> {
        match self.optional()? {
            Some(text) => Ok(text),
            None => fail("C API", format!("argument `{argument}` may not be nullptr")),
        }
    }

    /// The text, if there is one.
    pub(crate) fn optional(&self) -> Fallible<Option<&str>> {
        let Some(start) = self.0 else { return Ok(None) };
        // SAFETY: C passes text that ends in a zero byte, and leaves it alone during the call.
        let text = unsafe { CStr::from_ptr(start.as_ptr()) };
        match text.to_str() {
            Ok(text) => Ok(Some(text)),
            Err(_) => fail("C API", "text that is not UTF-8"),
        }
    }

    /// The text, or nothing where there is none.
    pub(crate) fn or_empty(&self) -> Fallible<&str> {
        Ok(self.optional()?.unwrap_or_default())
    }
}

/// A place for a number or a pointer that the caller waits for.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Out<T>(Option<NonNull<T>>);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

/// A place for a pointer to text.
pub(crate) type OutText = Out<*const c_char>;

impl<T: Copy> Out<T> {
    /// That there is a place.
    pub(crate) fn check(&self) -> Fallible<()> {
        match self.0 {
            Some(_) => Ok(()),
            None => fail("C API", "Invalid output pointer for object"),
        }
    }

    /// Puts a value there.
    pub(crate) fn put(&self, value: T) -> Fallible<()> {
        let Some(place) = self.0 else { return self.check() };
        // SAFETY: C passes a place for a value of this type.
        unsafe { place.write_unaligned(value) };
        Ok(())
    }

    /// Puts a value there, if somebody waits for it.
    pub(crate) fn put_if(&self, value: T) {
        if !self.is_null() {
            // There is a place.
            let _ = self.put(value);
        }
    }

    /// What is there.
    pub(crate) fn get(&self) -> Fallible<T> {
        match self.0 {
            // SAFETY: C passes the place of a value of this type.
            Some(place) => Ok(unsafe { place.read_unaligned() }),
            None => Err(Failure::told("C API", "Invalid output pointer for object")),
        }
    }

    /// Whether there is no place.
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_none()
    }
}

/// Bytes that C passes.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Data(Option<NonNull<u8>>);

impl Data {
    /// So many bytes; a null pointer is refused, but for none.
    pub(crate) fn bytes(&self, byte_len: u64, argument: &str) -> Fallible<&[u8]> {
        match self.optional(byte_len)? {
            Some(bytes) => Ok(bytes),
            None if byte_len == 0 => Ok(&[]),
            None => fail("C API", format!("argument `{argument}` may not be nullptr")),
        }
    }

    /// So many bytes, if the pointer is not null.
    pub(crate) fn optional(&self, byte_len: u64) -> Fallible<Option<&[u8]>> {
        let Some(start) = self.0 else { return Ok(None) };
        let Some(byte_len) = usize::try_from(byte_len).ok().filter(|len| isize::try_from(*len).is_ok())
        else {
            return fail("C API", format!("{byte_len} bytes are more than memory has"));
        };
        // SAFETY: C says how many bytes there are, and leaves them alone during the call.
        Ok(Some(unsafe { std::slice::from_raw_parts(start.as_ptr(), byte_len) }))
    }

    /// Whether there are none.
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_none()
    }
}

/// A place for bytes whose number both sides know.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct DataOut(Option<NonNull<u8>>);

impl DataOut {
    /// Puts bytes there.
    pub(crate) fn put(&self, bytes: &[u8]) -> Fallible<()> {
        let Some(place) = self.0 else { return fail("C API", "Invalid output pointer for object") };
        // SAFETY: the header says how long what is put here is, and C has made room for it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// So many bytes, to write to.
    pub(crate) fn place<'a>(self, byte_len: u64) -> Fallible<&'a mut [u8]> {
        let Some(place) = self.0 else { return fail("C API", "Invalid output pointer for object") };
        let Ok(byte_len) = usize::try_from(byte_len) else {
            return fail("C API", "more bytes than memory has");
        };
        // SAFETY: C says how many bytes there are, and nobody else has them during the call.
        Ok(unsafe { std::slice::from_raw_parts_mut(place.as_ptr(), byte_len) })
    }

    /// Whether there is no place.
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_none()
    }
}

/// A buffer of the caller that a query keeps from call to call: where it is, and where its length is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffer {
    data: Option<NonNull<u8>>,
    len: Option<NonNull<u64>>,
}

// SAFETY: the caller hands the buffer over until the query is done with it.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A buffer of `*len` bytes.
    pub(crate) fn new(data: DataOut, len: Out<u64>) -> Buffer {
        Buffer { data: data.0, len: len.0 }
    }

    /// Memory whose length is kept elsewhere.
    pub(crate) fn of(data: DataOut) -> Buffer {
        Buffer { data: data.0, len: None }
    }

    /// Its length in bytes, as the caller tells it now.
    pub(crate) fn byte_len(&self) -> u64 {
        // SAFETY: the caller keeps the length where it said.
        self.len.map_or(0, |len| unsafe { len.read_unaligned() })
    }

    /// Tells the caller how many bytes are used.
    pub(crate) fn set_byte_len(&self, byte_len: u64) {
        if let Some(len) = self.len {
            // SAFETY: the caller keeps the length where it said.
            unsafe { len.write_unaligned(byte_len) };
        }
    }

    /// The bytes to read.
    pub(crate) fn bytes(&self) -> &[u8] {
        let len = usize::try_from(self.byte_len()).unwrap_or(0);
        match self.data {
            // SAFETY: the caller says how many bytes there are, and leaves them alone during the call.
            Some(data) => unsafe { std::slice::from_raw_parts(data.as_ptr(), len) },
            None => &[],
        }
    }

    /// The first bytes, to write to; no two buffers of a query overlap.
    pub(crate) fn bytes_mut(&mut self, byte_len: u64) -> &mut [u8] {
        let len = usize::try_from(byte_len).unwrap_or(0);
        match self.data {
            // SAFETY: the caller says how many bytes there are, and nobody else has them during the call.
            Some(data) => unsafe { std::slice::from_raw_parts_mut(data.as_ptr(), len) },
            None => &mut [],
        }
    }

    /// Where it is.
    pub(crate) fn address(&self) -> *mut c_void {
        self.data.map_or(std::ptr::null_mut(), |data| data.as_ptr().cast())
    }

    /// Where its length is.
    pub(crate) fn len_address(&self) -> *mut u64 {
        self.len.map_or(std::ptr::null_mut(), NonNull::as_ptr)
    }
}

/// Several texts that C passes.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Texts(Option<NonNull<Text>>);

impl Texts {
    /// So many texts.
    pub(crate) fn get(&self, count: u64, argument: &str) -> Fallible<Vec<String>> {
        let Some(start) = self.0 else {
            return fail("C API", format!("argument `{argument}` may not be nullptr"));
        };
        let count = usize::try_from(count).map_err(|_| Failure::told("C API", "too many texts"))?;
        // SAFETY: C says how many pointers there are.
        let texts = unsafe { std::slice::from_raw_parts(start.as_ptr(), count) };
        texts.iter().map(|text| Ok(text.get(argument)?.to_owned())).collect()
    }
}

/// Text that the caller frees by an entry of ours.
pub(crate) fn give_text(place: Out<*mut c_char>, text: &str) -> Fallible<()> {
    place.check()?;
    let text =
        CString::new(text.replace('\0', " ")).map_err(|_| Failure::told("C API", "text with a zero byte"))?;
    place.put(text.into_raw())
}

/// Frees such text, and leaves null.
pub(crate) fn free_text(place: Out<*mut c_char>) -> Fallible<()> {
    let text = place.get()?;
    if !text.is_null() {
        // SAFETY: it was made by `give_text`.
        drop(unsafe { CString::from_raw(text) });
    }
    place.put(std::ptr::null_mut())
}

/// A stream of C.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Stream(Option<NonNull<c_void>>);

unsafe extern "C" {
    fn fputs(text: *const c_char, stream: *mut c_void) -> i32;
    #[link_name = "stdout"]
    static STDOUT: *mut c_void;
}

impl Stream {
    /// Writes text there; a null stream is the standard output.
    pub(crate) fn put(&self, text: &str) -> Fallible<()> {
        let text = CString::new(text.replace('\0', " "))
            .map_err(|_| Failure::told("C API", "text with a zero byte"))?;
        // SAFETY: `stdout` is what C's library says it is.
        let stream = self.0.map_or_else(|| unsafe { STDOUT }, NonNull::as_ptr);
        // SAFETY: C passes a stream that is open.
        unsafe { fputs(text.as_ptr(), stream) };
        Ok(())
    }
}

/// What C passes for its callbacks, untouched.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Opaque(*mut c_void);

/// A callback of C that takes a path and says 1 to go on, 0 to stop, -1 for an error.
pub(crate) type PathCallback = Option<unsafe extern "C-unwind" fn(*const c_char, *mut c_void) -> i32>;

/// A callback of C that takes a path and the kind of the object there.
pub(crate) type ObjectCallback = Option<unsafe extern "C-unwind" fn(*const c_char, i32, *mut c_void) -> i32>;

/// A callback of C that takes a path with its length, and the size of the file.
pub(crate) type FileCallback =
    Option<unsafe extern "C-unwind" fn(*const c_char, usize, u64, *mut c_void) -> i32>;

/// A callback of C that takes a path with its length, the size of the file, and whether it is a folder.
pub(crate) type EntryCallback =
    Option<unsafe extern "C-unwind" fn(*const c_char, usize, u64, u8, *mut c_void) -> i32>;

fn c_path(path: &str) -> Fallible<CString> {
    CString::new(path).map_err(|_| Failure::told("C API", "a path with a zero byte"))
}

/// What a callback answered; one that threw is a failure.
fn answered(call: impl FnMut() -> i32) -> Fallible<i32> {
    caught(call).map_err(|thrown| {
        let text = thrown.text.unwrap_or_else(|| "the callback threw an exception".to_owned());
        Failure::told("TileDB internal", text)
    })
}

/// Calls back with a path; its answer.
pub(crate) fn call_path(callback: PathCallback, path: &str, data: Opaque) -> Fallible<i32> {
    let Some(call) = callback else { return fail("C API", "Invalid callback function") };
    let path_text = c_path(path)?;
    // SAFETY: C passes a function of this signature, and what it wants back.
    answered(|| unsafe { call(path_text.as_ptr(), data.0) })
}

/// Calls back with a path and a kind; its answer.
pub(crate) fn call_object(callback: ObjectCallback, path: &str, kind: i32, data: Opaque) -> Fallible<i32> {
    let Some(call) = callback else { return fail("C API", "Invalid callback function") };
    let path_text = c_path(path)?;
    // SAFETY: C passes a function of this signature, and what it wants back.
    answered(|| unsafe { call(path_text.as_ptr(), kind, data.0) })
}

/// Calls back with a file; its answer.
pub(crate) fn call_file(callback: FileCallback, path: &str, byte_len: u64, data: Opaque) -> Fallible<i32> {
    let Some(call) = callback else { return fail("C API", "Invalid callback function") };
    let path_text = c_path(path)?;
    // SAFETY: C passes a function of this signature, and what it wants back.
    answered(|| unsafe { call(path_text.as_ptr(), path.len(), byte_len, data.0) })
}

/// Calls back with a file or folder; its answer.
pub(crate) fn call_entry(
    callback: EntryCallback,
    path: &str,
    byte_len: u64,
    is_dir: bool,
    data: Opaque,
) -> Fallible<i32> {
    let Some(call) = callback else { return fail("C API", "Invalid callback function") };
    let path_text = c_path(path)?;
    // SAFETY: C passes a function of this signature, and what it wants back.
    answered(|| unsafe { call(path_text.as_ptr(), path.len(), byte_len, u8::from(is_dir), data.0) })
}
