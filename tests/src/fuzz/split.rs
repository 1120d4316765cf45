//! The target of splits: what is written of one, with a right checksum around it, is read and carried out on a small array.

use smalti_array::{ArrayPlace, Snapshot};
use smalti_format::{
    ArraySchema, Attribute, CurrentDomain, DataOrder, Dimension, Version, default_fill_value,
};
use smalti_query::condition::Condition;
use smalti_query::{Duplicates, ReadRequest, Scan, Split, WriteRequest, delete, read, write};
use smalti_store::{ManualClock, MemoryStore, SeededEntropy};
use smalti_tile::ColumnRef;
use smalti_types::{
    ArrayType, CellValNum, Datatype, Env, Extent, FilterPipeline, Layout, Result, Scalar, TimeRange,
};
use std::sync::Arc;

/// The address that splits of the target name.
const URI: &str = "mem://array";

/// Cells of a batch, and batches that are read.
const BATCH: (usize, usize) = (40, 40);

/// Reads a split as it is, and as the content of a written one; what was read is written and read again, and carried out.
pub fn fuzz_split(input: &[u8]) {
    let place = place();
    assert!(Split::from_bytes(input, &place).is_err() || input.starts_with(b"smSPLIT\n"));
    let Ok(bytes) = Split::with_content(URI, input, &place) else { return };
    let Ok(split) = Split::from_bytes(&bytes, &place) else { return };
    let content = split.content().expect("what was read is written");
    let again =
        Split::with_content(URI, &content, &place).and_then(|bytes| Split::from_bytes(&bytes, &place));
    assert_eq!(again.and_then(|again| again.content()).expect("what was written is read"), content);
    let Ok(snapshot) = create(&place).and_then(|()| split.snapshot(&place)) else { return };
    let request = ReadRequest {
        batch_cell_count: Some(BATCH.0),
        memory_byte_len: Some(1 << 20),
        ..split.request().clone()
    };
    let Ok(batches) = read(&snapshot, &request) else { return };
    for batch in batches.take(BATCH.1) {
        if batch.is_err() {
            break;
        }
    }
}

/// The contents of some splits of the target's array.
///
/// # Errors
/// None but those of bugs.
pub fn seeds() -> Result<Vec<(String, Vec<u8>)>> {
    let place = place();
    create(&place)?;
    let snapshot = Snapshot::open(place, TimeRange::ALL)?;
    let conditions = ["a > 3", "a in (1, 2, 7) or s like 'e%'"];
    let whole = ReadRequest::default();
    let requests = [
        ("whole", whole.clone()),
        ("row", ReadRequest { layout: Some(Layout::RowMajor), limit: Some(5), ..whole.clone() }),
        ("condition", ReadRequest { condition: Some(conditions[0].parse()?), ..whole.clone() }),
        (
            "ranges",
            ReadRequest {
                fields: vec!["s".into(), "a".into()],
                ranges: vec![Vec::new(), vec![Extent::between_strings(b"b", b"f")?]],
                condition: Some(conditions[1].parse()?),
                layout: Some(Layout::Unordered),
                batch_cell_count: Some(3),
                ..whole
            },
        ),
    ];
    let mut seeds = Vec::new();
    for (name, request) in requests {
        for split in Scan::new(&snapshot, &request)?.splits(3)? {
            seeds.push((format!("{name}_{}", split.number()), split.content()?));
        }
    }
    Ok(seeds)
}

fn place() -> ArrayPlace {
    let env = Env::new(ManualClock::new(1), SeededEntropy::new(1));
    ArrayPlace::in_store(Arc::new(MemoryStore::new()), "array".into(), None, env)
}

/// Makes the array of the target: the same each time.
fn create(place: &ArrayPlace) -> Result<()> {
    place.create(&schema())?;
    for fragment in 0..3i32 {
        let cells: Vec<u8> = (0..8).flat_map(|cell| (cell * 3 + fragment).to_le_bytes()).collect();
        let texts: Vec<u8> = (0..8).map(|cell| b'a' + (cell * 5 % 8) as u8).collect();
        let offsets: Vec<u64> = (0..=8).collect();
        let request = WriteRequest {
            columns: vec![
                ("x".into(), ColumnRef::fixed(&cells)),
                ("s".into(), ColumnRef::var(&texts, &offsets)),
                ("a".into(), ColumnRef::fixed(&cells)),
            ],
            subarray: None,
            layout: Layout::Unordered,
            at: Some(10 + fragment as u64),
            duplicates: Duplicates::Refuse,
            progress: None,
        };
        write(&Snapshot::open(place.clone(), TimeRange::ALL)?, &request)?;
    }
    let gone: Condition = "a == 5".parse()?;
    delete(&Snapshot::open(place.clone(), TimeRange::ALL)?, &gone, Some(20))?;
    Ok(())
}

fn schema() -> ArraySchema {
    let dimension = |name: &str, datatype, cell_val_num, domain, tile_extent| Dimension {
        name: name.into(),
        datatype,
        cell_val_num,
        filters: FilterPipeline::default(),
        domain,
        tile_extent,
    };
    let numbers = Some((Scalar::I32(0), Scalar::I32(99)));
    ArraySchema {
        version: Version::DEFAULT,
        allows_dups: false,
        array_type: ArrayType::Sparse,
        tile_order: Layout::RowMajor,
        cell_order: Layout::RowMajor,
        capacity: 3,
        coords_filters: FilterPipeline::default(),
        offsets_filters: FilterPipeline::default(),
        validity_filters: FilterPipeline::default(),
        dimensions: vec![
            dimension("x", Datatype::Int32, CellValNum::ONE, numbers, Some(Scalar::I32(10))),
            dimension("s", Datatype::StringAscii, CellValNum::Var, None, None),
        ],
        attributes: vec![Attribute {
            name: "a".into(),
            datatype: Datatype::Int32,
            cell_val_num: CellValNum::ONE,
            filters: FilterPipeline::default(),
            fill_value: default_fill_value(Datatype::Int32, CellValNum::ONE),
            nullable: false,
            fill_valid: false,
            order: DataOrder::Unordered,
            enumeration: None,
        }],
        dimension_labels: Vec::new(),
        enumerations: Vec::new(),
        current_domain: CurrentDomain::Empty,
    }
}
