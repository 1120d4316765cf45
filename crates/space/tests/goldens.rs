//! Orders of cells as the reference library reads them back in global order: coordinates listed cell by cell must have
//! rising keys, and shuffled they must be sorted back into the same places.

use smalti_space::{
    CellOrder, Column, Hilbert, Interval, KeyLayout, OrderDim, UNSTOPPED, column_bounds, sort_cells,
};
use smalti_types::{Datatype, Layout, Scalar};

struct Dim {
    dim: OrderDim,
    offsets: Vec<u64>,
    bytes: Vec<u8>,
}

macro_rules! numbers {
    ($datatype:ident, $t:ty, $variant:ident, $lo:expr, $hi:expr, $extent:expr, $values:expr) => {{
        let values: &[$t] = &$values;
        let extent: Option<$t> = $extent;
        Dim {
            dim: OrderDim {
                datatype: Datatype::$datatype,
                domain: Interval { lo: Scalar::$variant($lo).ordinal(), hi: Scalar::$variant($hi).ordinal() },
                extent: extent.map(Scalar::$variant),
            },
            offsets: Vec::new(),
            bytes: values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }};
}

fn strings(values: &[&str]) -> Dim {
    let offsets = values.iter().scan(0, |at, s| {
        let start = *at;
        *at += s.len() as u64;
        Some(start)
    });
    Dim {
        dim: OrderDim { datatype: Datatype::StringAscii, domain: Interval::ALL, extent: None },
        offsets: offsets.collect(),
        bytes: values.concat().into_bytes(),
    }
}

impl Dim {
    fn column(&self) -> Column<'_> {
        if self.dim.is_string() {
            Column::strings(&self.offsets, &self.bytes).unwrap()
        } else {
            Column::numbers(self.dim.datatype, &self.bytes).unwrap()
        }
    }
}

fn check(dims: &[Dim], tile_order: Layout, cell_order: Layout) {
    let order = CellOrder::global(dims.iter().map(|dim| dim.dim).collect(), tile_order, cell_order).unwrap();
    let columns: Vec<Column<'_>> = dims.iter().map(Dim::column).collect();
    let tight = columns.iter().map(|c| column_bounds(c).unwrap_or(Interval::ALL)).collect();
    for bounds in [tight, vec![Interval::ALL; dims.len()]] {
        let layout = KeyLayout::new(&order, &bounds).unwrap();
        let keys = layout.keys(&columns, UNSTOPPED).unwrap();
        // The reference leaves cells that differ in the sign of zero alone where they were written.
        for cell in 1..keys.len() {
            if keys.compare(cell - 1, &keys, cell).is_gt() {
                assert!(differ_in_zeros_only(dims, cell), "cell {cell} comes before its predecessor");
            }
        }
        if keys.first_descent().is_none() {
            assert!(sort_cells(&keys, UNSTOPPED).unwrap().is_identity());
        }
    }
}

/// Whether a cell and its predecessor are equal but for the signs of zeros.
fn differ_in_zeros_only(dims: &[Dim], cell: usize) -> bool {
    dims.iter().all(|dim| {
        let byte_len = dim.dim.datatype.byte_len();
        let value = |cell: usize| {
            let mut bytes = dim.bytes[cell * byte_len..(cell + 1) * byte_len].to_vec();
            if dim.dim.datatype.is_float() && bytes[..byte_len - 1].iter().all(|byte| *byte == 0) {
                bytes[byte_len - 1] &= 0x7f;
            }
            bytes
        };
        value(cell) == value(cell - 1)
    })
}

