//! The words for enumerations of C, in both directions.

use crate::boundary::entry::{plain_entries, value_entries};
use crate::boundary::{Out, OutText, Text};
use crate::failure::{Failure, Fallible, fail};
use smalti::{Datatype, Layout};
use std::ffi::{CString, c_char};
use std::sync::OnceLock;

/// Words and their numbers; the first word of a number is the one that is told.
type Words = &'static [(i32, &'static std::ffi::CStr)];

const ENCRYPTION: Words = &[(0, c"NO_ENCRYPTION"), (1, c"AES_256_GCM")];
const ARRAY_TYPE: Words = &[(0, c"dense"), (1, c"sparse")];
const LAYOUT: Words =
    &[(0, c"row-major"), (1, c"col-major"), (2, c"global-order"), (3, c"unordered"), (4, c"hilbert")];
const DATA_ORDER: Words = &[(0, c"unordered"), (1, c"increasing"), (2, c"decreasing")];
const FILESYSTEM: Words = &[(0, c"HDFS"), (1, c"S3"), (2, c"AZURE"), (3, c"GCS"), (4, c"MEM")];
const FILTER_TYPE: Words = &[
    (0, c"NONE"),
    (1, c"GZIP"),
    (2, c"ZSTD"),
    (3, c"LZ4"),
    (4, c"RLE"),
    (5, c"BZIP2"),
    (6, c"DOUBLE_DELTA"),
    (7, c"BIT_WIDTH_REDUCTION"),
    (8, c"BITSHUFFLE"),
    (9, c"BYTESHUFFLE"),
    (10, c"POSITIVE_DELTA"),
    (12, c"CHECKSUM_MD5"),
    (13, c"CHECKSUM_SHA256"),
    (14, c"DICTIONARY_ENCODING"),
    (15, c"SCALE_FLOAT"),
    (16, c"XOR"),
    (18, c"WEBP"),
    (19, c"DELTA"),
];
const FILTER_OPTION: Words = &[
    (0, c"COMPRESSION_LEVEL"),
    (1, c"BIT_WIDTH_MAX_WINDOW"),
    (2, c"POSITIVE_DELTA_MAX_WINDOW"),
    (3, c"SCALE_FLOAT_BYTEWIDTH"),
    (4, c"SCALE_FLOAT_FACTOR"),
    (5, c"SCALE_FLOAT_OFFSET"),
    (6, c"WEBP_QUALITY"),
    (7, c"WEBP_INPUT_FORMAT"),
    (8, c"WEBP_LOSSLESS"),
    (9, c"COMPRESSION_REINTERPRET_DATATYPE"),
];
const OBJECT: Words = &[(0, c"INVALID"), (1, c"GROUP"), (2, c"ARRAY")];
const WALK_ORDER: Words = &[(0, c"PREORDER"), (1, c"POSTORDER")];
const QUERY_TYPE: Words =
    &[(0, c"READ"), (1, c"WRITE"), (2, c"DELETE"), (3, c"UPDATE"), (4, c"MODIFY_EXCLUSIVE")];
const VFS_MODE: Words = &[(0, c"VFS_READ"), (1, c"VFS_WRITE"), (2, c"VFS_APPEND")];
const QUERY_STATUS: Words = &[
    (0, c"FAILED"),
    (1, c"COMPLETED"),
    (2, c"INPROGRESS"),
    (3, c"INCOMPLETE"),
    (4, c"UNINITIALIZED"),
    (5, c"INITIALIZED"),
];
const SERIALIZATION: Words = &[(0, c"JSON"), (1, c"CAPNP")];
const MIME: Words = &[(0, c"AUTODETECT"), (1, c"image/tiff"), (2, c"application/pdf")];

fn word_of(words: Words, number: i32, word: OutText) -> Fallible<()> {
    match words.iter().find(|(known, _)| *known == number) {
        Some((_, text)) => word.put(text.as_ptr()),
        None => fail("C API", "Invalid value; no word for it"),
    }
}

fn number_of(words: Words, word: Text, number: Out<i32>) -> Fallible<()> {
    let word = word.get("str")?;
    match words.iter().find(|(_, text)| text.to_bytes() == word.as_bytes()) {
        Some((known, _)) => number.put(*known),
        None => fail("C API", format!("Invalid value '{word}'")),
    }
}

