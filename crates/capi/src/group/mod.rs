//! Handles of groups; what changes is kept until the group is closed.

mod entries;
mod members;
mod metadata;

use crate::array::{MODIFY_EXCLUSIVE, READ, WRITE};
use crate::boundary::handle::kinds;
use crate::config::Config;
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::metadata::Pending;
use smalti::{ErrorKind, Group, Member, Metadata, NewMember};
use std::sync::OnceLock;

pub(crate) use members::kind_number;

/// What failures of groups are told by.
const ORIGIN: &str = "Group";

/// How messages on members begin.
const MEMBER: &str = "Cannot get member";

/// A group, open or not.
#[derive(Debug)]
pub(crate) struct GroupHandle {
    uri: String,
    config: Config,
    open: Option<Opened>,
}

/// What an open group has.
#[derive(Debug)]
struct Opened {
    mode: i32,
    group: Group,
    members: Vec<Member>,
    changes: Vec<Change>,
    pending: Pending,
    /// The metadata, once somebody asked for it.
    metadata: OnceLock<Metadata>,
}

/// A change of the members.
#[derive(Debug, Clone)]
enum Change {
    Add(NewMember),
    Remove(String),
}

kinds! { GroupHandle => "group" }

impl GroupHandle {
    fn new(uri: &str, config: Config) -> GroupHandle {
        GroupHandle { uri: uri.to_owned(), config, open: None }
    }

    fn open(&mut self, ctx: &Context, mode: i32) -> Fallible<()> {
        if self.open.is_some() {
            return fail(ORIGIN, "Cannot open group; Group already open");
        }
        if !matches!(mode, READ | WRITE | MODIFY_EXCLUSIVE) {
            return fail(ORIGIN, "Cannot open group; Unsupported query type");
        }
        let mut options = ctx.options(Some(&self.config))?;
        if mode == READ {
            let (start, end) = self.times()?;
            if end != u64::MAX {
                options = options.at(end);
            }
            if start > 0 {
                options = options.since(start);
            }
        }
        let group =
            Group::open_with(&crate::uris::inner(&self.uri), &options).map_err(|error| {
                match error.kind() {
                    ErrorKind::NotFound => Failure::told(ORIGIN, "Cannot open group; Group does not exist."),
                    _ => Failure::told(ORIGIN, format!("Cannot open group; {error}")),
                }
            })?;
        let members = group.members().map_err(Failure::of(ORIGIN))?;
        self.open = Some(Opened {
            mode,
            group,
            members,
            changes: Vec::new(),
            pending: Pending::default(),
            metadata: OnceLock::new(),
        });
        Ok(())
    }

    fn times(&self) -> Fallible<(u64, u64)> {
        Ok((self.config.parse("sm.group.timestamp_start")?, self.config.parse("sm.group.timestamp_end")?))
    }

    fn close(&mut self) -> Fallible<()> {
        let at = Some(self.times()?.1).filter(|end| *end != 0 && *end != u64::MAX);
        let Some(open) = self.open.take() else { return Ok(()) };
        if open.mode == READ {
            return Ok(());
        }
        if !open.changes.is_empty() {
            let mut builder = open.group.write_members();
            if let Some(at) = at {
                builder = builder.at(at);
            }
            for change in open.changes {
                builder = match change {
                    Change::Add(member) => builder.add(member),
                    Change::Remove(name) => builder.remove(name),
                };
            }
            builder.commit().map_err(Failure::of(ORIGIN))?;
        }
        open.pending.write(open.group.write_metadata(), at)
    }

    fn read(&self, what: &str) -> Fallible<&Opened> {
        match &self.open {
            None => fail(ORIGIN, format!("{what}; Group is not open")),
            Some(open) if open.mode != READ => {
                // libtiledb has the same words for all that it tells of members.
                let what = if what.starts_with(MEMBER) { MEMBER } else { what };
                fail(ORIGIN, format!("{what}; Group was not opened in read mode"))
            }
            Some(open) => Ok(open),
        }
    }

    fn metadata(&self, what: &str) -> Fallible<&Metadata> {
        let open = self.read(what)?;
        match open.metadata.get() {
            Some(found) => Ok(found),
            None => {
                let found = open.group.metadata()?;
                Ok(open.metadata.get_or_init(|| found))
            }
        }
    }

    fn written(&mut self, what: &str) -> Fallible<&mut Opened> {
        match &mut self.open {
            None => fail(ORIGIN, format!("{what}; Group is not open")),
            Some(open) if open.mode == READ => {
                fail(ORIGIN, format!("{what}; Group was not opened in write or modify_exclusive mode"))
            }
            Some(open) => Ok(open),
        }
    }
}