#[test]
fn cells_of_the_corpus_are_in_hilbert_order() {
    let dims = [
        numbers!(
            Int32,
            i32,
            I32,
            1,
            100,
            None,
            [1, 41, 30, 45, 49, 34, 15, 4, 19, 23, 8, 12, 38, 67, 78, 82, 97, 93, 60, 75, 56, 52, 71, 86]
        ),
        numbers!(
            Int32,
            i32,
            I32,
            1,
            100,
            None,
            [1, 21, 38, 33, 45, 50, 43, 60, 55, 67, 72, 84, 62, 99, 82, 94, 89, 77, 28, 23, 16, 4, 11, 6]
        ),
    ];
    check(&dims, Layout::RowMajor, Layout::Hilbert);
    let dims = [
        numbers!(
            Float64,
            f64,
            F64,
            -1.0,
            1.0,
            None,
            [
                -0.2879033166650653,
                0.0,
                -0.27941549819892586,
                -0.7568024953079282,
                -0.9589242746631385,
                -0.9999902065507035,
                -0.5365729180004349,
                -0.5440211108893698,
                0.6569865987187891,
                0.4121184852417566,
                0.9893582466233818,
                0.4201670368266409,
                0.9906073556948704,
                0.1411200080598672,
                0.6502878401571168,
                0.9092974268256817,
                0.8414709848078965
            ]
        ),
        numbers!(
            Float32,
            f32,
            F32,
            0.0,
            10.0,
            None,
            [
                2.32, 0.0, 4.62, 3.08, 3.85, 8.47, 9.24, 7.7, 5.39, 6.93, 6.16, 0.01, 0.78, 2.31, 1.55, 1.54,
                0.77
            ]
        ),
        numbers!(
            Int64,
            i64,
            I64,
            -50,
            50,
            None,
            [-38, -50, -8, -22, -15, 27, 34, 20, -1, 13, 6, 41, 48, -29, -45, -36, -43]
        ),
    ];
    check(&dims, Layout::RowMajor, Layout::Hilbert);
    let dims = [
        strings(&[
            "apple",
            "a",
            "banana",
            "cherry",
            "kiwi",
            "zebra",
            "aa",
            "ab",
            "apple pie",
            "~",
            "m m",
            "abcdefghijkl",
            "Zed",
            "b",
        ]),
        numbers!(
            Int32,
            i32,
            I32,
            0,
            1000,
            None,
            [0, 71, 142, 213, 284, 355, 426, 497, 923, 852, 781, 710, 639, 568]
        ),
    ];
    check(&dims, Layout::RowMajor, Layout::Hilbert);
}

#[test]
fn cells_of_one_and_three_dimensions_are_in_hilbert_order() {
    let dims = [
        numbers!(
            UInt8,
            u8,
            U8,
            0,
            254,
            None,
            [
                5, 37, 105, 73, 9, 85, 94, 97, 64, 147, 187, 168, 174, 204, 228, 228, 146, 174, 138, 248,
                240, 197, 159, 148
            ]
        ),
        numbers!(
            Int64,
            i64,
            I64,
            -1_000_000_000_000_000,
            1_000_000_000_000_000,
            None,
            [
                -64130094312558,
                -109847388234707,
                -490260824691751,
                -399667430177549,
                -679575932284311,
                -928639442452808,
                -912115984077234,
                977920295363770,
                594138857504093,
                225079208546062,
                106994704148985,
                642456836765533,
                585323838427507,
                991000566868786,
                747106890792524,
                244358458882326,
                29777640542741,
                9096517915907,
                -549585620018816,
                -569382603528802,
                -989469390868851,
                -67587949349422,
                -393935146361373,
                -443148775798454
            ]
        ),
        numbers!(
            Float32,
            f32,
            F32,
            -3.0,
            4.5,
            None,
            [
                -1.556984,
                -2.9719932,
                0.0,
                0.0,
                2.563282,
                0.8082918,
                1.0585786,
                3.353627,
                -0.0,
                -2.313783,
                -1.8415419,
                -1.1436381,
                -0.0,
                -0.9930052,
                0.0,
                0.0,
                3.5350454,
                3.225358,
                3.8787582,
                1.7978787,
                -0.0,
                -0.29051957,
                -0.0,
                -1.4954495
            ]
        ),
    ];
    check(&dims, Layout::RowMajor, Layout::Hilbert);
    let dims = [numbers!(
        UInt64,
        u64,
        U64,
        0,
        u64::MAX - 1,
        None,
        [
            1783875671638880328,
            2781547998980508174,
            4419175093153142543,
            6999546416337506221,
            7424783095227804966,
            8122349841428205526,
            10883425766581340860,
            11161317864596712733,
            11768959645704125111,
            12478304526212934467,
            15058780078767827546,
            18054711736418465309
        ]
    )];
    check(&dims, Layout::RowMajor, Layout::Hilbert);
}

