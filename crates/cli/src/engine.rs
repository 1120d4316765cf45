//! The engine as the commands use it: arrays opened with the options of the command line.

use crate::args::{Global, OpenTimes, Sync};
use crate::failure::{Failure, Outcome};
use crate::warning::warn;
use smalti::json::SchemaFile;
use smalti::{Array, ErrorKind, Group, Options, SyncLevel};

/// The options of the command line.
pub(crate) fn options(global: &Global, times: OpenTimes) -> Outcome<Options> {
    let mut options = Options::new().sync(match global.sync {
        Sync::Full => SyncLevel::Full,
        Sync::File => SyncLevel::File,
        Sync::None => SyncLevel::None,
    });
    if let Some(at) = times.at {
        options = options.at(at);
    }
    if let Some(since) = times.since {
        options = options.since(since);
    }
    if let Some(key) = global.encryption_key()? {
        options = options.key(key);
    }
    if let Some(byte_len) = global.metadata_limit {
        options = options.metadata_limit(byte_len);
    }
    if let Some(threads) = global.threads {
        options = options.threads(threads.into());
    }
    Ok(options)
}

/// Opens an array, and says on standard error what was passed over.
pub(crate) fn open(global: &Global, uri: &str, times: OpenTimes) -> Outcome<Array> {
    let array = Array::open_with(uri, &options(global, times)?).map_err(|error| error.at_uri(uri))?;
    for warning in array.warnings()? {
        warn(global, uri, warning);
    }
    Ok(array)
}

/// Opens a group.
pub(crate) fn open_group(global: &Global, uri: &str, times: OpenTimes) -> Outcome<Group> {
    Ok(Group::open_with(uri, &options(global, times)?).map_err(|error| error.at_uri(uri))?)
}

/// What a command that takes arrays and groups alike was given.
pub(crate) enum Opened {
    Array(Box<Array>),
    Group(Box<Group>),
}

/// Opens whichever of both is there.
pub(crate) fn open_any(global: &Global, uri: &str, times: OpenTimes) -> Outcome<Opened> {
    match open(global, uri, times) {
        Err(Failure::Error(error)) if error.kind() == ErrorKind::NotFound => {
            let group = open_group(global, uri, times).map_err(|_| Failure::Error(error));
            Ok(Opened::Group(Box::new(group?)))
        }
        array => Ok(Opened::Array(Box::new(array?))),
    }
}

/// Creates an array.
pub(crate) fn create(global: &Global, uri: &str, file: SchemaFile) -> Outcome<Array> {
    let schema = file.build().map_err(|error| error.at_uri(uri))?;
    let options = options(global, OpenTimes::default())?;
    Ok(Array::create_with(uri, &schema, &options).map_err(|error| error.at_uri(uri))?)
}
