//! Arrays whose schema changed between fragments: what evolutions by libtiledb leave, made by hand.

use crate::oracle::arrays::{dimension, place, schema};
use smalti_array::{ArrayPlace, Snapshot};
use smalti_format::ArraySchema;
use smalti_query::condition::{Condition, Relation};
use smalti_query::{Duplicates, ReadRequest, WriteRequest, read, write};
use smalti_tile::{Column, ColumnRef, Scratch, write_generic_tile};
use smalti_types::{ArrayType, CellValNum, Datatype, Error, ErrorKind, Extent, Layout, Scalar, TimeRange};

/// The time of the schema that is put beside the first, after all fragments.
const LATER: u64 = 1_000_000;
const CELLS: [i32; 8] = [10, 11, 12, 13, 14, 15, 16, 17];

/// An array with an attribute `n` and one fragment.
fn array(array_type: ArrayType) -> ArrayPlace {
    let x = dimension("x", Some((Scalar::I32(1), Scalar::I32(8))), Some(Scalar::I32(4)));
    let mut schema = schema(array_type, vec![x], (Layout::RowMajor, Layout::RowMajor));
    schema.attributes.truncate(1);
    schema.attributes[0].datatype = Datatype::Int32;
    schema.attributes[0].fill_value = vec![255; 4];
    let place = place(7);
    place.create(&schema).unwrap();
    let coordinates: Vec<i32> = (1..=8).collect();
    let mut columns = vec![("n".to_owned(), ColumnRef::fixed(bytemuck::cast_slice(&CELLS)))];
    if array_type == ArrayType::Sparse {
        columns.push(("x".to_owned(), ColumnRef::fixed(bytemuck::cast_slice(&coordinates))));
    }
    let layout = if array_type == ArrayType::Dense { Layout::RowMajor } else { Layout::Unordered };
    let duplicates = Duplicates::default();
    let request = WriteRequest { columns, subarray: None, layout, at: Some(100), duplicates, progress: None };
    write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
    place
}

/// Puts a later schema, changed from the array's.
fn evolve(place: &ArrayPlace, change: impl FnOnce(&mut ArraySchema)) {
    evolve_at(place, LATER, change);
}

fn evolve_at(place: &ArrayPlace, time: u64, change: impl FnOnce(&mut ArraySchema)) {
    let mut schema = (**Snapshot::open(place.clone(), TimeRange::ALL).unwrap().schema()).clone();
    change(&mut schema);
    let mut tile = Vec::new();
    let stored = schema.encode().unwrap();
    write_generic_tile(&stored, schema.version, None, &mut tile, &mut Scratch::new()).unwrap();
    let path = place.join(&format!("__schema/__{time}_{time}_{:032x}", 0xabc));
    place.store().put(&path, &[&tile]).unwrap();
}

fn cells(place: &ArrayPlace, field: &str, end: u64) -> Result<Vec<Column>, Error> {
    let snapshot = Snapshot::open(place.clone(), TimeRange { start: 0, end })?;
    let request = ReadRequest { fields: vec![field.into()], ..ReadRequest::default() };
    read(&snapshot, &request)?.map(|batch| batch.map(|mut batch| batch.columns.remove(0))).collect()
}

fn values(columns: &[Column]) -> Vec<i32> {
    columns.iter().flat_map(|column| column.data.values::<i32>().to_vec()).collect()
}

#[test]
fn another_attribute_of_an_old_name_does_not_take_its_bytes() {
    for array_type in [ArrayType::Dense, ArrayType::Sparse] {
        for (datatype, cell_val_num, nullable) in [
            (Datatype::Float32, CellValNum::ONE, false),
            (Datatype::Int64, CellValNum::ONE, false),
            (Datatype::Int32, CellValNum::Var, false),
            (Datatype::Int32, CellValNum::ONE, true),
        ] {
            let place = array(array_type);
            evolve(&place, |schema| {
                let attribute = &mut schema.attributes[0];
                (attribute.datatype, attribute.cell_val_num) = (datatype, cell_val_num);
                (attribute.nullable, attribute.fill_valid) = (nullable, false);
                attribute.fill_value = vec![0; datatype.byte_len()];
            });
            let found = cells(&place, "n", u64::MAX).unwrap();
            let byte_len: usize = found.iter().map(|column| column.data.as_slice().len()).sum();
            assert_eq!(byte_len, 8 * datatype.byte_len(), "{array_type:?} {datatype}");
            assert!(found.iter().all(|column| column.data.as_slice().iter().all(|byte| *byte == 0)));
            let nulls = found.iter().filter_map(|column| column.validity.as_ref());
            assert_eq!(
                nulls.flat_map(|validity| validity.as_slice()).filter(|byte| **byte == 0).count(),
                if nullable { 8 } else { 0 }
            );
            for (value, expected) in [(0, if nullable { 0 } else { 8 }), (10, 0)] {
                if cell_val_num == CellValNum::ONE {
                    let condition = Some(Condition::compare("n", Relation::Eq, value));
                    let written_only = array_type == ArrayType::Dense;
                    let request = ReadRequest {
                        fields: vec!["x".into()],
                        condition,
                        leaves_out: written_only,
                        ..ReadRequest::default()
                    };
                    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
                    let count: usize =
                        read(&snapshot, &request).unwrap().map(|batch| batch.unwrap().cell_count).sum();
                    assert_eq!(count, expected, "{array_type:?} {datatype} {value}");
                }
            }
            // Other fields and earlier times are not concerned.
            assert_eq!(values(&cells(&place, "x", u64::MAX).unwrap()), [1, 2, 3, 4, 5, 6, 7, 8]);
            assert_eq!(values(&cells(&place, "n", LATER - 1).unwrap()), CELLS);
        }
    }
}

