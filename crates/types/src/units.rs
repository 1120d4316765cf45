//! Fresh memory for byte buffers.

use crate::{Error, ErrorKind, Result};

/// The alignment of a buffer's start in bytes: a cache line.
pub(crate) const ALIGNMENT: usize = 64;

/// The unit of allocation. Allocators give this alignment of themselves, so that they can hand out fresh zero pages as
/// they are; for a larger one they would write the zeros.
pub(crate) type Unit = [u64; 2];

/// Zeros that are written in one go.
const ZEROING_STEP: usize = (1 << 20) / size_of::<Unit>();

/// So few units are zeroed here: glibc keeps a few pieces of memory of each small size at hand, but not for who asks it for zeros.
const AT_HAND: usize = 1024 / size_of::<Unit>();

/// Zeros: what an allocator takes from the system is zero already, and costs nothing until it is touched; over what it has from before it
/// writes zeros, which glibc does for 32 MiB at most.
pub(crate) fn fresh_units(unit_count: usize) -> Result<Vec<Unit>> {
    if unit_count <= AT_HAND {
        let mut units = Vec::new();
        units
            .try_reserve_exact(unit_count)
            .map_err(|_| refused(unit_count.saturating_mul(size_of::<Unit>())))?;
        units.resize(unit_count, Unit::default());
        return Ok(units);
    }
    let units = bytemuck::try_zeroed_slice_box::<Unit>(unit_count);
    Ok(units.map_err(|()| refused(unit_count.saturating_mul(size_of::<Unit>())))?.into_vec())
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

/// What is said of a length for which there is no memory.
pub(crate) fn refused(byte_len: usize) -> Error {
    Error::new(ErrorKind::OutOfMemory, format!("the allocator refused {byte_len} bytes"))
}
