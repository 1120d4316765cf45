//! The target of whole arrays: every file of a small one in a single input.
//!
//! Layout, for each file: u8 length of the path, the path below the array's folder, u32 length of the content, the
//! content. The last file may be cut.

use smalti_array::{ArrayPlace, Inspector, Snapshot};
use smalti_format::TraceDetail;
use smalti_query::{ReadRequest, read};
use smalti_store::{ManualClock, MemoryStore, SeededEntropy};
use smalti_types::{Env, Layout, TimeRange};
use std::sync::Arc;

/// The folder of the array in its store.
const FOLDER: &str = "array";

/// Cells of a batch. Few, for cells themselves may be large.
const BATCH_CELL_COUNT: usize = 40;

/// What a read may hold: cells of megabytes are legal, and a read that may hold a gigabyte holds it.
const MEMORY_BYTE_LEN: usize = 16 << 20;

/// Files of an array with their paths below its folder, as one input. Files that do not fit the layout are left out.
pub fn packed(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut input = Vec::new();
    for (path, content) in files {
        if let (Ok(path_len), Ok(content_len)) = (u8::try_from(path.len()), u32::try_from(content.len())) {
            input.push(path_len);
            input.extend_from_slice(path.as_bytes());
            input.extend(content_len.to_le_bytes());
            input.extend_from_slice(content);
        }
    }
    input
}

/// The files of an input.
pub fn unpacked(mut input: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    while let Some((&path_len, rest)) = input.split_first() {
        let (path, rest) = rest.split_at(usize::from(path_len).min(rest.len()));
        let Some((content_len, rest)) = rest.split_first_chunk() else { break };
        let (content, rest) = rest.split_at((u32::from_le_bytes(*content_len) as usize).min(rest.len()));
        files.push((String::from_utf8_lossy(path).into_owned(), content.to_vec()));
        input = rest;
    }
    files
}

/// Opens the array, reads its metadata and its cells in every order, and inspects every file; and again with sections of metadata
/// read chunk by chunk, as long ones are.
pub fn fuzz_array(input: &[u8]) {
    let files: Vec<(String, Vec<u8>)> =
        unpacked(input).into_iter().map(|(path, bytes)| (format!("{FOLDER}/{path}"), bytes)).collect();
    let paths: Vec<String> = files.iter().map(|(path, _)| path.clone()).collect();
    let Ok(store) = MemoryStore::from_files(files) else { return };
    let store = Arc::new(store);
    let env = Env::new(ManualClock::new(1), SeededEntropy::new(1));
    let place = |path: &str| ArrayPlace::in_store(store.clone(), path.into(), None, env.clone());
    for path in paths {
        if let Ok(inspector) = Inspector::in_store(place(&path)) {
            inspector.inspection(TraceDetail::Folded);
        }
    }
    read_all(place(FOLDER));
    read_all(place(FOLDER).with_whole_sections(0));
}

fn read_all(place: ArrayPlace) {
    let _ = place.metadata(TimeRange::ALL);
    let Ok(snapshot) = Snapshot::open(place, TimeRange::ALL) else { return };
    for layout in [None, Some(Layout::RowMajor), Some(Layout::ColMajor), Some(Layout::Unordered)] {
        let request = ReadRequest {
            layout,
            batch_cell_count: Some(BATCH_CELL_COUNT),
            memory_byte_len: Some(MEMORY_BYTE_LEN),
            ..ReadRequest::default()
        };
        let Ok(batches) = read(&snapshot, &request) else { continue };
        // Domains may be huge; the first batches touch everything that the files hold.
        for batch in batches.take(40) {
            if batch.is_err() {
                break;
            }
        }
    }
}
