//! Columns to record batches and back.

use super::cut::written_out_byte_len;
use crate::cells::{ColumnBuilder, Field, Labels, cell_count_of};
use crate::failure::{Failure, Outcome};
use crate::formats::boundary::guarded;
use crate::formats::{Cells, Held, Room, Take};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use smalti::arrow::{ArrowForm, arrow_array, arrow_column, arrow_field};
use smalti::{AlignedBuf, Batch, Column, ErrorKind};
use std::sync::Arc;

/// The Arrow schema of fields; fields with labels have the type of these.
pub(crate) fn schema_of(fields: &[Field]) -> SchemaRef {
    let field = |field: &Field| arrow_field(&field.name, field.shown_shape(), ArrowForm::default());
    Arc::new(Schema::new(fields.iter().map(field).collect::<Vec<_>>()))
}

/// Cells as a record batch of the schema that [`schema_of`] gives; without a copy where Arrow lays them out alike.
pub(crate) fn record_batch(schema: &SchemaRef, fields: &[Field], batch: Batch) -> Outcome<RecordBatch> {
    let Batch { cell_count, columns, .. } = batch;
    let array = |(field, column): (&Field, Column)| -> Outcome<ArrayRef> {
        let column = match &field.labels {
            Some(labels) => labelled(field, labels, &column, cell_count)?,
            None => column,
        };
        let array = arrow_array(column, field.shown_shape(), cell_count, ArrowForm::default());
        array.map_err(|error| {
            Failure::Error(match error.kind() {
                ErrorKind::Corrupt => smalti::Error::unsupported(format!(
                    "field {:?}: text in Arrow and Parquet is UTF-8: {}; jsonl and csv hold any bytes",
                    field.name,
                    error.message().split(';').next().unwrap_or_default()
                )),
                _ => error.context(format_args!("field {:?}", field.name)),
            })
        })
    };
    let arrays = fields.iter().zip(columns).map(array).collect::<Outcome<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(cell_count));
    RecordBatch::try_new_with_options(schema.clone(), arrays, &options).map_err(super::arrow_failure)
}

/// The labels of codes.
fn labelled(field: &Field, labels: &Labels, codes: &Column, cell_count: usize) -> Outcome<Column> {
    let codes = codes.as_ref();
    let shape = field.shown_shape();
    let mut data = AlignedBuf::new();
    let mut offsets = vec![0_u64];
    for row in 0..cell_count {
        if codes.is_valid(row) {
            let label = labels.label(field.datatype, codes.cell(row, field.cell_byte_len()));
            let label = label.map_err(|code| {
                let (name, labels) = (&field.name, labels.name());
                Failure::invalid(format!(
                    "field {name:?}: the code {code} has no label in {labels:?}; read with --enums codes"
                ))
            })?;
            data.extend_from_slice(label)?;
        } else if !shape.is_var() {
            data.resize(data.len() + shape.cell_byte_len())?;
        }
        offsets.push(data.len() as u64);
    }
    let copy = |bytes: &[u8]| -> smalti::Result<AlignedBuf> {
        let mut copy = AlignedBuf::new();
        copy.extend_from_slice(bytes).map(|()| copy)
    };
    Ok(Column {
        data,
        offsets: shape.is_var().then(|| copy(bytemuck::cast_slice(&offsets))).transpose()?,
        validity: codes.validity.map(copy).transpose()?,
    })
}

/// The columns of a record batch that comes from a file.
///
/// # Errors
/// When a column is no field, is given twice, or holds what its field cannot.
pub(crate) fn columns_of(batch: &RecordBatch, fields: &[Field]) -> Outcome<Vec<(Field, Column)>> {
    let schema = batch.schema_ref();
    let mut taken: Vec<&Field> = Vec::new();
    for given in schema.fields() {
        let name = given.name();
        let Some(field) = fields.iter().find(|field| field.name == *name) else {
            let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            let known = known.join(", ");
            return Err(Failure::invalid(format!("the array has no field {name:?}; it has {known}")));
        };
        if taken.iter().any(|other| other.name == *name) {
            return Err(Failure::invalid(format!("the field {name:?} is given twice")));
        }
        taken.push(field);
    }
    let named = taken.iter().map(|field| (field.name.clone(), field.shown_shape()));
    let given: Vec<_> = batch.columns().iter().cloned().zip(named).collect();
    let columns = guarded("Arrow", move || {
        let column = |(array, (name, shape)): (ArrayRef, (String, _))| {
            arrow_column(&array, shape).map_err(|error| error.context(format_args!("field {name:?}")))
        };
        Ok(given.into_iter().map(column).collect::<smalti::Result<Vec<Column>>>()?)
    })?;
    let with_codes = |(field, column): (&Field, Column)| -> Outcome<(Field, Column)> {
        let name = &field.name;
        let column = if field.labels.is_some() {
            codes(field, &column).map_err(|problem| Failure::invalid(format!("field {name:?}: {problem}")))?
        } else {
            column
        };
        Ok((field.clone(), column))
    };
    taken.into_iter().zip(columns).map(with_codes).collect()
}

