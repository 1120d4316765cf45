//! R-tree search and selection against linear scans.

use proptest::prelude::*;
use smalti_space::{BitMask, Column, RTree, RangeSet, TileHit, select_cells, select_column};
use smalti_types::{Datatype, Extent, ExtentRef, Physical, RectList, Scalar};

fn side() -> impl Strategy<Value = Extent> {
    (0u64..100, 0u64..30).prop_map(|(lo, len)| Extent::Num { lo, hi: lo + len })
}

fn text_side() -> impl Strategy<Value = Extent> {
    ("[a-c]{0,3}", "[a-c]{0,3}").prop_map(|(a, b)| {
        let (lo, hi) = if a <= b { (a, b) } else { (b, a) };
        Extent::between_strings(lo.as_bytes(), hi.as_bytes()).unwrap()
    })
}

/// Whether every value of a rectangle's side is in one of the ranges, by trying all values.
fn covered_by_trial(ranges: &[Extent], side: ExtentRef<'_>) -> bool {
    let ExtentRef::Num { lo, hi } = side else { unreachable!("numbers only") };
    (lo..=hi).all(|v| ranges.iter().any(|r| r.as_ref().covers(ExtentRef::Num { lo: v, hi: v })))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_search_finds_what_a_scan_finds(
        rects in prop::collection::vec((side(), side(), text_side()), 0..300),
        ranges in (prop::collection::vec(side(), 0..6), prop::collection::vec(side(), 1..3), prop::collection::vec(text_side(), 1..4)),
        all in (any::<bool>(), any::<bool>(), any::<bool>()),
        fanout in 2u32..12,
    ) {
        let mut leaves = RectList::new([false, false, true]);
        for (a, b, c) in &rects {
            leaves.push(&[a.clone(), b.clone(), c.clone()]).unwrap();
        }
        let tree = RTree::build(leaves.clone(), fanout).unwrap();
        prop_assert_eq!(tree.tile_count(), rects.len());
        let again = RTree::from_levels(tree.levels().to_vec(), fanout).unwrap();
        prop_assert_eq!(&again, &tree);
        let set = |is_all, is_string, ranges: &Vec<Extent>| {
            if is_all { RangeSet::all(is_string) } else { RangeSet::new(is_string, ranges.clone()).unwrap() }
        };
        let sets = [set(all.0, false, &ranges.0), set(all.1, false, &ranges.1), set(all.2, true, &ranges.2)];
        let hits = tree.search(&sets).unwrap();
        let mut expected = Vec::new();
        for (idx, (a, b, c)) in rects.iter().enumerate() {
            let meets = [a, b, c].iter().zip(&sets).all(|(side, set)| {
                set.extents().iter().any(|range| range.as_ref().overlaps(side.as_ref()))
            });
            if meets {
                let numbers = covered_by_trial(sets[0].extents(), a.as_ref()) && covered_by_trial(sets[1].extents(), b.as_ref());
                let is_covered = numbers && sets[2].covers(c.as_ref());
                expected.push(TileHit { tile_idx: idx as u64, is_covered });
            }
        }
        prop_assert_eq!(hits, expected);
    }

    #[test]
    fn selected_cells_are_those_inside_a_range_on_every_dimension(
        cells in prop::collection::vec((any::<i8>(), prop_oneof![Just(0.0f32), Just(-0.0), Just(f32::NAN), -5.0f32..5.0], "[a-c]{0,3}"), 0..300),
        ints in prop::collection::vec((any::<i8>(), any::<i8>()), 0..9),
        floats in prop::collection::vec((prop_oneof![Just(0.0f32), -6.0f32..6.0], -6.0f32..6.0), 1..12),
        texts in prop::collection::vec(text_side(), 1..4),
    ) {
        let bytes_a: Vec<u8> = cells.iter().map(|c| c.0 as u8).collect();
        let bytes_b: Vec<u8> = cells.iter().flat_map(|c| c.1.to_le_bytes()).collect();
        let text: String = cells.iter().map(|c| c.2.as_str()).collect();
        let offsets: Vec<u64> = cells.iter().scan(0, |at, c| { let start = *at; *at += c.2.len() as u64; Some(start) }).collect();
        let columns = [
            Column::numbers(Datatype::Int8, &bytes_a).unwrap(),
            Column::numbers(Datatype::Float32, &bytes_b).unwrap(),
            Column::strings(&offsets, text.as_bytes()).unwrap(),
        ];
        let ints: Vec<(i8, i8)> = ints.into_iter().map(|(a, b)| (a.min(b), a.max(b))).collect();
        let floats: Vec<(f32, f32)> = floats.into_iter().map(|(a, b)| if a <= b { (a, b) } else { (b, a) }).collect();
        let sets = [
            RangeSet::new(false, ints.iter().map(|&(a, b)| Extent::between(a.into(), b.into()).unwrap()).collect()).unwrap(),
            RangeSet::new(false, floats.iter().map(|&(a, b)| Extent::between(a.into(), b.into()).unwrap()).collect()).unwrap(),
            RangeSet::new(true, texts.clone()).unwrap(),
        ];
        let mask = select_cells(&columns, &sets).unwrap();
        for (i, (a, b, c)) in cells.iter().enumerate() {
            let string = ExtentRef::Str { lo: c.as_bytes(), hi: Some(c.as_bytes()) };
            let expected = ints.iter().any(|(lo, hi)| (lo..=hi).contains(&a))
                && floats.iter().any(|(lo, hi)| lo <= b && b <= hi)
                && texts.iter().any(|range| range.as_ref().covers(string));
            prop_assert_eq!(mask.is_set(i), expected, "cell {}: {:?}", i, cells[i]);
        }
    }
}

