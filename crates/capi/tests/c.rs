//! The entries called as C calls them: handles, errors, and arguments that are null or of another kind.
#![allow(unsafe_code, reason = "the tests call the entries as C does")]

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};

// The library itself is linked for its symbols.
use tiledb as _;

type Handle = *mut c_void;

unsafe extern "C" {
    fn tiledb_version(major: *mut i32, minor: *mut i32, rev: *mut i32);
    fn tiledb_ctx_alloc(config: Handle, ctx: *mut Handle) -> i32;
    fn tiledb_ctx_free(ctx: *mut Handle);
    fn tiledb_ctx_get_last_error(ctx: Handle, error: *mut Handle) -> i32;
    fn tiledb_error_message(error: Handle, message: *mut *const c_char) -> i32;
    fn tiledb_error_free(error: *mut Handle);
    fn tiledb_config_alloc(config: *mut Handle, error: *mut Handle) -> i32;
    fn tiledb_config_set(config: Handle, key: *const c_char, value: *const c_char, error: *mut Handle)
    -> i32;
    fn tiledb_config_get(
        config: Handle,
        key: *const c_char,
        value: *mut *const c_char,
        error: *mut Handle,
    ) -> i32;
    fn tiledb_config_free(config: *mut Handle);
    fn tiledb_dimension_alloc(
        ctx: Handle,
        name: *const c_char,
        kind: i32,
        domain: *const c_void,
        extent: *const c_void,
        dimension: *mut Handle,
    ) -> i32;
    fn tiledb_domain_alloc(ctx: Handle, domain: *mut Handle) -> i32;
    fn tiledb_domain_add_dimension(ctx: Handle, domain: Handle, dimension: Handle) -> i32;
    fn tiledb_attribute_alloc(ctx: Handle, name: *const c_char, kind: i32, attribute: *mut Handle) -> i32;
    fn tiledb_attribute_get_name(ctx: Handle, attribute: Handle, name: *mut *const c_char) -> i32;
    fn tiledb_attribute_free(attribute: *mut Handle);
    fn tiledb_array_schema_alloc(ctx: Handle, kind: i32, schema: *mut Handle) -> i32;
    fn tiledb_array_schema_set_domain(ctx: Handle, schema: Handle, domain: Handle) -> i32;
    fn tiledb_array_schema_add_attribute(ctx: Handle, schema: Handle, attribute: Handle) -> i32;
    fn tiledb_array_schema_check(ctx: Handle, schema: Handle) -> i32;
    fn tiledb_array_create(ctx: Handle, uri: *const c_char, schema: Handle) -> i32;
    fn tiledb_array_alloc(ctx: Handle, uri: *const c_char, array: *mut Handle) -> i32;
    fn tiledb_array_open(ctx: Handle, array: Handle, mode: i32) -> i32;
    fn tiledb_array_close(ctx: Handle, array: Handle) -> i32;
    fn tiledb_array_free(array: *mut Handle);
    fn tiledb_query_alloc(ctx: Handle, array: Handle, mode: i32, query: *mut Handle) -> i32;
    fn tiledb_query_set_data_buffer(
        ctx: Handle,
        query: Handle,
        name: *const c_char,
        data: *mut c_void,
        len: *mut u64,
    ) -> i32;
    fn tiledb_query_submit(ctx: Handle, query: Handle) -> i32;
    fn tiledb_query_get_status(ctx: Handle, query: Handle, status: *mut i32) -> i32;
    fn tiledb_query_free(query: *mut Handle);
    fn tiledb_subarray_alloc(ctx: Handle, array: Handle, subarray: *mut Handle) -> i32;
    fn tiledb_subarray_set_subarray(ctx: Handle, subarray: Handle, sides: *const c_void) -> i32;
    fn tiledb_query_set_subarray_t(ctx: Handle, query: Handle, subarray: Handle) -> i32;
    fn tiledb_serialize_array_schema(
        ctx: Handle,
        schema: Handle,
        kind: i32,
        client_side: i32,
        buffer: *mut Handle,
    ) -> i32;
}

