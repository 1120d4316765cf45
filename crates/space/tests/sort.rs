//! Sort keys against a comparator that follows the definition of the orders.

use proptest::prelude::*;
use smalti_space::{
    CellOrder, Column, Interval, KeyLayout, OrderDim, OrderKeys, Permutation, SortedCells, UNSTOPPED,
    column_bounds, hilbert_values, sort_cells,
};
use smalti_types::{Datatype, Layout, Scalar};
use std::cmp::Ordering;

/// The coordinates of some cells on one dimension.
#[derive(Debug, Clone)]
enum Values {
    I8(Vec<i8>),
    I32(Vec<i32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Str(Vec<Vec<u8>>),
}

#[derive(Debug, Clone)]
struct TestDim {
    values: Values,
    domain: (Scalar, Scalar),
    extent: Option<Scalar>,
}

fn datatype(values: &Values) -> Datatype {
    match values {
        Values::I8(_) => Datatype::Int8,
        Values::I32(_) => Datatype::Int32,
        Values::U64(_) => Datatype::UInt64,
        Values::F32(_) => Datatype::Float32,
        Values::F64(_) => Datatype::Float64,
        Values::Str(_) => Datatype::StringAscii,
    }
}

impl TestDim {
    fn tile(&self, cell: usize) -> u64 {
        let Some(extent) = self.extent else { return 0 };
        let integer =
            |value: i128| ((value - self.domain.0.as_i128().unwrap()) / extent.as_i128().unwrap()) as u64;
        match &self.values {
            Values::I8(v) => integer(v[cell].into()),
            Values::I32(v) => integer(v[cell].into()),
            Values::U64(v) => integer(v[cell].into()),
            Values::F32(v) => ((v[cell] - self.domain.0.as_f64() as f32) / extent.as_f64() as f32) as u64,
            Values::F64(v) => ((v[cell] - self.domain.0.as_f64()) / extent.as_f64()) as u64,
            Values::Str(_) => 0,
        }
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        match &self.values {
            Values::I8(v) => v[a].cmp(&v[b]),
            Values::I32(v) => v[a].cmp(&v[b]),
            Values::U64(v) => v[a].cmp(&v[b]),
            Values::F32(v) => v[a].partial_cmp(&v[b]).unwrap(),
            Values::F64(v) => v[a].partial_cmp(&v[b]).unwrap(),
            Values::Str(v) => v[a].cmp(&v[b]),
        }
    }

    /// Zeros of either sign, told apart.
    fn compare_zeros(&self, a: usize, b: usize) -> Ordering {
        match &self.values {
            Values::F32(v) => v[a].total_cmp(&v[b]),
            Values::F64(v) => v[a].total_cmp(&v[b]),
            _ => Ordering::Equal,
        }
    }
}

fn significance(dims: usize, order: Layout) -> Vec<usize> {
    if order == Layout::ColMajor { (0..dims).rev().collect() } else { (0..dims).collect() }
}

fn expected_order(
    dims: &[TestDim],
    tile_order: Option<Layout>,
    cell_order: Layout,
    places: Option<&[u64]>,
    cell_count: usize,
) -> (Vec<u32>, Vec<bool>) {
    let compare = |a: usize, b: usize| {
        let mut order = places.map_or(Ordering::Equal, |places| places[a].cmp(&places[b]));
        if let Some(tile_order) = tile_order {
            for dim in significance(dims.len(), tile_order) {
                order = order.then(dims[dim].tile(a).cmp(&dims[dim].tile(b)));
            }
        }
        for dim in significance(dims.len(), cell_order) {
            order = order.then(dims[dim].compare(a, b));
        }
        dims.iter().fold(order, |order, dim| order.then(dim.compare_zeros(a, b)))
    };
    let mut cells: Vec<u32> = (0..cell_count as u32).collect();
    cells.sort_by(|&a, &b| compare(a as usize, b as usize));
    let repeats = (0..cell_count)
        .map(|at| at > 0 && compare(cells[at - 1] as usize, cells[at] as usize) == Ordering::Equal)
        .collect();
    (cells, repeats)
}

/// Owned bytes behind a column.
struct Owned {
    offsets: Vec<u64>,
    bytes: Vec<u8>,
}

fn owned(values: &Values) -> Owned {
    let bytes = match values {
        Values::I8(v) => v.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Values::I32(v) => v.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Values::U64(v) => v.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Values::F32(v) => v.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Values::F64(v) => v.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Values::Str(v) => v.concat(),
    };
    let mut offsets = Vec::new();
    if let Values::Str(v) = values {
        let mut at = 0;
        for string in v {
            offsets.push(at);
            at += string.len() as u64;
        }
    }
    Owned { offsets, bytes }
}

fn column<'a>(values: &Values, owned: &'a Owned) -> Column<'a> {
    match values {
        Values::Str(_) => Column::strings(&owned.offsets, &owned.bytes).unwrap(),
        _ => Column::numbers(datatype(values), &owned.bytes).unwrap(),
    }
}

