//! Handles of arrays.

mod domain;
mod entries;
mod metadata;
mod plan;
mod upkeep;

use crate::boundary::handle::{Shared, kinds};
use crate::config::Config;
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::library::now_ms;
use crate::schema::SchemaHandle;
use crate::statistics::{Seen, Work};
use crate::uris;
use smalti::{Array, ErrorKind, Metadata};
use std::sync::{Arc, OnceLock, RwLock};

use crate::metadata::Pending;

/// What an array is opened for.
pub(crate) const READ: i32 = 0;
/// As above.
pub(crate) const WRITE: i32 = 1;
/// As above.
pub(crate) const DELETE: i32 = 2;
/// As above.
pub(crate) const UPDATE: i32 = 3;
/// As above.
pub(crate) const MODIFY_EXCLUSIVE: i32 = 4;

/// What failures of arrays are told by.
pub(crate) const ORIGIN: &str = "Array";

/// What libtiledb tells those of opening by.
const STATUS: &str = "[TileDB::Array] Error";

/// An array, open or not.
#[derive(Debug)]
pub(crate) struct ArrayHandle {
    pub(crate) uri: String,
    pub(crate) config: Config,
    start: u64,
    /// The end of the time range, where one was set.
    end: Option<u64>,
    /// Whether that was after it was opened, so that the next opening takes it.
    has_new_end: bool,
    pub(crate) open: Option<Opened>,
}

/// What an open array has.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) mode: i32,
    pub(crate) array: Array,
    /// The end of its time range, as it is told.
    end: u64,
    pub(crate) schema: Shared<SchemaHandle>,
    /// What of its traffic is counted.
    pub(crate) seen: Seen,
    pending: Pending,
    /// The metadata, once somebody asked for it.
    metadata: OnceLock<Metadata>,
}

kinds! { ArrayHandle => "array" }

impl ArrayHandle {
    fn new(uri: &str, config: Config) -> ArrayHandle {
        ArrayHandle { uri: uri.to_owned(), config, start: 0, end: None, has_new_end: false, open: None }
    }

    /// What is open, or a failure that says what was wanted of it.
    pub(crate) fn opened(&self, wanted: &str) -> Fallible<&Opened> {
        self.open.as_ref().ok_or_else(|| Failure::told(ORIGIN, format!("{wanted} Array is not open")))
    }

    /// The time of writes, where one was set.
    pub(crate) fn write_time(&self) -> Option<u64> {
        self.end.filter(|end| *end != 0 && *end != u64::MAX)
    }

    fn open(&mut self, ctx: &Context, mode: i32) -> Fallible<()> {
        if self.open.is_some() {
            return fail(STATUS, "Cannot open array; Array already open.");
        }
        if mode == UPDATE && !self.config.flag("sm.allow_updates_experimental")? {
            return fail(
                STATUS,
                "Array: Cannot open array; Update query type is only experimental, do not use.",
            );
        }
        if !(READ..=MODIFY_EXCLUSIVE).contains(&mode) {
            return fail(STATUS, "Array: Cannot open array; Unsupported query type.");
        }
        self.open = Some(self.opened_for(ctx, mode)?);
        self.has_new_end = false;
        Ok(())
    }

    fn opened_for(&self, ctx: &Context, mode: i32) -> Fallible<Opened> {
        let mut options = ctx.options(Some(&self.config))?;
        let end = self.end.filter(|end| *end != u64::MAX);
        if mode == READ {
            if let Some(end) = end {
                options = options.at(end);
            }
            if self.start > 0 {
                options = options.since(self.start);
            }
        }
        let mut work = Work::begin();
        let array =
            Array::open_with(&uris::inner(&self.uri), &options).map_err(|error| match error.kind() {
                ErrorKind::NotFound => Failure::told(STATUS, "Cannot open array; Array does not exist."),
                _ => Failure::told(ORIGIN, format!("Cannot open array; {error}")),
            })?;
        let seen = Seen::default();
        work.count_traffic(array.traffic(), &seen);
        let timer = if mode == READ { "Context.array_open_READ" } else { "Context.array_open_WRITE" };
        work.end(timer, &[&ctx.statistics]);
        let schema = Arc::new(RwLock::new(SchemaHandle::of_array(&array)));
        let end = end.unwrap_or(if mode == READ { now_ms() } else { 0 });
        let (pending, metadata) = (Pending::default(), OnceLock::new());
        Ok(Opened { mode, array, end, schema, seen, pending, metadata })
    }

    fn close(&mut self) -> Fallible<()> {
        let Some(opened) = self.open.take() else { return Ok(()) };
        let writes = matches!(opened.mode, WRITE | MODIFY_EXCLUSIVE);
        if writes {
            opened.pending.write(opened.array.write_metadata(), self.write_time())?;
        }
        Ok(())
    }

    fn reopen(&mut self, ctx: &Context) -> Fallible<()> {
        let Some(opened) = &self.open else {
            return fail(STATUS, "Cannot reopen array; Array is not open");
        };
        if opened.mode != READ {
            return fail(STATUS, "Cannot reopen array; Array was not opened in read mode");
        }
        // A time that an earlier opening took is over: what is opened again shows what is there now.
        if !self.has_new_end {
            self.end = None;
        }
        self.open = Some(self.opened_for(ctx, READ)?);
        self.has_new_end = false;
        Ok(())
    }
}