#[test]
fn ranges_beyond_the_type_and_nan_ends_select_by_value() {
    let bytes: Vec<u8> =
        [f64::NAN, f64::NEG_INFINITY, 1.0, f64::INFINITY].iter().flat_map(|v| v.to_le_bytes()).collect();
    let column = Column::numbers(Datatype::Float64, &bytes).unwrap();
    let nearly_all = Extent::Num { lo: 1, hi: u64::MAX };
    let mask = select_cells(&[column], &[RangeSet::new(false, vec![nearly_all.clone()]).unwrap()]).unwrap();
    assert_eq!(mask.iter_cells().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(select_cells(&[column], &[RangeSet::all(false)]).unwrap().count(), 4);
    let small = Column::numbers(Datatype::UInt8, &[0, 1, 255]).unwrap();
    let mask = select_cells(&[small], &[RangeSet::new(false, vec![nearly_all]).unwrap()]).unwrap();
    assert_eq!(mask.iter_cells().collect::<Vec<_>>(), [1, 2]);
    let beyond = Extent::Num { lo: 256, hi: 300 };
    assert!(!select_cells(&[small], &[RangeSet::new(false, vec![beyond]).unwrap()]).unwrap().any());
    assert!(select_column(&small, &RangeSet::all(true), &mut BitMask::ones(3)).is_err());
    assert!(select_column(&small, &RangeSet::all(false), &mut BitMask::ones(2)).is_err());
}

#[test]
fn trees_whose_levels_do_not_fit_are_corrupt() {
    let list = |count: u64| {
        let mut list = RectList::new([false]);
        for i in 0..count {
            list.push(&[Extent::Num { lo: i, hi: i }]).unwrap();
        }
        list
    };
    assert!(RTree::from_levels(vec![list(1), list(11)], 10).is_err());
    assert!(RTree::from_levels(vec![list(1), list(5)], 0).is_err());
    assert!(RTree::from_levels(vec![list(2), list(11)], 10).is_ok());
    assert!(RTree::from_levels(vec![list(1), RectList::new([true])], 10).is_err());
    // A level more than needed, as a rounded logarithm makes it.
    assert!(RTree::from_levels(vec![list(1), list(1), list(10)], 10).is_ok());
    let empty = RTree::from_levels(vec![], 10).unwrap();
    assert!(empty.search(&[RangeSet::all(false)]).unwrap().is_empty());
    assert!(RTree::build(list(3), 1).is_err());
    assert!(RTree::build(list(3), 2).unwrap().search(&[]).is_err());
    assert_eq!(RTree::build(list(1000), RTree::FANOUT).unwrap().levels().len(), 4);
}

#[test]
fn zero_ends_of_float_ranges_take_in_both_zeros() {
    let bytes: Vec<u8> = [-0.0f64, 0.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let column = Column::numbers(Datatype::Float64, &bytes).unwrap();
    for zero in [0.0, -0.0] {
        let range = Extent::between(Scalar::F64(zero), Scalar::F64(zero)).unwrap();
        assert_eq!(
            select_cells(&[column], &[RangeSet::new(false, vec![range]).unwrap()]).unwrap().count(),
            2
        );
    }
    assert_eq!((-0.0f64).ordinal() + 1, 0.0f64.ordinal());
}
