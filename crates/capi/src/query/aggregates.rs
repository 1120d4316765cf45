//! Aggregates: channels, operations on them, and results in the caller's buffers.

use super::QueryHandle;
use super::buffers::Buffers;
use super::operations::{Applied, Operations};
use super::state::Status;
use crate::boundary::entry::{data_symbols, entries};
use crate::boundary::handle::kinds;
use crate::boundary::{In, New, Out, Text};
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::values::count;
use smalti::{Aggregate, AggregateRequest, CellShape, CellValNum, Datatype, Function, Scalar, Value};
use std::sync::Arc;

/// The channel of a query; there is one.
#[derive(Debug)]
pub(crate) struct Channel(pub(super) Arc<Operations>);

/// An operation on a field, before it has a name.
#[derive(Debug, Clone)]
pub(crate) struct Operation(Aggregate);

kinds! { Channel => "tiledb_query_channel_t", Operation => "tiledb_channel_operation_t" }

/// What the constants point to; only the addresses mean something.
static PLACES: [u8; 6] = [0; 6];

data_symbols! {
    tiledb_channel_operator_sum = &PLACES[0];
    tiledb_channel_operator_min = &PLACES[1];
    tiledb_channel_operator_max = &PLACES[2];
    tiledb_channel_operator_mean = &PLACES[3];
    tiledb_channel_operator_null_count = &PLACES[4];
    tiledb_aggregate_count = &PLACES[5];
}

/// An operator that C passes: one of the addresses.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
struct Operator(*const u8);

impl Operator {
    fn function(self) -> Fallible<Function> {
        let found = PLACES.iter().position(|place| std::ptr::eq(place, self.0));
        match found {
            Some(0) => Ok(Function::Sum),
            Some(1) => Ok(Function::Min),
            Some(2) => Ok(Function::Max),
            Some(3) => Ok(Function::Mean),
            Some(4) => Ok(Function::NullCount),
            _ => fail("C API", "Invalid TileDB tiledb_channel_operator_handle_t object"),
        }
    }
}

/// The type of a result, and whether it may be null, for an aggregate of a field of a shape.
pub(super) fn result_shape(aggregate: &Aggregate, field: Option<CellShape>) -> CellShape {
    let number =
        |datatype: Datatype| CellShape { datatype, cell_val_num: CellValNum::ONE, is_nullable: false };
    let Some(field) = field else { return number(Datatype::UInt64) };
    let is_unsigned =
        matches!(field.datatype, Datatype::UInt8 | Datatype::UInt16 | Datatype::UInt32 | Datatype::UInt64);
    let shape = match aggregate.function {
        Function::Sum if field.datatype.is_float() => number(Datatype::Float64),
        Function::Sum if !is_unsigned => number(Datatype::Int64),
        Function::Sum => number(Datatype::UInt64),
        Function::Mean => number(Datatype::Float64),
        Function::Min | Function::Max => field,
        _ => return number(Datatype::UInt64),
    };
    CellShape { is_nullable: field.is_nullable, ..shape }
}

impl QueryHandle {
    /// The field of a sum over one that can be null.
    fn nullable_sum(&self, applied: &Applied) -> Option<String> {
        let name = applied.aggregate.field.clone().filter(|_| applied.aggregate.function == Function::Sum)?;
        self.shape(&name)?.is_nullable.then_some(name)
    }

    /// Computes all aggregates and puts their results where the caller wants them.
    pub(super) fn aggregate(&mut self) -> Fallible<()> {
        let applied = self.aggregates.applied();
        let request = self.request(Vec::new())?;
        let mut wanted = AggregateRequest {
            aggregates: applied.iter().map(|applied| applied.aggregate.clone()).collect(),
            ranges: request.ranges,
            label_ranges: request.label_ranges,
            condition: request.condition,
            saturates: true,
            progress: Some(Arc::clone(&self.progress)),
            ..AggregateRequest::default()
        };
        // Sums of nothing but nulls are null: how many cells there are is counted, too.
        let nullable: Vec<String> = applied.iter().filter_map(|applied| self.nullable_sum(applied)).collect();
        wanted.aggregates.extend(nullable.iter().map(|name| Aggregate::null_count(name.clone())));
        wanted.aggregates.push(Aggregate::count());
        let mut values = self.array.aggregate_raw(&wanted).map_err(Failure::of("Aggregates"))?;
        let cells = values.pop().flatten();
        let nulls = values.split_off(applied.len());
        let is_empty =
            |name: &str| nullable.iter().zip(&nulls).any(|(other, nulls)| other == name && *nulls == cells);
        for (applied, value) in applied.iter().zip(values) {
            let value = value.filter(|_| !self.nullable_sum(applied).is_some_and(|name| is_empty(&name)));
            let field = applied.aggregate.field.as_deref().and_then(|name| self.shape(name));
            let shape = result_shape(&applied.aggregate, field);
            let found = self.fields.iter_mut().find(|(name, _)| *name == applied.output);
            let Some((_, buffers)) = found else {
                return fail(
                    "Query",
                    format!("Aggregate buffer must be set. Field name: {}", applied.output),
                );
            };
            put_result(&applied.output, buffers, shape, value.as_ref())?;
        }
        Ok(())
    }
}