fn order_dims(dims: &[TestDim]) -> Vec<OrderDim> {
    dims.iter()
        .map(|dim| OrderDim {
            datatype: datatype(&dim.values),
            domain: Interval { lo: dim.domain.0.ordinal(), hi: dim.domain.1.ordinal() },
            extent: dim.extent,
        })
        .collect()
}

/// Checks one order; returns the kind of the keys.
fn check(dims: &[TestDim], tile_order: Option<Layout>, cell_order: Layout, cell_count: usize) -> OrderKeys {
    let order = match tile_order {
        Some(tile_order) => CellOrder::global(order_dims(dims), tile_order, cell_order),
        None if cell_order == Layout::Hilbert => {
            CellOrder::global(order_dims(dims), Layout::RowMajor, cell_order)
        }
        None => CellOrder::plain(order_dims(dims), cell_order),
    }
    .unwrap();
    let buffers: Vec<Owned> = dims.iter().map(|dim| owned(&dim.values)).collect();
    let columns: Vec<Column<'_>> =
        dims.iter().zip(&buffers).map(|(dim, owned)| column(&dim.values, owned)).collect();
    let places =
        (cell_order == Layout::Hilbert).then(|| hilbert_values(&order, &columns, UNSTOPPED).unwrap());
    let (cells, repeats) = expected_order(dims, tile_order, cell_order, places.as_deref(), cell_count);

    let bounds: Vec<Interval> = columns.iter().map(|c| column_bounds(c).unwrap_or(Interval::ALL)).collect();
    let layout = KeyLayout::new(&order, &bounds).unwrap();
    let keys = layout.keys(&columns, UNSTOPPED).unwrap();
    assert_eq!(keys.len(), cell_count);
    let sorted = sort_cells(&keys, UNSTOPPED).unwrap();
    assert_eq!(sorted.iter().map(|cell| cell as u32).collect::<Vec<_>>(), cells);
    let mask = keys.repeats(&sorted, UNSTOPPED).unwrap();
    assert_eq!((0..cell_count).map(|at| mask.is_set(at)).collect::<Vec<_>>(), repeats);
    let with_keys = SortedCells::new(&keys, UNSTOPPED).unwrap();
    assert_eq!(with_keys.repeats(&keys, UNSTOPPED).unwrap(), mask);
    let (same, sorted_keys) = with_keys.into_parts();
    assert_eq!(same, sorted);
    if let Some(sorted_keys) = sorted_keys.filter(|_| layout.tells_coordinates()) {
        for (dim, column) in columns.iter().enumerate() {
            let datatype = column.datatype().unwrap();
            let width = datatype.byte_len();
            let in_order: Vec<Option<u64>> =
                cells.iter().map(|&cell| column.ordinal(cell as usize)).collect();
            let ordinals = |bytes: &[u8]| -> Vec<Option<u64>> {
                let told = Column::numbers(datatype, bytes).unwrap();
                (0..told.cell_count()).map(|cell| told.ordinal(cell)).collect()
            };
            let mut told = vec![0xee; cell_count * width];
            layout.coordinates(dim, &sorted_keys, 0..cell_count, &mut told).unwrap();
            assert_eq!(ordinals(&told), in_order, "dimension {dim}");
            let middle = cell_count / 2;
            layout.coordinates(dim, &sorted_keys, middle..cell_count, &mut told[middle * width..]).unwrap();
            assert_eq!(ordinals(&told), in_order, "dimension {dim}");
            assert!(layout.coordinates(dim, &sorted_keys, 1..cell_count + 1, &mut told).is_err());
        }
        assert!(layout.coordinates(dims.len(), &sorted_keys, 0..0, &mut []).is_err());
    }
    let duplicate = repeats.iter().position(|repeat| *repeat);
    let permuted = keys.permuted(&sorted);
    assert_eq!(permuted.first_descent(), None);
    assert_eq!(permuted.first_repeat(), duplicate);
    assert_eq!(sort_cells(&permuted, UNSTOPPED).unwrap(), Permutation::Identity(cell_count));

    // Wider bounds than the cells need give the same order.
    let whole = vec![Interval::ALL; dims.len()];
    let wide = KeyLayout::new(&order, &whole).unwrap().keys(&columns, UNSTOPPED).unwrap();
    assert_eq!(sort_cells(&wide, UNSTOPPED).unwrap(), sorted);
    keys
}

