//! Every datatype to Arrow and back, and the Arrow types that a field takes besides its own.

use crate::{column_a, line};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_schema::DataType;
use smalti::Array;
use smalti::arrow::{ArrowForm, DATATYPE_KEY, arrow_array, arrow_field};
use smalti::{AlignedBuf, CellShape, CellValNum, Column};
use smalti::{Dimension, prelude::*};
use std::num::NonZeroU32;
use std::sync::Arc;

const CELLS: usize = 9;

fn buffer(bytes: &[u8]) -> AlignedBuf {
    let mut buffer = AlignedBuf::new();
    buffer.extend_from_slice(bytes).unwrap();
    buffer
}

/// Cells whose bytes are all different, and valid for the datatype.
fn sample(shape: CellShape) -> Column {
    let value_count = |cell: usize| shape.cell_val_num.fixed().unwrap_or(cell % 4);
    let mut data = Vec::new();
    let mut offsets = vec![0_u64];
    for cell in 0..CELLS {
        for byte in 0..value_count(cell) * shape.datatype.byte_len() {
            let byte = (cell * 31 + byte * 7) as u8;
            data.push(match shape.datatype {
                Datatype::Bool => byte & 1,
                datatype if datatype.is_bytes() => b'a' + byte % 26,
                _ => byte,
            });
        }
        offsets.push(data.len() as u64);
    }
    Column {
        data: buffer(&data),
        offsets: shape.cell_val_num.is_var().then(|| buffer(bytemuck::cast_slice(&offsets))),
        validity: shape.is_nullable.then(|| buffer(&[1, 0, 1, 1, 0, 1, 1, 1, 0])),
    }
}

fn assert_same(a: &Column, b: &Column, context: &str) {
    let parts = |column: &Column| {
        let optional = |part: &Option<AlignedBuf>| part.as_ref().map(|part| part.as_slice().to_vec());
        (column.data.as_slice().to_vec(), optional(&column.offsets), optional(&column.validity))
    };
    assert_eq!(parts(a), parts(b), "{context}");
}

#[test]
fn cells_of_every_datatype_and_shape_pass_through_arrow_unchanged() {
    let numbers = [CellValNum::ONE, CellValNum::Fixed(NonZeroU32::new(3).unwrap()), CellValNum::Var];
    for &datatype in Datatype::ALL {
        for cell_val_num in numbers {
            for is_nullable in [false, true] {
                let shape = CellShape { datatype, cell_val_num, is_nullable };
                let context = format!("{shape:?}");
                let mut attribute = Attribute::of_datatype("a", datatype);
                attribute = match cell_val_num.fixed() {
                    Some(count) => attribute.values_per_cell(count as u32),
                    None => attribute.var_sized(),
                };
                if is_nullable {
                    attribute = attribute.nullable();
                }
                let schema =
                    Schema::dense().dimension(Dimension::new("x", 0..=CELLS as i32 - 1)).attribute(attribute);
                let Ok(schema) = schema.build() else {
                    assert_eq!(datatype, Datatype::Any, "{context}");
                    continue;
                };
                let array = Array::create_with(
                    &crate::uri(&format!("all-types/{}", context.replace([' ', '{', '}', ':'], ""))),
                    &schema,
                    &crate::options(),
                );
                let array = array.unwrap();
                let arrow = arrow_array(sample(shape), shape, CELLS, ArrowForm::default()).unwrap();
                let field = arrow_field("a", shape, ArrowForm::default());
                assert_eq!(arrow.data_type(), field.data_type(), "{context}");
                assert_eq!(field.metadata()[DATATYPE_KEY], datatype.name());
                array
                    .write()
                    .column("a", &arrow)
                    .commit()
                    .unwrap_or_else(|error| panic!("{context}: {error}"));
                assert_same(&column_a(&array), &sample(shape), &context);
                // A slice of an array is taken for what it shows.
                let rest = arrow.slice(2, CELLS - 2);
                array.write().range("x", 2..).column("a", &rest).commit().unwrap();
                assert_same(&column_a(&array), &sample(shape), &format!("{context}, sliced"));
                let read = array.read().select(["a"]).collect().unwrap();
                assert_eq!(read.column(0), &arrow, "{context}");
            }
        }
    }
}

