//! What a query holds between calls.

use super::buffers::Buffers;
use super::operations::Operations;
use super::resume::Resume;
use super::{Node, SubarrayHandle};
use crate::array::{ArrayHandle, DELETE, MODIFY_EXCLUSIVE, READ, UPDATE, WRITE};
use crate::boundary::handle::{Shared, kinds, seen};
use crate::config::Config;
use crate::context::Context;
use crate::failure::{Fallible, fail};
use crate::schema::SchemaHandle;
use crate::statistics::{Seen, Statistics, Work};
use smalti::{Array, ArrayType, Condition, GlobalWriter, Layout, Progress, Value};
use std::sync::{Arc, Mutex};

/// What failures of queries are told by.
pub(super) const ORIGIN: &str = "Query";

/// What libtiledb tells others of them by.
pub(super) const STATUS: &str = "[TileDB::Query] Error";

/// What counts the fields of a query: all, those of a fixed size, others.
struct FieldCounters {
    attributes: [&'static str; 3],
    dimensions: [&'static str; 3],
}

const READ_FIELDS: FieldCounters = FieldCounters {
    attributes: [
        "Context.Query.Reader.attr_num",
        "Context.Query.Reader.attr_fixed_num",
        "Context.Query.Reader.attr_var_num",
    ],
    dimensions: [
        "Context.Query.Reader.dim_num",
        "Context.Query.Reader.dim_fixed_num",
        "Context.Query.Reader.dim_var_num",
    ],
};

const WRITTEN_FIELDS: FieldCounters = FieldCounters {
    attributes: [
        "Context.Query.Writer.attr_num",
        "Context.Query.Writer.attr_fixed_num",
        "Context.Query.Writer.attr_var_num",
    ],
    dimensions: [
        "Context.Query.Writer.dim_num",
        "Context.Query.Writer.dim_fixed_num",
        "Context.Query.Writer.dim_var_num",
    ],
};

/// How far a query is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Status {
    Failed = 0,
    Completed = 1,
    Incomplete = 3,
    Uninitialized = 4,
}

/// A fragment that a query wrote.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) uri: String,
    pub(super) timestamp: u64,
}

/// A query.
#[derive(Debug)]
pub(crate) struct QueryHandle {
    pub(super) array: Array,
    pub(super) handle: Shared<ArrayHandle>,
    pub(super) uri: String,
    pub(super) schema: SchemaHandle,
    pub(super) mode: i32,
    pub(super) config: Config,
    pub(super) layout: Layout,
    pub(super) subarray: SubarrayHandle,
    /// Fields in the order in which they were named, with their buffers.
    pub(super) fields: Vec<(String, Buffers)>,
    pub(super) condition: Option<Node>,
    pub(super) status: Status,
    /// Why it is incomplete: 1 for buffers that are too small.
    pub(super) reason: i32,
    pub(super) reading: Mutex<Option<Resume>>,
    pub(super) writer: Mutex<Option<GlobalWriter>>,
    pub(super) written: Vec<Written>,
    pub(super) aggregates: Arc<Operations>,
    /// The values of an update, by attribute; null where there are no bytes.
    pub(super) updates: Vec<(String, Option<Vec<u8>>)>,
    /// The time of writes, where one was set.
    pub(super) at: Option<u64>,
    pub(super) progress: Arc<Progress>,
    /// A setting of the context alone, as libtiledb has it.
    pub(super) skips_checksums: bool,
    pub(super) statistics: Statistics,
    pub(super) context_statistics: Arc<Statistics>,
    seen: Seen,
}

kinds! { QueryHandle => "query" }

impl QueryHandle {
    /// A query on an open array.
    pub(super) fn new(
        ctx: &Context,
        array: &ArrayHandle,
        handle: Shared<ArrayHandle>,
        mode: i32,
    ) -> Fallible<QueryHandle> {
        let open = match &array.open {
            Some(open) => open,
            None => return fail("Error", "Cannot create query; Input array is not open"),
        };
        let is_same = open.mode == mode || (open.mode == MODIFY_EXCLUSIVE && mode == WRITE);
        if !is_same {
            let (has, wants) =
                (crate::names::query_type_word(open.mode), crate::names::query_type_word(mode));
            return fail(
                "Error",
                format!(
                    "Cannot create query; Array query type does not match declared query type: ({has} != {wants})"
                ),
            );
        }
        let schema = seen(&open.schema).clone();
        let is_dense = schema.schema.array_type == ArrayType::Dense;
        Ok(QueryHandle {
            array: open.array.clone(),
            handle,
            uri: array.uri.clone(),
            mode,
            config: array.config.clone(),
            layout: if is_dense { Layout::RowMajor } else { Layout::Unordered },
            subarray: SubarrayHandle::new(array)?,
            fields: Vec::new(),
            condition: None,
            status: Status::Uninitialized,
            reason: 0,
            reading: Mutex::new(None),
            writer: Mutex::new(None),
            written: Vec::new(),
            aggregates: Arc::default(),
            updates: Vec::new(),
            at: array.write_time(),
            progress: ctx.progress(),
            skips_checksums: ctx.config.flag("sm.skip_checksum_validation").unwrap_or(false),
            statistics: Statistics::default(),
            context_statistics: Arc::clone(&ctx.statistics),
            seen: Arc::clone(&open.seen),
            schema,
        })
    }