fn few<T: Clone + std::fmt::Debug>(
    count: usize,
    values: impl Strategy<Value = T>,
) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(values, count)
}

fn dim(cells: usize) -> impl Strategy<Value = TestDim> {
    let extent_i8 = prop_oneof![Just(None), (1i8..=127).prop_map(|e| Some(Scalar::I8(e)))];
    let i8s = (few(cells, any::<i8>()), extent_i8).prop_map(|(v, extent)| TestDim {
        values: Values::I8(v),
        domain: (Scalar::I8(-128), Scalar::I8(127)),
        extent,
    });
    let extent_i32 = prop_oneof![
        Just(None),
        (1i32..3_000).prop_map(|e| Some(Scalar::I32(e))),
        Just(Some(Scalar::I32(64)))
    ];
    let i32s = (few(cells, -500i32..100_000), extent_i32).prop_map(|(v, extent)| TestDim {
        values: Values::I32(v),
        domain: (Scalar::I32(-500), Scalar::I32(100_000)),
        extent,
    });
    let extent_u64 = prop_oneof![
        Just(None),
        (1u64..u64::MAX).prop_map(|e| Some(Scalar::U64(e))),
        Just(Some(Scalar::U64(1 << 40)))
    ];
    let u64s = (few(cells, prop_oneof![any::<u64>(), 0u64..50]), extent_u64).prop_map(|(v, extent)| {
        TestDim { values: Values::U64(v), domain: (Scalar::U64(0), Scalar::U64(u64::MAX)), extent }
    });
    let float = || {
        prop_oneof![
            Just(0.0),
            Just(-0.0),
            -90.0..90.0,
            Just(-90.0),
            Just(90.0),
            (-90i8..90).prop_map(f64::from)
        ]
    };
    let extent_f64 = prop_oneof![
        Just(None),
        (0.1f64..60.0).prop_map(|e| Some(Scalar::F64(e))),
        Just(Some(Scalar::F64(10.0)))
    ];
    let f64s = (few(cells, float()), extent_f64).prop_map(|(v, extent)| TestDim {
        values: Values::F64(v),
        domain: (Scalar::F64(-90.0), Scalar::F64(90.0)),
        extent,
    });
    let extent_f32 = prop_oneof![Just(None), (0.1f32..60.0).prop_map(|e| Some(Scalar::F32(e)))];
    let f32s = (few(cells, float().prop_map(|v| v as f32)), extent_f32).prop_map(|(v, extent)| TestDim {
        values: Values::F32(v),
        domain: (Scalar::F32(-90.0), Scalar::F32(90.0)),
        extent,
    });
    let string =
        prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(b'a'), Just(b'b'), Just(0xff)], 0..12);
    let strings = few(cells, string).prop_map(|v| TestDim {
        values: Values::Str(v),
        domain: (Scalar::U8(0), Scalar::U8(0)),
        extent: None,
    });
    prop_oneof![i8s, i32s, u64s, f64s, f32s, strings]
}

