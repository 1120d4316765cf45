//! T3: schemas whose numbers overflow, or ask for too much.

use crate::arrays::{Ground, one_fragment, payload, read, schema, tile};
use crate::blast::{light, refused, turn};
use smalti::{CellValNum, Scalar};
use smalti_format::ArraySchema;
use std::fs;

type Change = fn(&mut ArraySchema);

/// What no array can be.
const SENSELESS: &[(&str, Change)] = &[
    ("a capacity of 0", |schema| {
        schema.capacity = 0;
        schema.array_type = smalti::ArrayType::Sparse;
    }),
    ("no dimensions", |schema| schema.dimensions.clear()),
    ("an extent of 0", |schema| schema.dimensions[0].tile_extent = Some(Scalar::I32(0))),
    ("an inverted domain", |schema| schema.dimensions[0].domain = Some((Scalar::I32(99), Scalar::I32(0)))),
    ("two dimensions of one name", |schema| schema.dimensions.push(schema.dimensions[0].clone())),
    ("two attributes of one name", |schema| schema.attributes.push(schema.attributes[0].clone())),
];

/// What is unusual, and may be refused or not.
const EXTREME: &[(&str, Change)] = &[
    // The bits of an extent count as unsigned.
    ("a negative extent", |schema| schema.dimensions[0].tile_extent = Some(Scalar::I32(-5))),
    ("the largest capacity", |schema| schema.capacity = u64::MAX),
    ("a capacity that overflows bytes", |schema| schema.capacity = 1 << 62),
    ("the largest domain", |schema| {
        schema.dimensions[0].domain = Some((Scalar::I32(i32::MIN), Scalar::I32(i32::MAX)));
        schema.dimensions[0].tile_extent = Some(Scalar::I32(1));
    }),
    ("an extent beyond the domain", |schema| {
        schema.dimensions[0].tile_extent = Some(Scalar::I32(i32::MAX));
    }),
    ("twenty dimensions of the largest domain", |schema| {
        for at in 0..20 {
            let mut dimension = schema.dimensions[0].clone();
            dimension.name = format!("x{at}");
            dimension.domain = Some((Scalar::I32(i32::MIN), Scalar::I32(i32::MAX - 1)));
            dimension.tile_extent = Some(Scalar::I32(i32::MAX));
            schema.dimensions.push(dimension);
        }
    }),
    ("cells of 16 GiB", |schema| {
        schema.attributes[0].cell_val_num = CellValNum::from_raw(u32::MAX - 1).unwrap();
    }),
    ("cells of 1 MiB", |schema| {
        schema.attributes[0].cell_val_num = CellValNum::from_raw(1 << 18).unwrap();
        schema.attributes[0].fill_value = vec![1; 1 << 20];
    }),
    ("10,000 attributes", |schema| {
        for at in 0..10_000 {
            let mut attribute = schema.attributes[0].clone();
            attribute.name = format!("n{at}");
            schema.attributes.push(attribute);
        }
    }),
    ("10,000 enumerations that are not there", |schema| {
        for at in 0..10_000 {
            schema.enumerations.push((format!("e{at}"), format!("__e{at}")));
        }
    }),
    ("an enumeration outside", |schema| {
        schema.enumerations[0].1 = "../../../../../etc/passwd".into();
    }),
    ("a fill value that does not fit", |schema| schema.attributes[0].fill_value = vec![1; 3]),
    ("chunks of 4 GiB", |schema| schema.coords_filters.max_chunk_size = u32::MAX),
];

/// Puts a schema in the place of an array's.
fn put(ground: &Ground, change: Change) -> bool {
    let path = ground.file("/__schema/__1");
    let mut schema = ArraySchema::decode(&payload(&fs::read(&path).unwrap()).0).unwrap();
    change(&mut schema);
    let Ok(bytes) = schema.encode() else { return false };
    fs::write(path, tile(&bytes)).unwrap();
    true
}

#[test]
fn t3_a_senseless_schema_is_refused() {
    let _turn = turn();
    for is_dense in [false, true] {
        for &(what, change) in SENSELESS {
            let ground = one_fragment(&schema(is_dense, true));
            assert!(put(&ground, change), "{what} cannot be written");
            refused(what, || read(&ground));
        }
    }
}

#[test]
fn t3_an_extreme_schema_takes_neither_time_nor_memory() {
    let _turn = turn();
    for is_dense in [false, true] {
        for &(what, change) in EXTREME {
            let ground = one_fragment(&schema(is_dense, true));
            if put(&ground, change) {
                let _ = light(what, || read(&ground));
                for fragment in fs::read_dir(ground.thing().join("__fragments")).unwrap() {
                    fs::remove_dir_all(fragment.unwrap().path()).unwrap();
                }
                let _ = light(&format!("{what}, without cells"), || read(&ground));
            }
        }
    }
}
