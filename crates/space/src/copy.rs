//! Copies and fills of N-dimensional boxes of fixed-size cells.

use crate::Geometry;
use crate::box_plan::{Axis, BoxPlan, for_each_start};
use crate::transpose::transpose_planes;
use bytemuck::Pod;
use smalti_types::{Error, Result, Stores, write_past_caches};

/// Copies a box of cells of `elem_byte_len` bytes each from one buffer to another.
///
/// `extents` counts the cells along each dimension. Buffers need no alignment. Dimensions that continue each other in
/// both buffers are copied as one, so that a box of whole rows is one `memcpy`; where the two buffers have different
/// orders, the planes are transposed in blocks that stay in the cache. `stores` says whether long lines go past the caches.
///
/// ```
/// use smalti_space::{Geometry, copy_box};
/// use smalti_types::Stores;
/// // The 2 x 2 middle columns of a 2 x 4 row-major box, into column-major order.
/// let (src, mut dst) = ([0u8, 1, 2, 3, 4, 5, 6, 7], [0u8; 4]);
/// let from = Geometry { offset: 1, strides: &[4, 1] };
/// let to = Geometry { offset: 0, strides: &[1, 2] };
/// copy_box(&mut dst, to, &src, from, &[2, 2], 1, Stores::Cached).unwrap();
/// assert_eq!(dst, [1, 5, 2, 6]);
/// ```
///
/// # Errors
/// `InvalidArgument`, with nothing copied, when the box reaches beyond a buffer, the numbers of dimensions differ or
/// `elem_byte_len` is 0.
pub fn copy_box(
    dst: &mut [u8],
    dst_geometry: Geometry<'_>,
    src: &[u8],
    src_geometry: Geometry<'_>,
    extents: &[u64],
    elem_byte_len: usize,
    stores: Stores,
) -> Result<()> {
    if elem_byte_len == 0 {
        return Err(Error::invalid("cells of 0 bytes cannot be copied"));
    }
    let plan = BoxPlan::new(dst_geometry, src_geometry, extents)?;
    if plan.is_empty {
        return Ok(());
    }
    plan.check_reach(dst.len() / elem_byte_len, src.len() / elem_byte_len)?;
    match elem_byte_len {
        1 => copy_elements(elements_mut::<[u8; 1]>(dst), elements(src), &plan, stores),
        2 => copy_elements(elements_mut::<[u8; 2]>(dst), elements(src), &plan, stores),
        4 => copy_elements(elements_mut::<[u8; 4]>(dst), elements(src), &plan, stores),
        8 => copy_elements(elements_mut::<[u8; 8]>(dst), elements(src), &plan, stores),
        16 => copy_elements(elements_mut::<[u8; 16]>(dst), elements(src), &plan, stores),
        _ => {
            let plan = plan.split_elements(elem_byte_len)?;
            copy_elements(elements_mut::<[u8; 1]>(dst), elements(src), &plan, stores);
        }
    }
    Ok(())
}

/// Sets every cell of a box to `pattern`, whose length is the cell's.
///
/// # Errors
/// `InvalidArgument`, with nothing written, when the box reaches beyond the buffer, the numbers of dimensions differ or
/// the pattern is empty.
pub fn fill_box(dst: &mut [u8], geometry: Geometry<'_>, extents: &[u64], pattern: &[u8]) -> Result<()> {
    if pattern.is_empty() {
        return Err(Error::invalid("cells of 0 bytes cannot be filled"));
    }
    // There is no source: dimensions merge wherever the destination lets them.
    let plan = BoxPlan::new(geometry, geometry, extents)?;
    if plan.is_empty {
        return Ok(());
    }
    let cell_count = dst.len() / pattern.len();
    plan.check_reach(cell_count, cell_count)?;
    match pattern.len() {
        1 => fill_elements(elements_mut::<[u8; 1]>(dst), elements(pattern), &plan),
        2 => fill_elements(elements_mut::<[u8; 2]>(dst), elements(pattern), &plan),
        4 => fill_elements(elements_mut::<[u8; 4]>(dst), elements(pattern), &plan),
        8 => fill_elements(elements_mut::<[u8; 8]>(dst), elements(pattern), &plan),
        byte_len => plan.for_each_start(plan.axes.len(), |cell, _| {
            dst[cell * byte_len..(cell + 1) * byte_len].copy_from_slice(pattern);
        }),
    }
    Ok(())
}

/// The bytes as whole elements; a rest shorter than one is left out.
fn elements<T: Pod>(bytes: &[u8]) -> &[T] {
    bytemuck::cast_slice(&bytes[..bytes.len() / size_of::<T>() * size_of::<T>()])
}

fn elements_mut<T: Pod>(bytes: &mut [u8]) -> &mut [T] {
    let whole = bytes.len() / size_of::<T>() * size_of::<T>();
    bytemuck::cast_slice_mut(&mut bytes[..whole])
}

/// Copies a plan whose reach was checked.
fn copy_elements<const N: usize>(dst: &mut [[u8; N]], src: &[[u8; N]], plan: &BoxPlan, stores: Stores) {
    let Some((&line, outer)) = plan.axes.split_last() else {
        dst[plan.dst_offset] = src[plan.src_offset];
        return;
    };
    if line.dst == 1 && line.src == 1 {
        copy_lines(dst, src, plan, line.extent, stores);
    } else if let Some(across) = outer.iter().position(|axis| axis.src == 1 && line.dst == 1) {
        let mut rest = outer.to_vec();
        let across = rest.remove(across);
        for_each_start(&rest, plan.dst_offset, plan.src_offset, |d, s| {
            transpose_planes(&mut dst[d..], &src[s..], across, line, stores);
        });
    } else {
        plan.for_each_start(outer.len(), |d, s| copy_strided(&mut dst[d..], &src[s..], line));
    }
}

fn copy_lines<const N: usize>(
    dst: &mut [[u8; N]],
    src: &[[u8; N]],
    plan: &BoxPlan,
    len: usize,
    stores: Stores,
) {
    let outer = plan.axes.len() - 1;
    if stores.pass_caches(len * N) {
        return write_past_caches(dst.as_flattened_mut(), |mut out| {
            plan.for_each_start(outer, |d, s| out.put(d * N, src[s..s + len].as_flattened()));
        });
    }
    // Below this the call of memcpy costs more than the copy.
    if len * N <= 128 {
        plan.for_each_start(outer, |d, s| {
            for (to, from) in dst[d..d + len].iter_mut().zip(&src[s..s + len]) {
                *to = *from;
            }
        });
    } else {
        plan.for_each_start(outer, |d, s| dst[d..d + len].copy_from_slice(&src[s..s + len]));
    }
}

fn copy_strided<const N: usize>(dst: &mut [[u8; N]], src: &[[u8; N]], line: Axis) {
    if line.dst == 1 {
        for (i, to) in dst[..line.extent].iter_mut().enumerate() {
            *to = src[i * line.src];
        }
    } else {
        for i in 0..line.extent {
            dst[i * line.dst] = src[i * line.src];
        }
    }
}

fn fill_elements<const N: usize>(dst: &mut [[u8; N]], pattern: &[[u8; N]], plan: &BoxPlan) {
    let pattern = pattern[0];
    match plan.axes.split_last() {
        Some((line, outer)) if line.dst == 1 => {
            plan.for_each_start(outer.len(), |d, _| dst[d..d + line.extent].fill(pattern));
        }
        _ => plan.for_each_start(plan.axes.len(), |d, _| dst[d] = pattern),
    }
}