#[test]
fn layouts_that_arrow_shares_are_not_copied() {
    let fixed =
        CellShape { datatype: Datatype::DateTimeNs, cell_val_num: CellValNum::ONE, is_nullable: true };
    let column = sample(fixed);
    let address = column.data.as_slice().as_ptr();
    let array = arrow_array(column, fixed, CELLS, ArrowForm::default()).unwrap();
    assert_eq!(array.as_primitive::<TimestampNanosecondType>().values().inner().as_ptr(), address);

    let text =
        CellShape { datatype: Datatype::StringUtf8, cell_val_num: CellValNum::Var, is_nullable: false };
    let column = sample(text);
    let address = (column.data.as_slice().as_ptr(), column.offsets.as_ref().unwrap().as_slice().as_ptr());
    let array = arrow_array(column, text, CELLS, ArrowForm::default()).unwrap();
    let array = array.as_string::<i64>();
    assert_eq!((array.values().as_ptr(), array.offsets().inner().inner().as_ptr()), address);
}

#[test]
fn text_that_is_not_utf8_names_its_cell_and_can_be_read_as_binary() {
    let shape =
        CellShape { datatype: Datatype::StringUtf8, cell_val_num: CellValNum::Var, is_nullable: false };
    let column = || Column {
        data: buffer(b"ab\xff"),
        offsets: Some(buffer(bytemuck::cast_slice(&[0_u64, 1, 3]))),
        validity: None,
    };
    let error = arrow_array(column(), shape, 2, ArrowForm::default()).unwrap_err();
    assert!(error.to_string().contains("cell 1"), "{error}");
    let form = ArrowForm::default().text_as_binary(true);
    let array = arrow_array(column(), shape, 2, form).unwrap();
    assert_eq!(array.as_binary::<i64>().value(1), b"b\xff");
}

