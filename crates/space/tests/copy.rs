//! Box copies against a loop over every cell.

use proptest::prelude::*;
use smalti_space::{Geometry, box_runs, copy_box, fill_box};
use smalti_types::Stores;

/// Strides of a box inside a larger one: dimensions in some order, each with some room to spare.
fn strides_of(extents: &[u64], order: &[usize], spare: &[u64]) -> (Vec<usize>, usize) {
    let mut strides = vec![0; extents.len()];
    let mut stride = 1;
    for &dim in order.iter().filter(|&&dim| dim < extents.len()) {
        strides[dim] = stride;
        stride *= (extents[dim] + spare[dim]) as usize;
    }
    (strides, stride)
}

/// The element of every cell in either buffer.
fn cells(extents: &[u64], dst: &Geometry<'_>, src: &Geometry<'_>) -> Vec<(usize, usize)> {
    let mut cells = vec![(dst.offset, src.offset)];
    for (dim, &extent) in extents.iter().enumerate() {
        cells = cells
            .into_iter()
            .flat_map(|(d, s)| {
                let (to, from) = (dst.strides[dim], src.strides[dim]);
                (0..extent as usize).map(move |i| (d + i * to, s + i * from))
            })
            .collect();
    }
    cells
}

fn order() -> impl Strategy<Value = Vec<usize>> {
    Just(vec![0usize, 1, 2, 3]).prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_copied_box_has_every_cell_in_its_place_and_nothing_else_changes(
        extents in prop_oneof![
            prop::collection::vec(0u64..7, 1..=4),
            prop::collection::vec(1u64..90, 1..=2),
            prop::collection::vec(prop_oneof![Just(1u64), Just(2), Just(17)], 3),
        ],
        orders in (order(), order()),
        dst_spare in prop::collection::vec(0u64..3, 4),
        src_spare in prop::collection::vec(0u64..3, 4),
        offsets in (0usize..5, 0usize..5),
        elem_byte_len in prop_oneof![Just(1usize), Just(2), Just(3), Just(4), Just(8), Just(12), Just(16), Just(33)],
    ) {
        let (dst_strides, dst_len) = strides_of(&extents, &orders.0, &dst_spare);
        let (src_strides, src_len) = strides_of(&extents, &orders.1, &src_spare);
        let dst_geometry = Geometry { offset: offsets.0, strides: &dst_strides };
        let src_geometry = Geometry { offset: offsets.1, strides: &src_strides };
        let src: Vec<u8> = (0..(src_len + offsets.1) * elem_byte_len).map(|i| (i * 31 % 251) as u8).collect();
        let mut dst = vec![0xeeu8; (dst_len + offsets.0) * elem_byte_len];
        let mut expected = dst.clone();
        for (d, s) in cells(&extents, &dst_geometry, &src_geometry) {
            expected[d * elem_byte_len..(d + 1) * elem_byte_len]
                .copy_from_slice(&src[s * elem_byte_len..(s + 1) * elem_byte_len]);
        }
        for stores in [Stores::Cached, Stores::PastCaches] {
            dst.fill(0xee);
            copy_box(&mut dst, dst_geometry, &src, src_geometry, &extents, elem_byte_len, stores).unwrap();
            prop_assert_eq!(&dst, &expected);
        }

        let mut by_runs = vec![0xeeu8; dst.len()];
        let mut last = None;
        for (d, s, len) in box_runs(dst_geometry, src_geometry, &extents).unwrap() {
            prop_assert!(last.is_none_or(|last| last < d), "the runs ascend in the destination");
            last = Some(d);
            by_runs[d * elem_byte_len..(d + len) * elem_byte_len]
                .copy_from_slice(&src[s * elem_byte_len..(s + len) * elem_byte_len]);
        }
        prop_assert_eq!(by_runs, expected);
    }

    #[test]
    fn a_filled_box_has_the_pattern_in_its_cells_only(
        extents in prop::collection::vec(0u64..7, 1..=4),
        order in order(),
        spare in prop::collection::vec(0u64..3, 4),
        offset in 0usize..5,
        pattern in prop::collection::vec(any::<u8>(), 1..18),
    ) {
        let (strides, len) = strides_of(&extents, &order, &spare);
        let geometry = Geometry { offset, strides: &strides };
        let mut dst = vec![0xeeu8; (len + offset) * pattern.len()];
        let mut expected = dst.clone();
        for (d, _) in cells(&extents, &geometry, &geometry) {
            expected[d * pattern.len()..(d + 1) * pattern.len()].copy_from_slice(&pattern);
        }
        fill_box(&mut dst, geometry, &extents, &pattern).unwrap();
        prop_assert_eq!(dst, expected);
    }

    #[test]
    fn any_geometry_whatever_is_copied_or_refused(
        extents in prop::collection::vec(prop_oneof![0u64..5, Just(u64::MAX), Just(1 << 33)], 0..4),
        strides in prop::collection::vec(prop_oneof![0usize..5, Just(usize::MAX), Just(1 << 62)], 8),
        offsets in (prop_oneof![0usize..40, Just(usize::MAX)], prop_oneof![0usize..40, Just(usize::MAX)]),
        elem_byte_len in prop_oneof![0usize..17, Just(usize::MAX)],
    ) {
        let (a, b) = strides.split_at(4);
        let dst_geometry = Geometry { offset: offsets.0, strides: &a[..extents.len()] };
        let src_geometry = Geometry { offset: offsets.1, strides: &b[..extents.len()] };
        let mut dst = [0u8; 64];
        let _ = copy_box(&mut dst, dst_geometry, &[1; 50], src_geometry, &extents, elem_byte_len, Stores::PastCaches);
        let _ = fill_box(&mut dst, dst_geometry, &extents, &[1, 2, 3]);
        if let Ok(runs) = box_runs(dst_geometry, src_geometry, &extents) {
            runs.take(100).count();
        }
    }
}

#[test]
fn a_box_that_reaches_beyond_a_buffer_is_refused_and_nothing_is_copied() {
    let mut dst = [0u8; 8];
    let whole = Geometry { offset: 0, strides: &[4, 1] };
    let late = Geometry { offset: 1, strides: &[4, 1] };
    assert!(copy_box(&mut dst, late, &[1; 8], whole, &[2, 4], 1, Stores::Cached).is_err());
    assert!(copy_box(&mut dst, whole, &[1; 7], whole, &[2, 4], 1, Stores::Cached).is_err());
    assert!(copy_box(&mut dst, whole, &[1; 8], whole, &[2, 4], 0, Stores::Cached).is_err());
    assert!(copy_box(&mut dst, whole, &[1; 8], whole, &[2], 1, Stores::Cached).is_err());
    assert!(fill_box(&mut dst, late, &[2, 4], &[9]).is_err());
    assert_eq!(dst, [0; 8]);
}
