//! Progress of long work, on standard error when it is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::Cell;
use std::io::{IsTerminal, Read};
use std::time::Duration;

/// Fast work ends before a bar is worth showing.
const DELAY: Duration = Duration::from_millis(400);

/// How often a bar is drawn again.
const TICK: Duration = Duration::from_millis(100);

/// A bar that counts cells; nothing when standard error is no terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    /// Whether the work has taken long enough for the bar to be seen.
    is_shown: Cell<bool>,
}

impl Progress {
    /// A bar for `what`, with the number of cells if it is known.
    pub(crate) fn new(what: &'static str, cell_count: Option<u64>) -> Self {
        let template = match cell_count {
            Some(_) => "{msg} {wide_bar} {human_pos} of {human_len} cells, {eta} left",
            None => "{spinner} {msg} {human_pos} cells, {elapsed}",
        };
        Progress::with_template(what, cell_count, template)
    }

    /// A bar that counts bytes of input, with their number if it is known.
    pub(crate) fn of_bytes(what: &'static str, byte_len: Option<u64>) -> Self {
        let template = match byte_len {
            Some(_) => "{msg} {wide_bar} {bytes} of {total_bytes}, {eta} left",
            None => "{spinner} {msg} {bytes}, {elapsed}",
        };
        Progress::with_template(what, byte_len, template)
    }

    /// A bar that counts steps of work, whose number is not known.
    pub(crate) fn of_steps(what: &'static str, unit: &str) -> Self {
        let template = format!("{{spinner}} {{msg}} {{human_pos}} {unit}, {{elapsed}}");
        Progress::with_template(what, None, &template)
    }

    /// The same input, which counts the bytes that are read of it.
    pub(crate) fn wrap<R: Read>(self, input: R) -> Counted<R> {
        Counted { input, progress: self }
    }

    fn with_template(what: &'static str, len: Option<u64>, template: &str) -> Self {
        if !std::io::stderr().is_terminal() {
            return Progress { bar: None, is_shown: Cell::new(false) };
        }
        let bar = len.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        bar.set_draw_target(ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style);
        bar.set_message(what);
        Progress { bar: Some(bar), is_shown: Cell::new(false) }
    }

    /// No bar, as when the cells themselves go to the terminal.
    pub(crate) fn hidden() -> Self {
        Progress { bar: None, is_shown: Cell::new(false) }
    }

    /// Counts cells, or bytes.
    pub(crate) fn add(&self, count: u64) {
        let Some(bar) = &self.bar else { return };
        bar.inc(count);
        if !self.is_shown.get() && bar.elapsed() > DELAY {
            self.is_shown.set(true);
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(TICK);
        }
    }
}

/// Input whose bytes are counted.
#[derive(Debug)]
pub(crate) struct Counted<R> {
    input: R,
    progress: Progress,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let byte_len = self.input.read(buf)?;
        self.progress.add(byte_len as u64);
        Ok(byte_len)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