fn row_or_col() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::RowMajor), Just(Layout::ColMajor)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn cells_are_sorted_as_the_order_says(
        (cell_count, mut dims) in (1usize..40).prop_flat_map(|cells| (Just(cells), prop::collection::vec(dim(cells), 1..5))),
        tile_order in row_or_col(),
        cell_order in row_or_col(),
        kind in 0..3,
    ) {
        match kind {
            0 => check(&dims, Some(tile_order), cell_order, cell_count),
            1 => check(&dims, None, cell_order, cell_count),
            _ => {
                dims.iter_mut().for_each(|dim| dim.extent = None);
                check(&dims, None, Layout::Hilbert, cell_count)
            }
        };
    }
}

fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 16
}

#[test]
fn many_cells_of_every_key_width_are_sorted() {
    let cells = 100_000;
    let mut seed = 5;
    let numbers = |seed: &mut u64, range: i32| {
        Values::I32((0..cells).map(|_| (random(seed) % range as u64) as i32).collect())
    };
    let int = |values, extent| TestDim {
        values,
        domain: (Scalar::I32(0), Scalar::I32(999_999)),
        extent: Some(Scalar::I32(extent)),
    };
    let float = |seed: &mut u64| TestDim {
        values: Values::F64((0..cells).map(|_| (random(seed) % 36_000) as f64 / 200.0 - 90.0).collect()),
        domain: (Scalar::F64(-90.0), Scalar::F64(90.0)),
        extent: Some(Scalar::F64(10.0)),
    };
    let text = |seed: &mut u64| TestDim {
        values: Values::Str(
            (0..cells).map(|_| format!("prefix{}", random(seed) % 50_000).into_bytes()).collect(),
        ),
        domain: (Scalar::U8(0), Scalar::U8(0)),
        extent: None,
    };
    let two = [int(numbers(&mut seed, 1_000_000), 10_000), int(numbers(&mut seed, 1_000_000), 1 << 12)];
    assert!(matches!(check(&two, Some(Layout::RowMajor), Layout::ColMajor, cells), OrderKeys::U64(_)));
    // 22 bits of key, so that most cells have duplicates.
    let coarse = [int(numbers(&mut seed, 100), 7), int(numbers(&mut seed, 100), 100)];
    assert!(matches!(check(&coarse, Some(Layout::RowMajor), Layout::RowMajor, cells), OrderKeys::U64(_)));
    let four = [two[0].clone(), two[1].clone(), two[0].clone(), two[1].clone()];
    assert!(matches!(check(&four, Some(Layout::ColMajor), Layout::RowMajor, cells), OrderKeys::U128(_)));
    let floats = [float(&mut seed), float(&mut seed)];
    assert!(matches!(
        check(&floats, Some(Layout::RowMajor), Layout::RowMajor, cells),
        OrderKeys::Words { .. }
    ));
    let strings = [int(numbers(&mut seed, 3), 1), text(&mut seed)];
    assert!(matches!(
        check(&strings, Some(Layout::RowMajor), Layout::RowMajor, cells),
        OrderKeys::Bytes { .. }
    ));
    assert!(matches!(check(&[text(&mut seed)], None, Layout::ColMajor, cells), OrderKeys::Bytes { .. }));
    assert!(matches!(check(&two, None, Layout::Hilbert, cells), OrderKeys::U64(_)));
}

#[test]
fn nan_coordinates_have_a_place_in_every_order() {
    let values: Vec<f64> = vec![f64::NAN, 1.0, -f64::NAN, f64::INFINITY, -3.0, f64::NAN, f64::NEG_INFINITY];
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let columns = [Column::numbers(Datatype::Float64, &bytes).unwrap()];
    let dim = OrderDim {
        datatype: Datatype::Float64,
        domain: Interval { lo: Scalar::F64(-10.0).ordinal(), hi: Scalar::F64(10.0).ordinal() },
        extent: Some(Scalar::F64(2.5)),
    };
    for cell_order in [Layout::RowMajor, Layout::Hilbert] {
        let order = CellOrder::global(vec![dim], Layout::RowMajor, cell_order).unwrap();
        let bounds = [column_bounds(&columns[0]).unwrap()];
        let keys = KeyLayout::new(&order, &bounds).unwrap().keys(&columns, UNSTOPPED).unwrap();
        let sorted = sort_cells(&keys, UNSTOPPED).unwrap();
        assert_eq!(keys.permuted(&sorted).first_descent(), None);
        assert_eq!(keys.repeats(&sorted, UNSTOPPED).unwrap().count(), 1, "the two equal NaN");
    }
}