/// Checks the cells of columns whose first row is one of many.
///
/// # Errors
/// Name row, field and value: see [`Field::check_cell`].
pub(crate) fn check_cells(columns: &[(Field, Column)], first_row: u64) -> Outcome {
    for (field, column) in columns {
        if field.check_cell(column.data.as_slice()).is_ok() {
            continue;
        }
        let cells = column.as_ref();
        for row in (0..cell_count_of(field, column)).filter(|&row| cells.is_valid(row)) {
            field.check_cell(cells.cell(row, field.cell_byte_len())).map_err(|problem| {
                let row = first_row + row as u64 + 1;
                Failure::invalid(format!("row {row}: field {:?}: {problem}", field.name))
            })?;
        }
    }
    Ok(())
}

/// The codes of labels.
fn codes(field: &Field, labels: &Column) -> Result<Column, String> {
    let mut builder = ColumnBuilder::new(field);
    let shape = field.shown_shape();
    let (cells, byte_len) = (labels.as_ref(), if shape.is_var() { 1 } else { shape.cell_byte_len() });
    let cell_count = cells.offsets.map_or(cells.data.len() / byte_len, |offsets| offsets.len() - 1);
    for row in 0..cell_count {
        if cells.is_valid(row) {
            builder.push_bytes(cells.cell(row, byte_len))?;
        } else {
            builder.push_null()?;
        }
    }
    builder.finish().map_err(|error| error.message().to_string())
}

/// The columns of all batches, one batch after the other. Where the room is full, `take` is given those before; the rest is returned.
///
/// # Errors
/// Those of the batches and of [`columns_of`]; when there are no rows; `OutOfMemory` when there is no room for them.
pub(crate) fn gather(
    batches: impl Iterator<Item = Outcome<RecordBatch>>,
    fields: &[Field],
    room: &Room,
    take: &mut Take<'_>,
) -> Outcome<Cells> {
    let mut all: Cells = Vec::new();
    let (mut row_count, mut taken_count, mut byte_len) = (0, 0, 0_u64);
    for batch in batches {
        let batch = batch?;
        // Before anything is written out: as a column, what it is made from, and what it is put behind.
        let more = written_out_byte_len(&batch);
        let beside = more.saturating_mul(2);
        let cell_count = row_count - taken_count + batch.num_rows() as u64;
        if room.is_full(Held { byte_len: byte_len.saturating_add(more), beside, cell_count })
            && !all.is_empty()
        {
            take(std::mem::take(&mut all))?;
            (taken_count, byte_len) = (row_count, 0);
        }
        byte_len = byte_len.saturating_add(more);
        let cell_count = row_count - taken_count + batch.num_rows() as u64;
        room.check(Held { byte_len, beside, cell_count })?;
        let columns = columns_of(&batch, fields).map_err(|failure| behind(failure, row_count))?;
        check_cells(&columns, row_count)?;
        row_count += batch.num_rows() as u64;
        if all.is_empty() {
            all = columns;
            continue;
        }
        // Every batch of a file has the columns of its schema, in their order.
        for ((_, column), (_, more)) in all.iter_mut().zip(&columns) {
            append(column, more)?;
        }
    }
    if row_count == 0 {
        return Err(Failure::invalid("there are no rows to write"));
    }
    Ok(all)
}

/// A failure in a batch that comes behind others says so: it counts cells from its own start.
pub(crate) fn behind(failure: Failure, row_count: u64) -> Failure {
    match failure {
        Failure::Error(error) if row_count > 0 => {
            Failure::Error(error.context(format_args!("in the rows behind the first {row_count}")))
        }
        failure => failure,
    }
}

