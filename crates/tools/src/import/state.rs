//! How far an import that shows its chunks as it goes has come: a small file beside the array.
//!
//! Before a chunk is committed, the file names its fragment and the rows behind it; after it, these rows are done. When an import goes
//! on, the pending fragment is looked for in the array: whether it is there tells whether its rows are.

use super::source::InputFile;
use crate::failure::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use smalti::Array;
use std::path::{Path, PathBuf};

/// The file's version.
const VERSION: u32 = 1;

/// What the file says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    files: Vec<FileState>,
    /// The file that is being read, and the rows of it that are done.
    file: usize,
    rows: u64,
    /// The number of the first row of the import.
    first_row_number: u64,
    pending: Option<Pending>,
}

/// A file as it was when the import began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileState {
    path: PathBuf,
    byte_len: u64,
    /// Milliseconds since 1970.
    modified: u64,
}

/// A chunk that is being committed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pending {
    fragment: String,
    timestamp: u64,
    file: usize,
    rows: u64,
}

/// The state of an import.
#[derive(Debug)]
pub(super) struct State {
    path: PathBuf,
    content: Content,
    /// Rows were done before this run.
    start: (usize, u64),
}

impl State {
    /// Starts an import.
    ///
    /// # Errors
    /// When one that stopped has left its state.
    pub(super) fn start(array: &str, files: &[InputFile], first_row_number: u64) -> Outcome<State> {
        let path = path_of(array)?;
        if path.exists() {
            return Err(Failure::invalid(format!(
                "an import into the array has stopped before its end; go on with --resume, or remove {} to forget it",
                path.display()
            )));
        }
        let files = files.iter().map(file_state).collect::<Outcome<_>>()?;
        let content = Content { version: VERSION, files, file: 0, rows: 0, first_row_number, pending: None };
        let state = State { path, content, start: (0, 0) };
        state.save()?;
        Ok(state)
    }

    /// Goes on with an import.
    ///
    /// # Errors
    /// When there is none, its files have changed since, or nobody can tell what of it is in the array.
    pub(super) fn resume(array: &str, opened: &Array, files: &[InputFile]) -> Outcome<State> {
        let path = path_of(array)?;
        let named = |problem: String| Failure::invalid(problem).at(path.display().to_string());
        let text = std::fs::read_to_string(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Failure::invalid(
                "no import --as-it-goes into the array has stopped: there is nothing to go on with; leave out --resume",
            ),
            _ => Failure::from(error).at(path.display().to_string()),
        })?;
        let mut content: Content =
            serde_json::from_str(&text).map_err(|error| named(format!("no state of an import: {error}")))?;
        if content.version != VERSION {
            return Err(named(format!("a state of version {}, which another smalti wrote", content.version)));
        }
        let now = files.iter().map(file_state).collect::<Outcome<Vec<_>>>()?;
        if now != content.files {
            return Err(named("the files are others than those of the import that stopped, or have changed since; give the same ones".into()));
        }
        if let Some(pending) = content.pending.take() {
            let fragments = opened.fragments()?;
            let is_there = fragments.iter().any(|fragment| fragment.name() == pending.fragment);
            let is_merged = fragments.iter().any(|fragment| {
                let time = fragment.time();
                time.start < time.end && (time.start..=time.end).contains(&pending.timestamp)
            });
            if !is_there && is_merged {
                return Err(named(format!(
                    "the array was consolidated since, so nobody can tell whether the rows of fragment {} are in it; look for them, \
                     and take \"pending\" out of the file if they are not, or put its numbers in place of \"file\" and \"rows\" if \
                     they are",
                    pending.fragment
                )));
            }
            if is_there {
                (content.file, content.rows) = (pending.file, pending.rows);
            }
        }
        let start = (content.file, content.rows);
        Ok(State { path, content, start })
    }

    /// Of some rows of a file, how many are done.
    pub(super) fn done_rows(&self, file: usize, first_row: u64, row_count: usize) -> Option<usize> {
        let (done_file, done_rows) = self.start;
        let done = match file.cmp(&done_file) {
            std::cmp::Ordering::Less => row_count,
            std::cmp::Ordering::Equal => {
                usize::try_from(done_rows.saturating_sub(first_row)).unwrap_or(usize::MAX).min(row_count)
            }
            std::cmp::Ordering::Greater => 0,
        };
        (done > 0).then_some(done)
    }

    /// Says which chunk is about to be committed, and the file and row behind it.
    pub(super) fn pend(&mut self, fragment: &str, timestamp: u64, end: (usize, u64)) -> Outcome {
        let fragment = fragment.to_owned();
        self.content.pending = Some(Pending { fragment, timestamp, file: end.0, rows: end.1 });
        self.save()
    }

    /// Says that the chunk is committed.
    pub(super) fn done(&mut self) -> Outcome {
        if let Some(pending) = self.content.pending.take() {
            (self.content.file, self.content.rows) = (pending.file, pending.rows);
        }
        self.save()
    }

    /// The number of the first row of the import.
    pub(super) fn first_row_number(&self) -> u64 {
        self.content.first_row_number
    }

    /// Forgets the import, which has come to its end.
    pub(super) fn remove(&self) -> Outcome {
        std::fs::remove_file(&self.path)
            .map_err(|error| Failure::from(error).at(self.path.display().to_string()))
    }

    fn save(&self) -> Outcome {
        use std::io::Write;
        let named = |error: std::io::Error| Failure::from(error).at(self.path.display().to_string());
        let (output, mut file) = crate::output::OutputFile::create(&self.path)?;
        let text =
            serde_json::to_string(&self.content).map_err(|error| Failure::invalid(error.to_string()))?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(named)?;
        output.keep()
    }
}

fn file_state(file: &InputFile) -> Outcome<FileState> {
    let named = |error: std::io::Error| Failure::from(error).at(file.path.display().to_string());
    let path = std::fs::canonicalize(&file.path).map_err(named)?;
    let metadata = std::fs::metadata(&path).map_err(named)?;
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let modified = modified.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    Ok(FileState { path, byte_len: metadata.len(), modified })
}

/// Where the state of an import into an array is kept.
fn path_of(array: &str) -> Outcome<PathBuf> {
    let path = array.strip_prefix("file://").unwrap_or(array);
    if path.contains("://") {
        return Err(Failure::usage(
            "--as-it-goes is for arrays on the local disk, beside which it keeps how far it came",
        ));
    }
    let path = Path::new(path);
    let name = path.file_name().ok_or_else(|| Failure::usage(format!("{array} names no array")))?;
    Ok(path.with_file_name(format!(".{}.import.json", name.to_string_lossy())))
}
