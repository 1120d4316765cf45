//! Progress of long work, on standard error when it is a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// Fast work ends before a bar is worth showing.
const DELAY: Duration = Duration::from_millis(400);

/// A bar that counts cells; nothing when standard error is no terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A bar for `what`, with the number of cells if it is known.
    pub(crate) fn new(what: &'static str, cell_count: Option<u64>) -> Self {
        if !std::io::stderr().is_terminal() {
            return Progress { bar: None };
        }
        let (bar, template) = match cell_count {
            Some(count) => {
                (ProgressBar::new(count), "{msg} {wide_bar} {human_pos} of {human_len} cells, {eta} left")
            }
            None => (ProgressBar::new_spinner(), "{spinner} {msg} {human_pos} cells, {per_sec}"),
        };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        bar.set_message(what);
        bar.enable_steady_tick(DELAY);
        Progress { bar: Some(bar) }
    }

    /// No bar, as when the cells themselves go to the terminal.
    pub(crate) fn hidden() -> Self {
        Progress { bar: None }
    }

    /// Counts cells.
    pub(crate) fn add(&self, cell_count: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(cell_count);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