#[test]
fn days_become_dates_when_asked() {
    let array = line("days", 3, Attribute::of_datatype("a", Datatype::DateTimeDay));
    array.write().range("x", 0..=1).column("a", &[19_782_i64, -1]).commit().unwrap();
    let form = ArrowForm::default().days_as_dates(true);
    let batch = array.read().select(["a"]).arrow_form(form).collect().unwrap();
    let dates = batch.column(0).as_primitive::<Date32Type>();
    assert_eq!((dates.value(0), dates.value(1)), (19_782, -1));
    assert!(dates.is_null(2), "the fill value is no date");
    array.write().range("x", 0..=0).column("a", &[i64::MAX]).commit().unwrap();
    let error = array.read().select(["a"]).arrow_form(form).collect().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

/// Writes an Arrow array of three cells, and gives the bytes that came back.
fn written(name: &str, attribute: Attribute, cells: ArrayRef) -> smalti::Result<Vec<u8>> {
    let array = line(&format!("accepts-{name}"), 3, attribute);
    array.write().column("a", &cells).commit()?;
    Ok(column_a(&array).data.as_slice().to_vec())
}

#[test]
fn other_arrow_types_are_taken_where_nothing_is_lost() {
    let of = |datatype| Attribute::of_datatype("a", datatype);
    let text = vec!["x", "", "yz"];
    let dictionary: DictionaryArray<Int8Type> = ["yz", "x", "yz"].into_iter().collect();
    let runs: RunArray<Int32Type> = ["x", "x", "yz"].into_iter().collect();
    let cases: Vec<(&str, Attribute, ArrayRef, Vec<u8>)> = vec![
        ("utf8", Attribute::utf8("a"), Arc::new(StringArray::from(text.clone())), b"xyz".to_vec()),
        ("view", Attribute::ascii("a"), Arc::new(StringViewArray::from(text.clone())), b"xyz".to_vec()),
        (
            "binary",
            Attribute::binary("a"),
            Arc::new(BinaryArray::from(vec![&b"x"[..], b"", b"yz"])),
            b"xyz".to_vec(),
        ),
        (
            "valid",
            Attribute::utf8("a"),
            Arc::new(BinaryViewArray::from(vec![&b"x"[..], b"", b"yz"])),
            b"xyz".to_vec(),
        ),
        ("dictionary", Attribute::utf8("a"), Arc::new(dictionary), b"yzxyz".to_vec()),
        ("runs", Attribute::utf8("a"), Arc::new(runs), b"xxyz".to_vec()),
        (
            "even",
            of(Datatype::Char).values_per_cell(2),
            Arc::new(StringArray::from(vec!["ab", "cd", "ef"])),
            b"abcdef".to_vec(),
        ),
        ("narrow", of(Datatype::UInt8), Arc::new(Int64Array::from(vec![0, 7, 255])), vec![0, 7, 255]),
        ("wide", of(Datatype::Int16), Arc::new(UInt8Array::from(vec![0, 7, 255])), vec![0, 0, 7, 0, 255, 0]),
        ("null", Attribute::of::<u8>("a").nullable(), Arc::new(NullArray::new(3)), vec![0; 3]),
        (
            "misfit",
            Attribute::of::<u8>("a").nullable(),
            Arc::new(Int32Array::from(vec![None, Some(1), Some(2)])),
            vec![0, 1, 2],
        ),
        (
            "double",
            of(Datatype::Float64),
            Arc::new(Float32Array::from(vec![0.5, 1.5, -2.0])),
            [0.5_f64, 1.5, -2.0].iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        (
            "date",
            of(Datatype::DateTimeDay),
            Arc::new(Date32Array::from(vec![1, 2, -3])),
            [1_i64, 2, -3].iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        (
            "time",
            of(Datatype::TimeSec),
            Arc::new(Time32SecondArray::from(vec![1, 2, 3])),
            [1_i64, 2, 3].iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        (
            "stored",
            of(Datatype::DateTimeYear),
            Arc::new(Int64Array::from(vec![1, 2, -3])),
            [1_i64, 2, -3].iter().flat_map(|v| v.to_le_bytes()).collect(),
        ),
        (
            "lists",
            Attribute::var::<u8>("a"),
            Arc::new(ListArray::from_iter_primitive::<UInt8Type, _, _>([
                Some(vec![Some(1)]),
                Some(vec![]),
                Some(vec![Some(2), Some(3)]),
            ])),
            vec![1, 2, 3],
        ),
        (
            "pairs",
            Attribute::of::<u8>("a").values_per_cell(2),
            Arc::new(ListArray::from_iter_primitive::<UInt8Type, _, _>(
                (0..3).map(|n| Some(vec![Some(n), Some(9)])),
            )),
            vec![0, 9, 1, 9, 2, 9],
        ),
    ];
    for (name, attribute, cells, expected) in cases {
        assert_eq!(written(name, attribute, cells).unwrap(), expected, "{name}");
    }
}

#[test]
fn arrow_cells_that_do_not_fit_are_refused_with_the_reason() {
    let of = |datatype| Attribute::of_datatype("a", datatype);
    let nested =
        ListArray::from_iter_primitive::<UInt8Type, _, _>([Some(vec![None]), Some(vec![]), Some(vec![])]);
    let cases: Vec<(&str, Attribute, ArrayRef, &str)> = vec![
        (
            "null",
            of(Datatype::Int32),
            Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])),
            "cell 1 is null",
        ),
        ("range", of(Datatype::UInt8), Arc::new(Int32Array::from(vec![1, 256, 3])), "256 in cell 1"),
        ("float", of(Datatype::Float32), Arc::new(Float64Array::from(vec![1.0; 3])), "Float64"),
        (
            "unit",
            of(Datatype::DateTimeMs),
            Arc::new(TimestampNanosecondArray::from(vec![1; 3])),
            "Timestamp(ms)",
        ),
        (
            "text",
            Attribute::utf8("a"),
            Arc::new(BinaryArray::from(vec![&b"x"[..], b"\xff", b""])),
            "cell 1, \"\u{fffd}\", is not UTF-8",
        ),
        (
            "ascii",
            Attribute::ascii("a"),
            Arc::new(StringArray::from(vec!["x", "y", "é"])),
            "cell 2, \"é\", is not ASCII",
        ),
        (
            "uneven",
            of(Datatype::Char).values_per_cell(2),
            Arc::new(StringArray::from(vec!["ab", "c", "ef"])),
            "cell 1 has 1 bytes",
        ),
        ("nested", Attribute::var::<u8>("a"), Arc::new(nested), "null"),
        ("count", of(Datatype::Int32), Arc::new(Int32Array::from(vec![1, 2])), "2 cells"),
    ];
    for (name, attribute, cells, words) in cases {
        let error = written(&format!("refused-{name}"), attribute, cells).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name}");
        assert!(error.to_string().contains(words), "{name}: {error}");
        assert!(error.to_string().contains("\"a\""), "{name}: {error}");
    }
}

#[test]
fn an_empty_read_is_an_empty_batch_of_the_right_types() {
    let schema = Schema::sparse()
        .dimension(Dimension::string("d"))
        .attribute(Attribute::var::<f64>("a").nullable())
        .build()
        .unwrap();
    let array = Array::create_with(&crate::uri("empty-read"), &schema, &crate::options()).unwrap();
    let batch = array.read().collect().unwrap();
    assert_eq!(batch.num_rows(), 0);
    assert_eq!(batch.schema(), array.arrow_schema().unwrap());
    assert!(matches!(batch.schema().field(1).data_type(), DataType::LargeList(_)));
}