#[test]
fn floats_at_the_borders_of_tiles_are_in_the_tile_that_the_format_computes() {
    let dims = [
        numbers!(
            Float32,
            f32,
            F32,
            -90.0,
            90.0,
            Some(0.7),
            [
                30.917728, -89.3, 0.0, -0.0, -86.5, -88.6, 0.0, 45.238487, -87.9, -87.2, -5.808561, -0.0,
                4.2732196, -51.299274, 0.0, 0.0, 0.0, -88.6, -87.9, -87.2, -83.14969, -63.817207, -57.50055,
                -35.924385, -32.010605, -0.0, 0.0, -0.0, 12.54497, 62.113377, 72.705025, -85.46456, 0.0, 0.0,
                25.482906, 77.023026, -22.26819, 67.33386, 12.549447, 80.09067
            ]
        ),
        numbers!(
            Float64,
            f64,
            F64,
            -1.0,
            1.0,
            Some(0.1),
            [
                -0.9,
                -0.898591889455459,
                -0.8625692957562769,
                -0.775188517014842,
                -0.7,
                -0.6,
                -0.5741836100493216,
                -0.6,
                -0.5,
                -0.5,
                -0.4980015066704837,
                -0.5,
                -0.5,
                -0.2737460988992968,
                -0.20344888064125888,
                -0.14000627619767392,
                -0.04160701022075042,
                0.0,
                -0.0,
                0.0,
                0.03902963975571794,
                0.031045338212541962,
                0.0,
                -0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                -0.0,
                -0.0,
                0.2592443656804071,
                0.4855348364300791,
                0.6803376343167793,
                0.756375718836561,
                0.7930810474320016,
                0.845519152336935,
                0.8962481228216295,
                0.9607895017611789,
                0.9040789814150445
            ]
        ),
    ];
    check(&dims, Layout::ColMajor, Layout::RowMajor);
    let dims = [
        numbers!(
            Float64,
            f64,
            F64,
            0.1,
            5.0,
            Some(0.3),
            [
                0.1,
                0.1,
                0.29446345044910005,
                0.1,
                0.1,
                0.29103062106192235,
                0.1,
                0.1,
                0.1,
                0.1,
                0.1,
                0.1,
                0.1,
                0.4,
                0.4,
                0.7,
                0.7,
                0.7,
                0.9999999999999999,
                1.066684592175558,
                1.3385665219670364,
                1.3,
                1.3,
                1.6,
                1.6,
                2.738142261398499,
                2.9108417795427637,
                2.91453426646325,
                2.9929005523907737,
                2.878573510088439,
                3.1703979147077934,
                3.2298748335083043,
                3.324327799897457,
                3.4215811719798164,
                4.02815558495018,
                4.005921872946035,
                4.076778273459079,
                4.007545059295033,
                4.586613631993589,
                4.804347493428263
            ]
        ),
        numbers!(
            Int16,
            i16,
            I16,
            -300,
            300,
            Some(7),
            [
                -299, -252, -185, -74, -71, -37, -26, 73, 89, 108, 121, 199, 206, -220, 31, -246, -120, 229,
                -77, 98, -193, 182, 296, -218, 55, -72, -246, -199, 57, 95, 15, 24, 207, -240, -255, -117,
                -51, -6, 70, 98
            ]
        ),
    ];
    check(&dims, Layout::RowMajor, Layout::ColMajor);
}

#[test]
fn the_first_places_of_the_curve_are_known() {
    let curve = Hilbert::new(2).unwrap();
    let mut point = [0; 2];
    // With an odd number of bits the first step of the curve goes along the second dimension.
    let first: Vec<[u64; 2]> = (0..10)
        .map(|place| {
            curve.point(place, &mut point);
            point
        })
        .collect();
    assert_eq!(first, [[0, 0], [0, 1], [1, 1], [1, 0], [2, 0], [3, 0], [3, 1], [2, 1], [2, 2], [3, 2]]);
}

#[test]
fn tiles_of_narrow_floats_are_computed_in_narrow_floats() {
    // Every second value is in another tile than it would be in double precision, and so in another place.
    let x = [
        -67.25, -66.9, -30.150002, -29.800001, -16.150002, -15.800003, -4.25, -3.9000018, 4.8499985,
        5.1999965, 13.25, 13.599997, 21.650002, 21.999996, 32.15, 32.499996, 46.149994, 46.499996, 60.149994,
        60.499992,
    ];
    let dims = [
        numbers!(Float32, f32, F32, -90.0, 90.0, Some(0.7), x),
        numbers!(Int32, i32, I32, 0, 9, Some(10), [5, 0].repeat(10)),
    ];
    check(&dims, Layout::RowMajor, Layout::ColMajor);
}