macro_rules! words {
    ($($words:ident: $to:ident, $from:ident;)*) => {
        plain_entries! {
            $(fn $to(number: i32, word: OutText) { word_of($words, number, word) }
            fn $from(word: Text, number: Out<i32>) { number_of($words, word, number) })*
        }
    };
}

words! {
    ENCRYPTION: tiledb_encryption_type_to_str, tiledb_encryption_type_from_str;
    ARRAY_TYPE: tiledb_array_type_to_str, tiledb_array_type_from_str;
    LAYOUT: tiledb_layout_to_str, tiledb_layout_from_str;
    DATA_ORDER: tiledb_data_order_to_str, tiledb_data_order_from_str;
    FILESYSTEM: tiledb_filesystem_to_str, tiledb_filesystem_from_str;
    FILTER_TYPE: tiledb_filter_type_to_str, tiledb_filter_type_from_str;
    FILTER_OPTION: tiledb_filter_option_to_str, tiledb_filter_option_from_str;
    OBJECT: tiledb_object_type_to_str, tiledb_object_type_from_str;
    WALK_ORDER: tiledb_walk_order_to_str, tiledb_walk_order_from_str;
    QUERY_TYPE: tiledb_query_type_to_str, tiledb_query_type_from_str;
    VFS_MODE: tiledb_vfs_mode_to_str, tiledb_vfs_mode_from_str;
    QUERY_STATUS: tiledb_query_status_to_str, tiledb_query_status_from_str;
    SERIALIZATION: tiledb_serialization_type_to_str, tiledb_serialization_type_from_str;
    MIME: tiledb_mime_type_to_str, tiledb_mime_type_from_str;
}

/// The word of a filter option or type, for messages and dumps.
pub(crate) fn filter_word(tag: u8) -> &'static str {
    let found = FILTER_TYPE.iter().find(|(known, _)| *known == i32::from(tag));
    found.and_then(|(_, text)| text.to_str().ok()).unwrap_or_default()
}

/// The word of a query's type.
pub(crate) fn query_type_word(number: i32) -> &'static str {
    let found = QUERY_TYPE.iter().find(|(known, _)| *known == number);
    found.and_then(|(_, text)| text.to_str().ok()).unwrap_or_default()
}

fn datatype_words() -> &'static [CString] {
    static WORDS: OnceLock<Vec<CString>> = OnceLock::new();
    WORDS.get_or_init(|| Datatype::ALL.iter().filter_map(|kind| CString::new(kind.name()).ok()).collect())
}

plain_entries! {
    fn tiledb_datatype_to_str(number: i32, word: OutText) {
        let found = usize::try_from(number).ok().and_then(|number| datatype_words().get(number));
        match found {
            Some(text) => word.put(text.as_ptr()),
            None => fail("C API", "Invalid value; no word for it"),
        }
    }

    fn tiledb_datatype_from_str(word: Text, number: Out<i32>) {
        let word = word.get("str")?;
        match Datatype::ALL.iter().find(|kind| kind.name() == word) {
            Some(kind) => number.put(i32::from(kind.tag())),
            None => fail("C API", format!("Invalid value '{word}'")),
        }
    }
}

value_entries! {
    fn tiledb_datatype_size(number: i32) -> u64 {
        datatype(number).map_or(0, |kind| u64::try_from(kind.byte_len()).unwrap_or(0))
    }

    fn tiledb_status_code(code: i32) -> i32 {
        code
    }

    fn tiledb_timestamps() -> *const c_char {
        c"__timestamps".as_ptr()
    }
}

/// The datatype of a number of C.
pub(crate) fn datatype(number: i32) -> Fallible<Datatype> {
    let found = u8::try_from(number).ok().and_then(Datatype::from_tag);
    found.ok_or_else(|| Failure::told("Datatype", format!("Invalid Datatype ({number})")))
}

/// The layout of a number of C.
pub(crate) fn layout(number: i32) -> Fallible<Layout> {
    let found = u8::try_from(number).ok().and_then(Layout::from_tag);
    found.ok_or_else(|| Failure::told("C API", format!("Invalid layout ({number})")))
}