const OK: i32 = 0;
const ERR: i32 = -1;
const INVALID_CONTEXT: i32 = -3;
const INVALID_ERROR: i32 = -4;
const INT32: i32 = 0;
const COMPLETED: i32 = 1;
const INCOMPLETE: i32 = 3;

fn context() -> Handle {
    let mut ctx = null_mut();
    // SAFETY: a place for a handle.
    assert_eq!(unsafe { tiledb_ctx_alloc(null_mut(), &mut ctx) }, OK);
    ctx
}

fn last_error(ctx: Handle) -> String {
    let (mut error, mut message) = (null_mut(), null());
    // SAFETY: a live context, places for what is asked, and a text that is there until the error is freed.
    unsafe {
        assert_eq!(tiledb_ctx_get_last_error(ctx, &mut error), OK);
        assert_eq!(tiledb_error_message(error, &mut message), OK);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        tiledb_error_free(&mut error);
        text
    }
}

/// A dense array of four cells in a folder.
fn array(ctx: Handle, uri: &CStr) -> Handle {
    let (domain_of, extent) = ([0_i32, 3], 2_i32);
    let (mut dimension, mut domain, mut attribute, mut schema, mut array) =
        (null_mut(), null_mut(), null_mut(), null_mut(), null_mut());
    // SAFETY: live handles, numbers of the dimension's type, places for handles.
    unsafe {
        let bounds = domain_of.as_ptr().cast();
        let width = std::ptr::from_ref(&extent).cast();
        assert_eq!(tiledb_dimension_alloc(ctx, c"x".as_ptr(), INT32, bounds, width, &mut dimension), OK);
        assert_eq!(tiledb_domain_alloc(ctx, &mut domain), OK);
        assert_eq!(tiledb_domain_add_dimension(ctx, domain, dimension), OK);
        assert_eq!(tiledb_attribute_alloc(ctx, c"a".as_ptr(), INT32, &mut attribute), OK);
        assert_eq!(tiledb_array_schema_alloc(ctx, 0, &mut schema), OK);
        assert_eq!(tiledb_array_schema_set_domain(ctx, schema, domain), OK);
        assert_eq!(tiledb_array_schema_add_attribute(ctx, schema, attribute), OK);
        assert_eq!(tiledb_array_schema_check(ctx, schema), OK);
        assert_eq!(tiledb_array_create(ctx, uri.as_ptr(), schema), OK);
        assert_eq!(tiledb_array_alloc(ctx, uri.as_ptr(), &mut array), OK);
        let mut buffer = null_mut();
        assert_eq!(tiledb_serialize_array_schema(ctx, schema, 1, 0, &mut buffer), ERR);
        assert!(last_error(ctx).contains("serialization not enabled"));
    }
    array
}

#[test]
fn the_last_tile_of_a_narrow_dimension_may_end_beyond_its_type() {
    let ctx = context();
    let (domain, extent) = ([0_i32, i32::MAX], 2_000_000_i32);
    let mut dimension = null_mut();
    // SAFETY: a live context, numbers of the dimension's type, a place for a handle.
    let code = unsafe {
        let (bounds, width) = (domain.as_ptr().cast(), std::ptr::from_ref(&extent).cast());
        tiledb_dimension_alloc(ctx, c"x".as_ptr(), INT32, bounds, width, &mut dimension)
    };
    assert_eq!(code, OK);
    assert!(!dimension.is_null());
}

#[test]
fn the_version_is_that_of_the_headers() {
    let (mut major, mut minor, mut rev) = (0, 0, 0);
    // SAFETY: places for numbers; null ones are left alone.
    unsafe {
        tiledb_version(&mut major, &mut minor, &mut rev);
        tiledb_version(null_mut(), null_mut(), null_mut());
    }
    assert_eq!((major, minor, rev), (2, 30, 0));
}

