//! What the library says of itself, and settings of the whole process.

use crate::boundary::entry::{entries, plain_entries, value_entries};
use crate::boundary::{DataOut, New, Out, Text};
use crate::context::Context;
use crate::failure::fail;
use crate::text::TextHandle;
use std::time::SystemTime;

/// Which version of the interface this is.
const VERSION: (i32, i32, i32) = (2, 30, 0);

/// The longest path that entries with a buffer for one take.
const MAX_PATH: u32 = 4096;

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

value_entries! {
    fn tiledb_var_num() -> u32 {
        u32::MAX
    }

    fn tiledb_max_path() -> u32 {
        MAX_PATH
    }

    fn tiledb_offset_size() -> u64 {
        8
    }

    fn tiledb_timestamp_now_ms() -> u64 {
        now_ms()
    }

    fn tiledb_version(major: Out<i32>, minor: Out<i32>, rev: Out<i32>) -> () {
        major.put_if(VERSION.0);
        minor.put_if(VERSION.1);
        rev.put_if(VERSION.2);
    }
}

plain_entries! {
    fn tiledb_as_built_dump(out: New<TextHandle>) {
        let switch = |on: bool| serde_json::json!({ "enabled": on });
        let text = serde_json::json!({ "as_built": { "parameters": {
            "storage_backends": {
                "azure": switch(cfg!(feature = "azure")),
                "gcs": switch(cfg!(feature = "gcs")),
                "s3": switch(cfg!(feature = "s3")),
            },
            "support": { "serialization": switch(false), "webp": switch(true) },
        } } });
        out.put(TextHandle(text.to_string()))
    }

    fn tiledb_heap_profiler_enable(prefix: Text, interval_ms: u64, interval_bytes: u64, threshold: u64) {
        // There is none; programs that ask for it go on without.
        let _ = (prefix.optional()?, interval_ms, interval_bytes, threshold);
        Ok(())
    }
}

entries! {
    fn tiledb_uri_to_path(ctx, uri: Text, path_out: DataOut, path_length: Out<u32>) {
        let uri = uri.get("uri")?;
        let path = ["file://", "mem://"].iter().find_map(|scheme| uri.strip_prefix(scheme)).unwrap_or(uri);
        let room = path_length.get()?;
        let needed = u32::try_from(path.len()).unwrap_or(u32::MAX).saturating_add(1);
        if path_out.is_null() || needed > room {
            return fail("C API", "Cannot convert URI to path; the buffer is too short");
        }
        path_length.put(needed - 1)?;
        path_out.put(&[path.as_bytes(), &[0]].concat())
    }
}
