//! Buffers and lists of them, as serialisation would use them.

use crate::boundary::entry::{entries, free_entries};
use crate::boundary::handle::kinds;
use crate::boundary::memory::Buffer;
use crate::boundary::{DataOut, In, New, Out};
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::names;
use smalti::Datatype;
use std::ffi::c_void;

/// A buffer: memory of the caller, or bytes of its own.
#[derive(Debug)]
pub(crate) struct BufferHandle {
    datatype: Datatype,
    theirs: Option<(Buffer, u64)>,
    own: Vec<u8>,
}

/// A list of buffers.
#[derive(Debug)]
pub(crate) struct BufferList(Vec<Vec<u8>>);

kinds! { BufferHandle => "buffer", BufferList => "buffer list" }

fn own(bytes: Vec<u8>) -> BufferHandle {
    BufferHandle { datatype: Datatype::UInt8, theirs: None, own: bytes }
}

impl BufferList {
    fn buffer(&self, idx: u64) -> Fallible<&Vec<u8>> {
        let found = usize::try_from(idx).ok().and_then(|idx| self.0.get(idx));
        found.ok_or_else(|| {
            Failure::told("BufferList", format!("Cannot get buffer {idx} of {}", self.0.len()))
        })
    }
}

entries! {
    fn tiledb_buffer_alloc(ctx, buffer: New<BufferHandle>) {
        buffer.put(own(Vec::new()))
    }

    fn tiledb_buffer_set_type(ctx, buffer: In<BufferHandle>, datatype: i32) {
        buffer.write()?.datatype = names::datatype(datatype)?;
        Ok(())
    }

    fn tiledb_buffer_get_type(ctx, buffer: In<BufferHandle>, datatype: Out<i32>) {
        datatype.put(buffer.read()?.datatype.tag().into())
    }

    fn tiledb_buffer_get_data(ctx, buffer: In<BufferHandle>, data: Out<*mut c_void>, num_bytes: Out<u64>) {
        let slot = buffer.slot()?;
        data.check()?;
        let buffer = slot.read();
        match &buffer.theirs {
            Some((memory, byte_len)) => {
                data.put(memory.address())?;
                num_bytes.put(*byte_len)
            }
            None if buffer.own.is_empty() => {
                data.put(std::ptr::null_mut())?;
                num_bytes.put(0)
            }
            None => {
                data.put(slot.lend(&buffer.own).cast_mut())?;
                num_bytes.put(u64::try_from(buffer.own.len()).unwrap_or(u64::MAX))
            }
        }
    }

    fn tiledb_buffer_set_data(ctx, buffer: In<BufferHandle>, data: DataOut, size: u64) {
        let mut buffer = buffer.write()?;
        buffer.theirs = Some((Buffer::of(data), size));
        Ok(())
    }

    fn tiledb_buffer_list_alloc(ctx, buffer_list: New<BufferList>) {
        buffer_list.put(BufferList(Vec::new()))
    }

    fn tiledb_buffer_list_get_num_buffers(ctx, buffer_list: In<BufferList>, num_buffers: Out<u64>) {
        num_buffers.put(u64::try_from(buffer_list.read()?.0.len()).unwrap_or(u64::MAX))
    }

    fn tiledb_buffer_list_get_buffer(
        ctx,
        buffer_list: In<BufferList>,
        buffer_idx: u64,
        buffer: New<BufferHandle>,
    ) {
        buffer.check()?;
        buffer.put(own(buffer_list.read()?.buffer(buffer_idx)?.clone()))
    }

    fn tiledb_buffer_list_get_total_size(ctx, buffer_list: In<BufferList>, total_size: Out<u64>) {
        let sum: usize = buffer_list.read()?.0.iter().map(Vec::len).sum();
        total_size.put(u64::try_from(sum).unwrap_or(u64::MAX))
    }

    fn tiledb_buffer_list_flatten(ctx, buffer_list: In<BufferList>, buffer: New<BufferHandle>) {
        if buffer.is_null() {
            return fail("C API", "Invalid output pointer for object");
        }
        buffer.put(own(buffer_list.read()?.0.concat()))
    }
}

free_entries! { tiledb_buffer_free: BufferHandle, tiledb_buffer_list_free: BufferList }