#[test]
fn a_coordinate_outside_the_bounds_of_a_layout_is_refused() {
    let dim = |extent| OrderDim {
        datatype: Datatype::Int64,
        domain: Interval { lo: Scalar::I64(0).ordinal(), hi: Scalar::I64(1 << 40).ordinal() },
        extent,
    };
    for extent in [None, Some(Scalar::I64(10)), Some(Scalar::I64(16)), Some(Scalar::I64((1 << 33) + 1))] {
        let order = CellOrder::global(vec![dim(extent)], Layout::RowMajor, Layout::RowMajor).unwrap();
        let bounds = Interval { lo: Scalar::I64(5).ordinal(), hi: Scalar::I64(500).ordinal() };
        let layout = KeyLayout::new(&order, &[bounds]).unwrap();
        for (value, fits) in [(5i64, true), (500, true), (-1, false), (i64::MAX, false), (1 << 39, false)] {
            let bytes = value.to_le_bytes();
            let keys = layout.keys(&[Column::numbers(Datatype::Int64, &bytes).unwrap()], UNSTOPPED);
            assert_eq!(keys.is_ok(), fits, "{value} with extent {extent:?}");
        }
    }
    let bytes = [0u8; 12];
    let order = CellOrder::global(vec![dim(None)], Layout::RowMajor, Layout::RowMajor).unwrap();
    let layout = KeyLayout::new(&order, &[Interval::ALL]).unwrap();
    assert!(layout.keys(&[Column::numbers(Datatype::Int32, &bytes).unwrap()], UNSTOPPED).is_err());
    assert!(layout.keys(&[], UNSTOPPED).is_err());
    assert!(KeyLayout::new(&order, &[]).is_err());
}

#[test]
fn cells_below_the_domain_wrap_around_as_the_format_has_it() {
    // An 8-bit dimension from 10 on with tiles of 100: value 5 is 251 steps from the low end, in tile 2.
    let dim = OrderDim {
        datatype: Datatype::Int8,
        domain: Interval { lo: Scalar::I8(10).ordinal(), hi: Scalar::I8(120).ordinal() },
        extent: Some(Scalar::I8(100)),
    };
    let order = CellOrder::global(vec![dim], Layout::RowMajor, Layout::RowMajor).unwrap();
    let bytes = [5u8, 10, 115];
    let columns = [Column::numbers(Datatype::Int8, &bytes).unwrap()];
    let bounds = [column_bounds(&columns[0]).unwrap()];
    let keys = KeyLayout::new(&order, &bounds).unwrap().keys(&columns, UNSTOPPED).unwrap();
    assert_eq!(sort_cells(&keys, UNSTOPPED).unwrap(), Permutation::Indices(vec![1, 2, 0]));
}

#[test]
fn orders_that_do_not_apply_are_refused() {
    let dim = |datatype, extent| OrderDim { datatype, domain: Interval::ALL, extent };
    let global = |dims, cell_order| CellOrder::global(dims, Layout::RowMajor, cell_order);
    assert!(global(vec![], Layout::RowMajor).is_err());
    assert!(global(vec![dim(Datatype::Int8, Some(Scalar::I8(0)))], Layout::RowMajor).is_err());
    assert!(global(vec![dim(Datatype::Int8, Some(Scalar::I8(-5)))], Layout::RowMajor).is_err());
    assert!(global(vec![dim(Datatype::Float64, Some(Scalar::F64(f64::NAN)))], Layout::RowMajor).is_err());
    assert!(global(vec![dim(Datatype::Float64, Some(Scalar::F64(-1.0)))], Layout::RowMajor).is_err());
    assert!(global(vec![dim(Datatype::Int8, None)], Layout::Unordered).is_err());
    assert!(global(vec![dim(Datatype::Int8, None); 16], Layout::Hilbert).is_err());
    assert!(CellOrder::plain(vec![dim(Datatype::Int8, None)], Layout::Hilbert).is_err());
}
