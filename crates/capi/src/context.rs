//! Contexts: settings, threads, stores and the last error of a program.

use crate::boundary::entry::{KeepsError, entries, free_entries, plain_entries, with_error};
use crate::boundary::handle::{kinds, locked};
use crate::boundary::memory::give_text;
use crate::boundary::{In, New, Out, Text};
use crate::config::Config;
use crate::failure::{Failure, Fallible, fail};
use crate::statistics::Statistics;
use crate::text::ErrorText;
use smalti::{Options, Progress};
use std::collections::BTreeMap;
use std::ffi::c_char;
use std::hint::black_box;
use std::sync::{Arc, Mutex, Once, Weak};

/// A context.
pub(crate) struct Context {
    /// Its settings.
    pub(crate) config: Config,
    /// Threads, stores and memory.
    pub(crate) engine: smalti::Context,
    last_error: Mutex<Option<String>>,
    tags: Mutex<BTreeMap<String, String>>,
    under_way: Mutex<Vec<Weak<Progress>>>,
    /// What was counted of its work.
    pub(crate) statistics: Arc<Statistics>,
}

kinds! { Context => "context" }

/// The largest block that glibc takes from the system by itself and learns from (`DEFAULT_MMAP_THRESHOLD_MAX`), with its header.
const LEARNED_BYTE_LEN: usize = (32 << 20) - (64 << 10);

/// Has the allocator keep blocks up to 32 MiB when they are freed, as it does in programs on libtiledb, which frees such blocks all the time
/// (docs/decisions/0022). Where the program has said what the allocator is to do, nothing changes.
fn settle_allocator() {
    static SETTLED: Once = Once::new();
    SETTLED.call_once(|| {
        let mut block: Vec<u8> = Vec::new();
        // Not touched, so that it takes no memory; where there is none, nothing is to be kept either.
        if block.try_reserve_exact(LEARNED_BYTE_LEN).is_ok() {
            drop(black_box(block));
        }
    });
}

impl Context {
    fn new(config: Config) -> Fallible<Context> {
        settle_allocator();
        let level = config.own("config.logging_level");
        if level.parse::<u32>().is_ok_and(|level| level > 5) {
            let words = format!("Cannot set logger level; Unsupported level:{level}set in configuration");
            return fail("Context", words);
        }
        let threads = |key: &str| config.parse::<usize>(key);
        let threads = threads("sm.compute_concurrency_level")?.max(threads("sm.io_concurrency_level")?);
        let engine = smalti::Context::new().threads(threads).storage(crate::stores::settings(&config)?);
        Ok(Context {
            config,
            engine,
            last_error: Mutex::default(),
            tags: Mutex::default(),
            under_way: Mutex::default(),
            statistics: Arc::default(),
        })
    }

    /// How arrays are opened with settings, those of the context where there are none: key and stores.
    pub(crate) fn options(&self, config: Option<&Config>) -> Fallible<Options> {
        let config = config.unwrap_or(&self.config);
        let options = Options::new().context(&self.engine);
        Ok(match crate::encryption::key_of(config)? {
            Some(key) => options.key(key),
            None => options,
        })
    }

    /// A note of work that `tiledb_ctx_cancel_tasks` stops.
    pub(crate) fn progress(&self) -> Arc<Progress> {
        let progress = Arc::new(Progress::new());
        let mut under_way = locked(&self.under_way);
        under_way.retain(|other| other.strong_count() > 0);
        under_way.push(Arc::downgrade(&progress));
        progress
    }
}

impl KeepsError for Context {
    fn keep_error(&self, failure: &Failure) {
        *locked(&self.last_error) = Some(failure.to_string());
    }
}

plain_entries! {
    fn tiledb_ctx_alloc(config: In<Config>, ctx: New<Context>) {
        ctx.check()?;
        ctx.put(Context::new(given(config)?)?)
    }
}

fn given(config: In<Config>) -> Fallible<Config> {
    if config.is_null() { Ok(Config::default()) } else { Ok(config.read()?.clone()) }
}

plain_entries! {
    fn tiledb_ctx_alloc_with_error(config: In<Config>, ctx: New<Context>, error: New<ErrorText>) {
        if error.is_null() {
            return fail("C API", "Error argument may not be a null pointer");
        }
        let mut result = Ok(());
        with_error(error, || {
            result = ctx.check().and_then(|()| ctx.put(Context::new(given(config)?)?));
            result.clone()
        });
        result
    }
}

free_entries! { tiledb_ctx_free: Context }

entries! {
    fn tiledb_ctx_get_stats(ctx, stats_json: Out<*mut c_char>) {
        give_text(stats_json, &ctx.statistics.text())
    }

    fn tiledb_ctx_get_config(ctx, config: New<Config>) {
        config.put(ctx.config.clone())
    }

    fn tiledb_ctx_get_last_error(ctx, error: New<ErrorText>) {
        let last = locked(&ctx.last_error).clone();
        match last {
            Some(text) => error.put(ErrorText(text)),
            None => error.put_null(),
        }
    }

    fn tiledb_ctx_is_supported_fs(ctx, filesystem: i32, is_supported: Out<i32>) {
        let yes = match filesystem {
            1 => cfg!(feature = "s3"),
            2 => cfg!(feature = "azure"),
            3 => cfg!(feature = "gcs"),
            4 | 5 => true,
            0 => false,
            _ => return fail("C API", "Invalid filesystem"),
        };
        is_supported.put(i32::from(yes))
    }

    fn tiledb_ctx_cancel_tasks(ctx) {
        locked(&ctx.under_way).drain(..).filter_map(|task| task.upgrade()).for_each(|task| task.cancel());
        Ok(())
    }

    fn tiledb_ctx_set_tag(ctx, key: Text, value: Text) {
        let (key, value) = (key.get("key")?, value.get("value")?);
        locked(&ctx.tags).insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    fn tiledb_ctx_get_data_protocol(ctx, uri: Text, data_protocol: Out<i32>) {
        uri.get("uri")?;
        data_protocol.put(0)
    }

    fn tiledb_log_warn(ctx, message: Text) {
        message.get("message")?;
        Ok(())
    }
}
