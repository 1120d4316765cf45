//! Columns of the engine as memory of Python, as it is: NumPy makes arrays of it without a copy.

#![expect(unsafe_code, reason = "Python's buffer protocol hands out addresses")]

use crate::errors::ForPython as _;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use smalti::AlignedBuf;
use smalti_tools::Distinct;
use std::os::raw::{c_int, c_void};

/// Bytes of a result, 64-byte aligned, that live as long as an array of NumPy or a memoryview looks at them. They can be written to: nobody
/// else has them.
#[pyclass(frozen, module = "smalti._smalti")]
pub(crate) struct Buffer {
    /// Where the bytes of `_owner` are.
    start: *mut u8,
    len: usize,
    /// Not looked at again before it is dropped, so that whoever has the address has the bytes for himself.
    _owner: AlignedBuf,
}

// SAFETY: the bytes belong to this object alone and move with it; that readers and writers in several threads of Python keep apart is up to
// them, as with every buffer of Python.
unsafe impl Send for Buffer {}
// SAFETY: as above; the fields are not changed once made, and only `__getbuffer__` reads them.
unsafe impl Sync for Buffer {}

impl Buffer {
    pub(crate) fn new(mut bytes: AlignedBuf) -> Self {
        let slice = bytes.as_mut_slice();
        Buffer { start: slice.as_mut_ptr(), len: slice.len(), _owner: bytes }
    }
}

#[pymethods]
impl Buffer {
    fn __len__(&self) -> usize {
        self.len
    }

    /// # Safety
    /// Called by Python alone, with a view to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view to fill"));
        }
        let this = slf.get();
        let len = ffi::Py_ssize_t::try_from(this.len)
            .map_err(|_| PyBufferError::new_err("there are more bytes than a view can have"))?;
        // SAFETY: the view is Python's to be filled; the address has `len` bytes, which live as long as this object, of which the view
        // takes a reference.
        let filled =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), this.start.cast::<c_void>(), len, 0, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// Of cells of any length, whose offsets are 64-bit integers of this machine: for each of them the code of its value as 64-bit integers, and
/// the different values with their offsets. `None` where more than `most` values differ, and where offsets lead outside of the data.
#[pyfunction]
pub(crate) fn distinct(
    py: Python<'_>,
    data: PyBuffer<u8>,
    offsets: PyBuffer<u8>,
    most: usize,
) -> PyResult<Option<(Buffer, Buffer, Buffer)>> {
    let (data, offsets) = (Bytes::new(py, data)?, Bytes::new(py, offsets)?);
    let found = py.detach(|| {
        let copy;
        let offsets: &[u64] = match bytemuck::try_cast_slice(offsets.as_slice()) {
            Ok(offsets) => offsets,
            Err(_) => {
                copy = bytemuck::pod_collect_to_vec(offsets.as_slice());
                &copy
            }
        };
        let mut codes = AlignedBuf::zeroed(offsets.len().saturating_sub(1) * size_of::<u64>())?;
        let Some(found) = Distinct::of(data.as_slice(), offsets, codes.values_mut(), most) else {
            return Ok(None);
        };
        let offsets = copied(bytemuck::cast_slice(&found.offsets))?;
        Ok(Some((Buffer::new(codes), copied(&found.data)?, offsets)))
    });
    found.for_python(py)
}

fn copied(bytes: &[u8]) -> smalti::Result<Buffer> {
    let mut copy = AlignedBuf::new();
    copy.extend_from_slice(bytes)?;
    Ok(Buffer::new(copy))
}

/// The contiguous memory of an object of Python, held while the engine reads it without the interpreter's lock.
pub(crate) struct Bytes<T> {
    start: *const T,
    len: usize,
    /// Keeps the memory where it is.
    _buffer: PyBuffer<T>,
}

// SAFETY: the view keeps its owner from moving or freeing the memory, whichever thread looks at it. Who changes the cells of an array
// while they are being written races with the write, as with every function of NumPy that gives up the lock.
unsafe impl<T: Send> Send for Bytes<T> {}
// SAFETY: as above; it is only read.
unsafe impl<T: Sync> Sync for Bytes<T> {}

impl<T: Element> Bytes<T> {
    /// # Errors
    /// `ValueError` for memory with gaps.
    pub(crate) fn new(_py: Python<'_>, buffer: PyBuffer<T>) -> PyResult<Self> {
        if !buffer.is_c_contiguous() {
            return Err(PyValueError::new_err(
                "cells lie one after the other; give numpy.ascontiguousarray of them",
            ));
        }
        Ok(Bytes {
            start: buffer.buf_ptr().cast::<T>().cast_const(),
            len: buffer.item_count(),
            _buffer: buffer,
        })
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the view says that so many elements lie at its address, aligned for `T`, as `PyBuffer` has checked, and it is held.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}