/// Puts the cells of a column behind those of another.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn append(column: &mut Column, more: &Column) -> smalti::Result<()> {
    let base = column.data.len() as u64;
    column.data.extend_from_slice(more.data.as_slice())?;
    if let (Some(offsets), Some(more)) = (&mut column.offsets, &more.offsets) {
        let ends: Vec<u64> = more.values::<u64>().iter().skip(1).map(|end| base + end).collect();
        offsets.extend_from_slice(bytemuck::cast_slice(&ends))?;
    }
    if let (Some(validity), Some(more)) = (&mut column.validity, &more.validity) {
        validity.extend_from_slice(more.as_slice())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::test_field as field;
    use crate::formats::room::untaken;
    use arrow_array::{Int64Array, StringArray};
    use smalti::format::Enumeration;
    use smalti::{CellValNum, Datatype};

    fn batch(ids: Vec<i64>, names: Vec<Option<&str>>) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable([
            ("id", Arc::new(Int64Array::from(ids)) as ArrayRef, false),
            ("name", Arc::new(StringArray::from(names)), true),
        ])
        .unwrap()
    }

    #[test]
    fn batches_follow_each_other() {
        let fields = [field("name", Datatype::StringUtf8, 0, true), field("id", Datatype::UInt8, 1, false)];
        let batches = [batch(vec![1, 2], vec![Some("ab"), None]), batch(vec![3], vec![Some("c")])];
        let columns = gather(batches.into_iter().map(Ok), &fields, &Room::default(), &mut untaken).unwrap();
        assert_eq!(columns[0].1.data.as_slice(), [1, 2, 3]);
        let names = columns[1].1.as_ref();
        assert_eq!((names.data, names.offsets.unwrap()), (&b"abc"[..], &[0, 2, 2, 3][..]));
        assert_eq!(names.validity.unwrap(), [1, 0, 1]);
    }

    #[test]
    fn codes_travel_as_their_labels() {
        let mut color = field("color", Datatype::Int8, 1, true);
        color.labels = Some(Arc::new(Labels::new(Enumeration {
            version: 0,
            name: "colors".into(),
            file: String::new(),
            datatype: Datatype::StringAscii,
            cell_val_num: CellValNum::Var,
            is_ordered: false,
            data: b"redblue".to_vec(),
            offsets: vec![0, 3],
        })));
        let fields = [color];
        let batch_of = |codes: &[u8], validity: &[u8]| {
            let mut column = Column { validity: Some(AlignedBuf::new()), ..Column::default() };
            column.data.extend_from_slice(codes).unwrap();
            column.validity.as_mut().unwrap().extend_from_slice(validity).unwrap();
            record_batch(
                &schema_of(&fields),
                &fields,
                Batch { cell_count: codes.len(), columns: vec![column] },
            )
        };
        let batch = batch_of(&[1, 0, 7], &[1, 1, 0]).unwrap();
        assert_eq!(batch.schema().field(0).data_type().to_string(), "LargeUtf8");
        let columns = columns_of(&batch, &fields).unwrap();
        let codes = columns[0].1.as_ref();
        assert_eq!((codes.data, codes.validity.unwrap()), (&[1, 0, 0][..], &[1, 1, 0][..]));
        let failure = batch_of(&[7], &[1]).unwrap_err();
        assert!(failure.to_string().contains("the code 7 has no label in \"colors\""), "{failure}");
    }

    #[test]
    fn wrong_columns_are_named() {
        let id = field("id", Datatype::UInt8, 1, false);
        let name = field("name", Datatype::StringUtf8, 0, false);
        for (fields, words) in [
            (vec![id.clone()], "no field \"name\"; it has id"),
            (vec![id.clone(), name.clone()], "field \"name\": cell 1 is null"),
            (vec![field("id", Datatype::Float32, 1, false), name], "field \"id\": Arrow cells of Int64"),
        ] {
            let failure = columns_of(&batch(vec![1, 2], vec![Some("a"), None]), &fields).unwrap_err();
            assert!(failure.to_string().contains(words), "{failure}");
        }
        let failure = gather(std::iter::empty(), &[id], &Room::default(), &mut untaken).unwrap_err();
        assert!(failure.to_string().contains("no rows"), "{failure}");
    }
}
