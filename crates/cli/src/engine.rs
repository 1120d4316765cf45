//! The engine as the commands use it: arrays opened with the options of the command line.

use crate::args::{Global, OpenTimes, Sync};
use crate::failure::{Failure, Outcome};
use crate::warning::warn;
use smalti::json::SchemaFile;
use smalti::{Array, Context, ErrorKind, Group, Options, SyncLevel};
use smalti_tools::When;
use smalti_tools::human;
use std::sync::OnceLock;

/// The options of the command line.
pub(crate) fn options(global: &Global, times: OpenTimes) -> Outcome<Options> {
    let mut options = Options::new().sync(match global.sync {
        Sync::Full => SyncLevel::Full,
        Sync::File => SyncLevel::File,
        Sync::None => SyncLevel::None,
    });
    if let Some(at) = times.at {
        options = options.at(at.end());
    }
    if let Some(since) = times.since {
        options = options.since(since.start());
    }
    if let Some(key) = global.encryption_key()? {
        options = options.key(key);
    }
    if let Some(byte_len) = global.metadata_limit {
        options = options.metadata_limit(byte_len);
    }
    Ok(options.context(&context(global)?))
}

/// The context of the program.
///
/// # Errors
/// When the threads that were asked for cannot be started, and what is wrong with settings.
pub(crate) fn context(global: &Global) -> Outcome<Context> {
    static CONTEXT: OnceLock<Context> = OnceLock::new();
    if CONTEXT.get().is_none() {
        let mut context = match global.threads {
            Some(threads) => Context::new().threads(threads.into()),
            None => Context::default(),
        };
        if !global.config.is_empty() || global.cache.is_some() {
            context = context.storage(global.settings()?);
        }
        // Nobody else makes one meanwhile.
        let _ = CONTEXT.set(context);
    }
    let context = CONTEXT.get().cloned().unwrap_or_default();
    if global.threads.is_some() {
        context.start_threads()?;
    }
    Ok(context)
}

/// Opens an array, and says on standard error what was passed over, and of times that show nothing.
pub(crate) fn open(global: &Global, uri: &str, times: OpenTimes) -> Outcome<Array> {
    let array = open_silently(global, uri, times)?;
    warn_of_times(global, uri, times, &array)?;
    Ok(array)
}

fn open_silently(global: &Global, uri: &str, times: OpenTimes) -> Outcome<Array> {
    let array = Array::open_with(uri, &options(global, times)?).map_err(|error| error.at_uri(uri))?;
    for warning in array.warnings()? {
        warn(global, uri, warning);
    }
    Ok(array)
}

/// Warns of times that show nothing, or everything, and are likely meant otherwise: before the first write, and in seconds.
fn warn_of_times(global: &Global, uri: &str, times: OpenTimes, array: &Array) -> Outcome {
    let is_empty = times.at.is_some() && array.fragments()?.is_empty();
    if !is_empty && times.since.and_then(When::as_seconds).is_none() {
        return Ok(());
    }
    let first = array.first_write()?;
    let written = first.map_or("nothing is written yet".to_owned(), |first| {
        format!("the first write is of {}", human::timestamp(first))
    });
    if let Some(at) = times.at.filter(|at| is_empty && first.is_none_or(|first| at.end() < first)) {
        let time = human::timestamp(at.end());
        match at.as_seconds() {
            Some(date) => warn(
                global,
                uri,
                format_args!(
                    "--at {} ms is {time}, and {written}; as seconds it is {date}: write that",
                    at.end()
                ),
            ),
            None if first.is_some() => {
                warn(
                    global,
                    uri,
                    format_args!(
                        "--at, {time}, lies before the first write, which is of {}",
                        first.map_or_else(String::new, human::timestamp)
                    ),
                );
            }
            None => {}
        }
    }
    if let Some(since) = times.since.filter(|since| first.is_none_or(|first| since.start() < first))
        && let Some(date) = since.as_seconds()
    {
        let (ms, time) = (since.start(), human::timestamp(since.start()));
        warn(
            global,
            uri,
            format_args!("--since {ms} ms is {time}, and {written}; as seconds it is {date}: write that"),
        );
    }
    Ok(())
}

/// The time of a change that `--at` asks for, in milliseconds since 1970; warns of one that looks like seconds.
pub(crate) fn change_time(global: &Global, uri: &str, at: Option<When>) -> Option<u64> {
    warn_of_seconds(global, uri, at);
    at.map(When::moment)
}

/// Warns of the time of a change that looks like seconds.
pub(crate) fn warn_of_seconds(global: &Global, uri: &str, at: Option<When>) {
    if let Some(doubt) = at.and_then(When::doubt) {
        warn(global, uri, doubt);
    }
}

/// Opens a group.
pub(crate) fn open_group(global: &Global, uri: &str, times: OpenTimes) -> Outcome<Group> {
    let group = Group::open_with(uri, &options(global, times)?).map_err(|error| error.at_uri(uri))?;
    warn_of_seconds(global, uri, times.at);
    Ok(group)
}

/// What a command that takes arrays and groups alike was given.
pub(crate) enum Opened {
    Array(Box<Array>),
    Group(Box<Group>),
}

/// Opens whichever of both is there.
pub(crate) fn open_any(global: &Global, uri: &str, times: OpenTimes) -> Outcome<Opened> {
    either(global, uri, times, open(global, uri, times))
}

/// Opens whichever of both is there, for its metadata, which has a history of its own.
pub(crate) fn open_metadata(global: &Global, uri: &str, times: OpenTimes) -> Outcome<Opened> {
    let array = open_silently(global, uri, times);
    if array.is_ok() {
        warn_of_seconds(global, uri, times.at);
    }
    either(global, uri, times, array)
}

fn either(global: &Global, uri: &str, times: OpenTimes, array: Outcome<Array>) -> Outcome<Opened> {
    match array {
        Err(Failure::Error(error)) if error.kind() == ErrorKind::NotFound => {
            let group = open_group(global, uri, times).map_err(|_| Failure::Error(error));
            Ok(Opened::Group(Box::new(group?)))
        }
        array => Ok(Opened::Array(Box::new(array?))),
    }
}

/// Creates an array, now or at a time in milliseconds since 1970.
pub(crate) fn create(global: &Global, uri: &str, file: SchemaFile, at: Option<u64>) -> Outcome<Array> {
    let schema = file.build().map_err(|error| error.at_uri(uri))?;
    let mut options = options(global, OpenTimes::default())?;
    if let Some(at) = at {
        options = options.created_at(at);
    }
    Ok(Array::create_with(uri, &schema, &options).map_err(|error| error.at_uri(uri))?)
}
