//! Fresh memory for byte buffers.

use crate::pages::ask_for_huge;
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
/// writes zeros, which glibc does for 32 MiB at most. Large memory has huge pages where the system has them.
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
    let mut units = units.map_err(|()| refused(unit_count.saturating_mul(size_of::<Unit>())))?.into_vec();
    ask_for_huge(bytemuck::cast_slice_mut(&mut units));
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

/// What is said of a length for which there is no memory.
pub(crate) fn refused(byte_len: usize) -> Error {
    Error::new(ErrorKind::OutOfMemory, format!("the allocator refused {byte_len} bytes"))
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;
    use std::path::Path;

    /// Whether huge pages were asked for at an address, by what the system tells of this process (`proc_pid_smaps(5)`).
    fn is_huge(at: usize) -> bool {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_there = false;
        for line in maps.lines() {
            let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
            if let Some((start, end)) = first.split_once('-') {
                let [start, end] = [start, end].map(|side| usize::from_str_radix(side, 16).unwrap());
                is_there = (start..end).contains(&at);
            } else if first == "VmFlags:" && is_there {
                return rest.split(' ').any(|flag| flag == "hg");
            }
        }
        panic!("{at:x} is in no mapping");
    }

    #[test]
    fn large_memory_has_huge_pages() {
        // Without them in the kernel there is nothing to see; that nothing fails is seen by all other tests.
        if Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            let mut units = fresh_units(1 << 20).unwrap();
            assert!(is_huge(&raw const units[1 << 19] as usize));
            assert!(units.iter().all(|unit| *unit == [0; 2]));
            units.fill([7; 2]);
            assert!(units.iter().all(|unit| *unit == [7; 2]));
        }
    }
}