#[test]
fn a_configuration_checks_values_and_tells_why_not() {
    let (mut config, mut error, mut value) = (null_mut(), null_mut(), null());
    // SAFETY: live handles, texts that end in zero, places for what is asked.
    unsafe {
        assert_eq!(tiledb_config_alloc(&mut config, &mut error), OK);
        assert!(error.is_null());
        let key = c"sm.memory_budget";
        assert_eq!(tiledb_config_set(config, key.as_ptr(), c"no number".as_ptr(), &mut error), ERR);
        assert!(!error.is_null());
        tiledb_error_free(&mut error);
        assert!(error.is_null());
        assert_eq!(tiledb_config_set(config, key.as_ptr(), c"17".as_ptr(), null_mut()), INVALID_ERROR);
        assert_eq!(tiledb_config_set(config, key.as_ptr(), c"17".as_ptr(), &mut error), OK);
        assert_eq!(tiledb_config_get(config, key.as_ptr(), &mut value, &mut error), OK);
        assert_eq!(CStr::from_ptr(value), c"17");
        assert_eq!(tiledb_config_set(null_mut(), key.as_ptr(), c"17".as_ptr(), &mut error), ERR);
        tiledb_error_free(&mut error);
        tiledb_config_free(&mut config);
        assert!(config.is_null());
    }
}

#[test]
fn null_and_foreign_and_freed_handles_are_errors() {
    let mut ctx = context();
    let (mut attribute, mut domain, mut name) = (null_mut(), null_mut(), null());
    // SAFETY: what is wrong here is what the entries have to notice; places are there.
    unsafe {
        assert_eq!(tiledb_attribute_get_name(null_mut(), null_mut(), &mut name), INVALID_CONTEXT);
        assert_eq!(tiledb_attribute_get_name(ctx, null_mut(), &mut name), ERR);
        assert_eq!(last_error(ctx), "C API: Invalid TileDB attribute object");
        assert_eq!(tiledb_domain_alloc(ctx, &mut domain), OK);
        assert_eq!(tiledb_attribute_get_name(ctx, domain, &mut name), ERR);
        assert_eq!(tiledb_attribute_alloc(ctx, null(), INT32, &mut attribute), ERR);
        assert_eq!(tiledb_attribute_alloc(ctx, c"a".as_ptr(), 99, &mut attribute), ERR);
        assert_eq!(tiledb_attribute_alloc(ctx, c"a".as_ptr(), INT32, null_mut()), ERR);
        assert_eq!(tiledb_attribute_alloc(ctx, c"a".as_ptr(), INT32, &mut attribute), OK);
        assert_eq!(tiledb_attribute_get_name(ctx, attribute, null_mut()), ERR);
        let mut freed = attribute;
        tiledb_attribute_free(&mut attribute);
        if cfg!(debug_assertions) {
            assert_eq!(tiledb_attribute_get_name(ctx, freed, &mut name), ERR);
            tiledb_attribute_free(&mut freed);
        }
        tiledb_attribute_free(null_mut());
        tiledb_ctx_free(&mut ctx);
    }
}

