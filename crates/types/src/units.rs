//! Fresh memory for byte buffers.

use crate::{Error, ErrorKind, Result};

/// The alignment of a buffer's start in bytes: a cache line.
pub(crate) const ALIGNMENT: usize = 64;

/// The unit of allocation. Allocators give this alignment of themselves, so that they can hand out fresh zero pages as
/// they are; for a larger one they would write the zeros.
pub(crate) type Unit = [u64; 2];

/// Allocators take what is larger from the system, which hands it out as zeros that cost nothing until touched; what is smaller
/// they may have had before, and write zeros over it. (glibc: the largest value of `M_MMAP_THRESHOLD`.)
pub(crate) const MAX_REUSED_BYTE_LEN: usize = 32 << 20;

/// Zeros that are written in one go.
const ZEROING_STEP: usize = (1 << 20) / size_of::<Unit>();

/// Zeros, and room for more behind them.
pub(crate) fn fresh_units(
    unit_count: usize,
    room: usize,
    check: &dyn Fn() -> Result<()>,
) -> Result<Vec<Unit>> {
    let refused = || refused(unit_count.saturating_mul(size_of::<Unit>()));
    if unit_count <= ZEROING_STEP || unit_count > MAX_REUSED_BYTE_LEN / size_of::<Unit>() {
        check()?;
        let units = bytemuck::try_zeroed_slice_box::<Unit>(unit_count + room).map_err(|()| refused())?;
        return Ok(units.into_vec());
    }
    let mut units: Vec<Unit> = Vec::new();
    units.try_reserve_exact(unit_count + room).map_err(|_| refused())?;
    extend_with_zeros(&mut units, unit_count, check)?;
    Ok(units)
}

/// Appends zeros within the capacity; `check` is asked about every MiB.
pub(crate) fn extend_with_zeros(
    units: &mut Vec<Unit>,
    unit_count: usize,
    check: &dyn Fn() -> Result<()>,
) -> Result<()> {
    while units.len() < unit_count {
        check()?;
        units.resize(unit_count.min(units.len() + ZEROING_STEP), Unit::default());
    }
    Ok(())
}

/// The units that hold a buffer wherever the allocator puts them.
pub(crate) fn unit_count(byte_len: usize) -> Result<usize> {
    let slack = ALIGNMENT - size_of::<Unit>();
    Ok(byte_len.checked_add(slack).ok_or_else(|| refused(byte_len))?.div_ceil(size_of::<Unit>()))
}

pub(crate) fn refused(byte_len: usize) -> Error {
    Error::new(ErrorKind::OutOfMemory, format!("the allocator refused {byte_len} bytes"))
}