    /// Whether the array is dense.
    pub(super) fn is_dense(&self) -> bool {
        self.schema.schema.array_type == ArrayType::Dense
    }

    /// Comes to another state; operations are applied before the first submit alone.
    pub(super) fn set_status(&mut self, status: Status) {
        self.aggregates.set_closed(status != Status::Uninitialized);
        self.status = status;
    }

    /// Does what it is asked, or goes on with it.
    pub(super) fn submit(&mut self) -> Fallible<()> {
        let before = self.progress.statistics();
        let mut work = Work::begin();
        let done = match self.mode {
            READ => self.read(),
            WRITE | MODIFY_EXCLUSIVE => self.submit_write(),
            DELETE => self.delete(),
            UPDATE => self.update(),
            _ => fail(ORIGIN, "Cannot submit; Unsupported query type."),
        };
        if self.mode == READ {
            work.count_read(&before, &self.progress.statistics(), !self.is_dense());
            self.count_fields(&mut work, &READ_FIELDS);
            self.tell(work, "Context.Query.Reader.dowork");
        } else {
            self.count_fields(&mut work, &WRITTEN_FIELDS);
            self.tell(work, "Context.Query.Writer.dowork");
        }
        match done {
            Ok(status) => {
                self.set_status(status);
                Ok(())
            }
            Err(failure) => {
                self.set_status(Status::Failed);
                Err(failure)
            }
        }
    }

    /// Counts the fields that have buffers.
    fn count_fields(&self, work: &mut Work, names: &FieldCounters) {
        if !work.counts() {
            return;
        }
        for (name, _) in &self.fields {
            let Some(shape) = self.shape(name) else { continue };
            let is_attribute = self.schema.schema.attribute(name).is_some();
            let [all, fixed, var] = if is_attribute { names.attributes } else { names.dimensions };
            if is_attribute || self.schema.schema.dimension(name).is_some() {
                work.count(all, 1);
                work.count(if shape.is_var() { var } else { fixed }, 1);
            }
        }
    }

    /// Ends work of the query, in its statistics and those of the context.
    pub(super) fn tell(&self, mut work: Work, timer: &'static str) {
        work.count_traffic(self.array.traffic(), &self.seen);
        work.end(timer, &[&self.statistics, &self.context_statistics]);
    }

    fn delete(&mut self) -> Fallible<Status> {
        if self.is_dense() {
            return fail(ORIGIN, "Cannot create query; Delete queries are not supported for dense arrays");
        }
        let condition = self.condition_of_change()?;
        let mut builder = self.array.delete(condition);
        if let Some(at) = self.at {
            builder = builder.at(at);
        }
        builder.commit().map_err(crate::failure::Failure::of("DeletesAndUpdates"))?;
        Ok(Status::Completed)
    }

    /// Which cells a delete or an update is for.
    fn condition_of_change(&mut self) -> Fallible<Condition> {
        match self.condition.clone() {
            Some(node) => node.bound(&mut self.schema),
            None => fail("Deletes", "Cannot initialize deletes; One condition is needed"),
        }
    }

    fn update(&mut self) -> Fallible<Status> {
        let condition = self.condition_of_change()?;
        let mut builder = self.array.update(condition);
        for (name, value) in &self.updates {
            let attribute = match self.schema.schema.attribute(name) {
                Some((_, attribute)) => attribute,
                None if self.schema.schema.dimension(name).is_some() => {
                    return fail("UpdateValue", "Can only update attributes");
                }
                None => return fail("UpdateValue", "Field name doesn't exist"),
            };
            builder = match value {
                Some(bytes) => builder.set(name, Value::from_le_bytes(attribute.datatype, bytes.clone())?),
                None if attribute.nullable => builder.set_null(name),
                None => {
                    return fail("UpdateValue", "Null value can only be used with nullable attributes");
                }
            };
        }
        if let Some(at) = self.at {
            builder = builder.at(at);
        }
        builder.commit().map_err(crate::failure::Failure::of("DeletesAndUpdates"))?;
        Ok(Status::Completed)
    }

    /// What is known of a field: its type, values a cell, and whether cells may be null.
    pub(super) fn shape(&self, name: &str) -> Option<smalti::CellShape> {
        let schema = &self.schema.schema;
        if let Some((_, dimension)) = schema.dimension(name) {
            return Some(smalti::CellShape {
                datatype: dimension.datatype,
                cell_val_num: dimension.cell_val_num,
                is_nullable: false,
            });
        }
        if let Some((_, attribute)) = schema.attribute(name) {
            return Some(smalti::CellShape {
                datatype: attribute.datatype,
                cell_val_num: attribute.cell_val_num,
                is_nullable: attribute.nullable,
            });
        }
        if let Some(label) = schema.dimension_labels.iter().find(|label| label.name == name) {
            return Some(smalti::CellShape {
                datatype: label.datatype,
                cell_val_num: label.cell_val_num,
                is_nullable: false,
            });
        }
        let is_timestamp = name == smalti::TIMESTAMPS_FIELD;
        is_timestamp.then_some(smalti::CellShape {
            datatype: smalti::Datatype::UInt64,
            cell_val_num: smalti::CellValNum::ONE,
            is_nullable: false,
        })
    }
}