#[test]
fn deletes_by_an_attribute_that_is_another_one_now_are_refused() {
    let place = array(ArrayType::Sparse);
    let snapshot = Snapshot::open(place.clone(), TimeRange::ALL).unwrap();
    smalti_query::delete(&snapshot, &Condition::compare("n", Relation::Eq, 10), Some(200)).unwrap();
    assert_eq!(values(&cells(&place, "x", LATER - 1).unwrap()), [2, 3, 4, 5, 6, 7, 8]);
    evolve(&place, |schema| schema.attributes[0].datatype = Datatype::Float32);
    let error = cells(&place, "x", u64::MAX).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("cells were deleted by attribute \"n\" of type FLOAT32"), "{error}");
    assert_eq!(values(&cells(&place, "x", LATER - 1).unwrap()), [2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn an_attribute_that_is_added_has_its_fill_value_in_older_fragments() {
    for array_type in [ArrayType::Dense, ArrayType::Sparse] {
        let place = array(array_type);
        evolve(&place, |schema| {
            let mut added = schema.attributes[0].clone();
            added.name = "m".into();
            added.fill_value = 9_i32.to_le_bytes().to_vec();
            schema.attributes.insert(0, added);
        });
        assert_eq!(values(&cells(&place, "m", u64::MAX).unwrap()), [9; 8]);
        assert_eq!(values(&cells(&place, "n", u64::MAX).unwrap()), CELLS);
        assert_eq!(cells(&place, "m", LATER - 1).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn a_schema_of_another_space_is_corrupt() {
    type Change = fn(&mut ArraySchema);
    let changes: [(ArrayType, Change); 4] = [
        (ArrayType::Dense, |schema| schema.dimensions[0].tile_extent = Some(Scalar::I32(2))),
        (ArrayType::Dense, |schema| schema.cell_order = Layout::ColMajor),
        (ArrayType::Sparse, |schema| {
            let mut second = schema.dimensions[0].clone();
            second.name = "y".into();
            schema.dimensions.push(second);
        }),
        (ArrayType::Sparse, |schema| {
            schema.dimensions[0].datatype = Datatype::UInt32;
            schema.dimensions[0].domain = Some((Scalar::U32(1), Scalar::U32(8)));
            schema.dimensions[0].tile_extent = Some(Scalar::U32(4));
        }),
    ];
    for (array_type, change) in changes {
        let place = array(array_type);
        evolve(&place, change);
        let error = cells(&place, "n", u64::MAX).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("__schema/"), "{error}");
        assert_eq!(values(&cells(&place, "n", LATER - 1).unwrap()), CELLS);
    }
}

/// Writes `n`, or what is called so, to cells `lo..=hi` of a dense array.
fn write_part(place: &ArrayPlace, field: &str, values: &[i32], lo: i32, at: u64) {
    let cells = Extent::between(Scalar::I32(lo), Scalar::I32(lo + values.len() as i32 - 1)).unwrap();
    let columns = vec![(field.to_owned(), ColumnRef::fixed(bytemuck::cast_slice(values)))];
    let duplicates = Duplicates::default();
    let (subarray, layout) = (Some(vec![cells]), Layout::RowMajor);
    let request = WriteRequest { columns, subarray, layout, at: Some(at), duplicates, progress: None };
    write(&Snapshot::open(place.clone(), TimeRange::ALL).unwrap(), &request).unwrap();
}

/// An attribute is dropped, cells are written without it, and it comes back: the rule is libtiledb's.
#[test]
fn an_attribute_that_comes_back_is_lost_where_its_cells_in_a_tile_were_all_written_over() {
    let place = array(ArrayType::Dense);
    write_part(&place, "n", &[50, 51], 5, 200);
    let original = (**Snapshot::open(place.clone(), TimeRange::ALL).unwrap().schema()).clone();
    evolve(&place, |schema| schema.attributes[0].name = "m".into());
    // The first covers all of the array's first fragment in its tile, the second only the second fragment in its own.
    write_part(&place, "m", &[1, 2, 3, 4], 1, LATER + 1);
    write_part(&place, "m", &[5, 6, 7], 5, LATER + 2);
    evolve_at(&place, LATER + 3, |schema| *schema = original);
    assert_eq!(values(&cells(&place, "n", u64::MAX).unwrap()), [-1, -1, -1, -1, 14, 15, 16, 17]);
    assert_eq!(values(&cells(&place, "m", LATER + 2).unwrap()), [1, 2, 3, 4, 5, 6, 7, -1]);
}