#[test]
fn cells_are_written_and_read_as_many_as_fit() {
    let folder = tempfile::tempdir().unwrap();
    let uri = CString::new(folder.path().join("a").to_str().unwrap()).unwrap();
    let mut ctx = context();
    let mut array = array(ctx, &uri);
    let mut cells = [5_i32, 6, 7, 8];
    let (mut query, mut subarray, mut status) = (null_mut(), null_mut(), 0);
    // SAFETY: live handles, buffers of the length that is told, places for what is asked.
    unsafe {
        assert_eq!(tiledb_query_alloc(ctx, array, 0, &mut query), ERR);
        assert!(last_error(ctx).contains("not open"));
        assert_eq!(tiledb_array_open(ctx, array, 1), OK);
        assert_eq!(tiledb_query_alloc(ctx, array, 1, &mut query), OK);
        let mut len = 16;
        let data = cells.as_mut_ptr().cast();
        assert_eq!(tiledb_query_set_data_buffer(ctx, query, c"a".as_ptr(), data, &mut len), OK);
        assert_eq!(tiledb_query_set_data_buffer(ctx, query, c"b".as_ptr(), data, &mut len), ERR);
        assert_eq!(tiledb_query_submit(ctx, query), OK);
        tiledb_query_free(&mut query);
        assert_eq!(tiledb_array_close(ctx, array), OK);

        assert_eq!(tiledb_array_open(ctx, array, 0), OK);
        assert_eq!(tiledb_query_alloc(ctx, array, 0, &mut query), OK);
        let mut some = [0_i32; 3];
        let mut len = 12;
        let place = some.as_mut_ptr().cast();
        assert_eq!(tiledb_query_set_data_buffer(ctx, query, c"a".as_ptr(), place, &mut len), OK);
        assert_eq!(tiledb_query_submit(ctx, query), ERR);
        assert!(last_error(ctx).contains("subarray"));
        let sides = [0_i32, 3];
        assert_eq!(tiledb_subarray_alloc(ctx, array, &mut subarray), OK);
        assert_eq!(tiledb_subarray_set_subarray(ctx, subarray, sides.as_ptr().cast()), OK);
        assert_eq!(tiledb_query_set_subarray_t(ctx, query, subarray), OK);
        assert_eq!(tiledb_query_submit(ctx, query), OK);
        assert_eq!(tiledb_query_get_status(ctx, query, &mut status), OK);
        assert_eq!((status, len, some), (INCOMPLETE, 12, [5, 6, 7]));
        assert_eq!(tiledb_query_submit(ctx, query), OK);
        assert_eq!(tiledb_query_get_status(ctx, query, &mut status), OK);
        assert_eq!((status, len, some[0]), (COMPLETED, 4, 8));
        tiledb_query_free(&mut query);
        tiledb_array_free(&mut array);
        tiledb_ctx_free(&mut ctx);
    }
}

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: i32) -> Handle;
    fn dlsym(library: Handle, name: *const c_char) -> Handle;
}

/// An entry with more arguments than any has; those that it does not have are in registers and places that it does not look at.
type Entry =
    unsafe extern "C" fn(Handle, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize) -> u64;

#[test]
fn every_entry_takes_nulls_without_a_signal() {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    let places = [folder.join("libtiledb.so"), folder.with_file_name("libtiledb.so")];
    let place =
        places.into_iter().find(|place| place.exists()).expect("cargo builds the library with its tests");
    let path = CString::new(place.to_str().unwrap()).unwrap();
    let mut called = 0;
    // SAFETY: the library is ours; entries take zeros for pointers and numbers, and have at most eleven arguments.
    unsafe {
        let library = dlopen(path.as_ptr(), 2);
        assert!(!library.is_null());
        let find = |name: &str| dlsym(library, CString::new(name).unwrap().as_ptr());
        let alloc: unsafe extern "C" fn(Handle, *mut Handle) -> i32 =
            std::mem::transmute(find("tiledb_ctx_alloc"));
        let mut ctx = null_mut();
        assert_eq!(alloc(null_mut(), &mut ctx), OK);
        for name in include_str!("symbols.txt").lines() {
            let is_data = name == "tiledb_aggregate_count"
                || name.starts_with("tiledb_channel_operator_") && !name.ends_with("_get");
            // These take a context in the place of a handle's place, and would free it.
            if is_data || name.ends_with("_free") {
                continue;
            }
            let entry: Entry = std::mem::transmute(find(name));
            entry(null_mut(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
            // Of the others the first argument is no context.
            let has_context =
                !["tiledb_ctx_alloc", "tiledb_config", "tiledb_profile", "tiledb_error", "tiledb_string"]
                    .iter()
                    .any(|prefix| name.starts_with(prefix))
                    && !["_to_str", "_from_str", "_free_str", "_json_str"]
                        .iter()
                        .any(|suffix| name.ends_with(suffix))
                    && !name.starts_with("tiledb_stats")
                    && !["tiledb_version", "tiledb_as_built_dump", "tiledb_heap_profiler_enable"]
                        .contains(&name);
            if has_context {
                entry(ctx, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
            }
            called += 1;
        }
    }
    assert!(called > 470, "{called}");
}