fn put_result(name: &str, buffers: &mut Buffers, shape: CellShape, value: Option<&Value>) -> Fallible<()> {
    let bytes = match value {
        None => vec![0; if shape.is_var() { 0 } else { shape.cell_byte_len() }],
        Some(value) if shape.is_var() => value.as_bytes().to_vec(),
        Some(value) => match value.as_scalar().map(|scalar| scalar.cast(shape.datatype)) {
            Some(Ok(scalar)) => scalar.to_le_bytes(),
            _ => value.as_bytes().to_vec(),
        },
    };
    let bytes = match (value, shape.datatype) {
        (None, Datatype::Float32 | Datatype::Float64) => not_a_number(shape.datatype),
        _ => bytes,
    };
    let Some(data) = &mut buffers.data else {
        return fail("Query", format!("Aggregate buffer must be set. Field name: {name}"));
    };
    let room = data.byte_len();
    if count(bytes.len()) > room {
        return fail(
            "Query",
            format!("Aggregate fixed size buffer should be for one element only. Field name: {name}"),
        );
    }
    if let Some(place) = data.bytes_mut(room).get_mut(..bytes.len()) {
        place.copy_from_slice(&bytes);
    }
    data.set_byte_len(count(bytes.len()));
    if let Some(offsets) = &mut buffers.offsets {
        if let Some(place) = offsets.bytes_mut(offsets.byte_len()).get_mut(..8) {
            place.fill(0);
        }
        offsets.set_byte_len(8);
    }
    if let Some(validity) = &mut buffers.validity {
        if let Some(place) = validity.bytes_mut(validity.byte_len()).first_mut() {
            *place = u8::from(value.is_some());
        }
        validity.set_byte_len(1);
    }
    Ok(())
}

fn not_a_number(datatype: Datatype) -> Vec<u8> {
    match datatype {
        Datatype::Float32 => Scalar::F32(f32::NAN).to_le_bytes(),
        _ => Scalar::F64(f64::NAN).to_le_bytes(),
    }
}

macro_rules! getters {
    ($($name:ident: $constant:ident;)*) => {
        entries! {
            $(fn $name(ctx, op: Out<*const u8>) { op.put($constant.address()) })*
        }
    };
}

getters! {
    tiledb_channel_operator_sum_get: tiledb_channel_operator_sum;
    tiledb_channel_operator_min_get: tiledb_channel_operator_min;
    tiledb_channel_operator_max_get: tiledb_channel_operator_max;
    tiledb_channel_operator_mean_get: tiledb_channel_operator_mean;
    tiledb_channel_operator_null_count_get: tiledb_channel_operator_null_count;
    tiledb_aggregate_count_get: tiledb_aggregate_count;
}

entries! {
    fn tiledb_query_get_default_channel(ctx, query: In<QueryHandle>, channel: New<Channel>) {
        let query = query.read()?;
        if query.mode != crate::array::READ {
            return fail("C API", "Cannot get the default channel of a query that is no read");
        }
        channel.put(Channel(Arc::clone(&query.aggregates)))
    }

    fn tiledb_create_unary_aggregate(
        ctx,
        query: In<QueryHandle>,
        operator: Operator,
        input_field_name: Text,
        operation: New<Operation>,
    ) {
        let query = query.read()?;
        if query.status != Status::Uninitialized {
            return fail("C API", "argument `query` is at a too late state of its lifetime");
        }
        let function = operator.function()?;
        let field = input_field_name.get("input_field_name")?;
        operation.check()?;
        let Some(shape) = query.shape(field) else {
            return fail("C API", format!("There is no field {field}"));
        };
        check_input(function, shape)?;
        operation.put(Operation(Aggregate::new(function, field)))
    }

    fn tiledb_channel_apply_aggregate(
        ctx,
        channel: In<Channel>,
        output_field_name: Text,
        operation: In<Operation>,
    ) {
        let channel = channel.read()?;
        if channel.0.are_closed() {
            return fail("C API", "argument `query` is at a too late state of its lifetime");
        }
        let output = output_field_name.get("output_field_name")?.to_owned();
        let aggregate = match std::ptr::eq(operation.place(), tiledb_aggregate_count.address()) {
            true => Aggregate::count(),
            false => operation.read()?.0.clone(),
        };
        match channel.0.apply(Applied { output, aggregate }) {
            Ok(()) => Ok(()),
            Err(Applied { output, .. }) => {
                fail("C API", format!("An aggregate operation for output field: {output} already exists."))
            }
        }
    }

    fn tiledb_aggregate_free(ctx, operation: New<Operation>) {
        operation.free()
    }

    fn tiledb_query_channel_free(ctx, channel: New<Channel>) {
        channel.free()
    }
}

/// What libtiledb tells by of fields that an operation does not take.
const INPUT: &str = "InputFieldValidator";

/// Refuses a function of a field as libtiledb does: there operations are made for numbers, for dates and times, which are
/// numbers of 64 bits, and for texts in ASCII alone.
fn check_input(function: Function, shape: CellShape) -> Fallible<()> {
    let internal = |text: String| fail("TileDB internal", text);
    let datatype = shape.datatype;
    let is_number =
        datatype.is_integer() || datatype.is_float() || datatype.is_datetime() || datatype.is_time();
    match function {
        Function::NullCount if !shape.is_nullable => {
            fail(INPUT, "Aggregate must only be requested for nullable fields.")
        }
        Function::NullCount | Function::Count => Ok(()),
        _ if is_number && shape.is_var() => {
            fail(INPUT, "Aggregate is not supported for var sized non-string fields.")
        }
        _ if is_number && shape.cell_val_num != CellValNum::ONE => fail(
            INPUT,
            "Aggregate is not supported for non-string fields with cell_val_num greater than one.",
        ),
        Function::Sum if datatype == Datatype::StringAscii => {
            internal("SUM aggregates can only be requested on numeric types".to_owned())
        }
        Function::Mean if datatype == Datatype::StringAscii => {
            internal("MEAN aggregates can only be requested on numeric types".to_owned())
        }
        _ if is_number || datatype == Datatype::StringAscii => Ok(()),
        _ => internal(format!("Datatype::{} is not a supported Datatype", datatype.name())),
    }
}
