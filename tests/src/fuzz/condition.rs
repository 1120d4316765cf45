//! The targets of conditions: their text, and stored trees against schemas.

use smalti_array::FieldId;
use smalti_format::{ArraySchema, ConditionTree};
use smalti_query::condition::{Absent, BoundCondition, BoundField, Condition, FieldBounds, Verdict};
use smalti_space::UNSTOPPED;
use smalti_tile::ColumnRef;
use smalti_types::Error;
use std::borrow::Cow;

/// Cells that a condition is evaluated for.
const CELL_COUNT: usize = 65;

/// The longest cell of fixed size that is evaluated: columns are made of the input again and again.
const MAX_CELL_BYTE_LEN: usize = 1 << 10;

/// Reads a condition from text, shows it and reads it again.
pub fn fuzz_condition_text(input: &[u8]) {
    let Ok(condition) = String::from_utf8_lossy(input).parse::<Condition>() else { return };
    let text = condition.to_string();
    let again: Condition = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(again.to_string(), text);
}

/// A schema and a stored tree as one input: u32 length of the schema's tile, the tile, the tree's tile.
pub fn with_schema(schema: &[u8], tree: &[u8]) -> Vec<u8> {
    [&(schema.len() as u32).to_le_bytes(), schema, tree].concat()
}

/// Binds a stored tree to a schema, evaluates it on cells made of the input, and compares that with the verdict.
pub fn fuzz_stored_condition(input: &[u8]) {
    let Some((schema_len, rest)) = input.split_first_chunk() else { return };
    let Some((schema, tree)) = rest.split_at_checked(u32::from_le_bytes(*schema_len) as usize) else {
        return;
    };
    let (Ok(schema), Ok(tree)) = (ArraySchema::decode(schema), ConditionTree::decode(tree)) else { return };
    let Ok(bound) = BoundCondition::of_stored(&tree, &[&schema]) else { return };
    if bound.fields().iter().any(|field| field.shape.cell_byte_len() > MAX_CELL_BYTE_LEN) {
        return;
    }
    let cells: Vec<Cells> = bound.fields().iter().map(|field| Cells::new(field, input)).collect();
    let columns: Vec<_> =
        bound.fields().iter().zip(&cells).map(|(field, cells)| cells.column(field)).collect();
    let holding = bound.evaluate(&columns, CELL_COUNT, UNSTOPPED).expect("the columns are whole");
    // Nulls are all that is known.
    let verdict = bound.verdict(&|idx| {
        let null_count = cells[idx].validity.iter().filter(|valid| **valid == 0).count();
        Ok(Some(FieldBounds {
            cell_count: CELL_COUNT as u64,
            null_count: Some(null_count as u64),
            range: None::<(Cow<'_, [u8]>, Cow<'_, [u8]>)>,
            may_have_nan: true,
        }))
    });
    let verdict = verdict.expect("bounds that are known");
    assert!(verdict != Verdict::None || !holding.any());
    assert!(verdict != Verdict::All || holding.all());
    for absent in [Absent::Filled, Absent::Fails] {
        let bound = bound.clone().with_absent(absent);
        let _ = bound.evaluate(&vec![None; columns.len()], CELL_COUNT, UNSTOPPED);
    }
    if let Ok(negated) = bound.to_stored_negated() {
        let negated = BoundCondition::of_stored(&negated, &[&schema]).expect("what was bound is bound again");
        let others = negated.evaluate(&columns, CELL_COUNT, UNSTOPPED).expect("the columns are whole");
        assert!(holding.iter_cells().all(|cell| !others.is_set(cell)));
    }
    assert!(BoundCondition::of_stored(&tree, &[]).is_err_and(|error: Error| !error.message().is_empty()));
}

/// The cells of a field.
struct Cells {
    data: Vec<u8>,
    offsets: Vec<u64>,
    validity: Vec<u8>,
}

impl Cells {
    fn new(field: &BoundField, input: &[u8]) -> Cells {
        let byte_len = field.shape.cell_byte_len() * CELL_COUNT;
        // Each field begins at another place of the input.
        let start = match field.id {
            FieldId::Attribute(idx) => idx * 7 + 3,
            _ => 0,
        };
        let bytes = || input.iter().cycle().skip(start % input.len().max(1));
        let data: Vec<u8> = bytes().take(byte_len).copied().collect();
        let mut offsets: Vec<u64> =
            bytes().take(CELL_COUNT - 1).map(|byte| u64::from(*byte) % (data.len() as u64 + 1)).collect();
        offsets.sort_unstable();
        let offsets = [vec![0], offsets, vec![data.len() as u64]].concat();
        Cells { data, offsets, validity: bytes().take(CELL_COUNT).map(|byte| byte % 3).collect() }
    }

    fn column(&self, field: &BoundField) -> Option<ColumnRef<'_>> {
        let column = match field.shape.is_var() {
            true => ColumnRef::var(&self.data, &self.offsets),
            false => ColumnRef::fixed(&self.data),
        };
        Some(if field.shape.is_nullable { column.with_validity(&self.validity) } else { column })
    }
}
