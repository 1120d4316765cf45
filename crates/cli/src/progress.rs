//! Progress of long work, on standard error when it is a terminal.

use crate::human;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use smalti::ReadProgress;
use std::fmt::Write;
use std::io::{IsTerminal, Read};
use std::sync::Arc;
use std::time::Duration;

/// Fast work ends before a bar is worth showing.
const DELAY: Duration = Duration::from_millis(400);

/// How often a bar is drawn again.
const TICK: Duration = Duration::from_millis(100);

/// A bar that counts cells; nothing when standard error is no terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A bar for rows of input, with their number if it is known.
    pub(crate) fn new(what: &'static str, cell_count: Option<u64>) -> Self {
        let template = match cell_count {
            Some(_) => "{msg} {wide_bar} {human_pos} of {human_len} cells, {eta} left",
            None => "{spinner} {msg} {human_pos} cells, {elapsed}",
        };
        Progress::with_template(what, cell_count, template, None)
    }

    /// A bar for cells that are handed on, with their number if it is known, beside what was read for them.
    pub(crate) fn of_read(cell_count: Option<u64>, read: &Arc<ReadProgress>) -> Self {
        let template = match cell_count {
            Some(_) => "{msg} {wide_bar} {human_pos} of {human_len} cells, {read}, {eta} left",
            None => "{spinner} {msg} {human_pos} cells, {read}, {elapsed}",
        };
        Progress::with_template("reading", cell_count, template, Some(Arc::clone(read)))
    }

    /// As [`of_read`](Progress::of_read), where cells are not handed on.
    pub(crate) fn of_work(what: &'static str, read: &Arc<ReadProgress>) -> Self {
        Progress::with_template(what, None, "{spinner} {msg} {read}, {elapsed}", Some(Arc::clone(read)))
    }

    /// A bar that counts bytes of input, with their number if it is known.
    pub(crate) fn of_bytes(what: &'static str, byte_len: Option<u64>) -> Self {
        let template = match byte_len {
            Some(_) => "{msg} {wide_bar} {bytes} of {total_bytes}, {eta} left",
            None => "{spinner} {msg} {bytes}, {elapsed}",
        };
        Progress::with_template(what, byte_len, template, None)
    }

    /// A bar that counts steps of work, whose number is not known.
    pub(crate) fn of_steps(what: &'static str, unit: &str) -> Self {
        let template = format!("{{spinner}} {{msg}} {{human_pos}} {unit}, {{elapsed}}");
        Progress::with_template(what, None, &template, None)
    }

    /// The same input, which counts the bytes that are read of it.
    pub(crate) fn wrap<R: Read>(self, input: R) -> Counted<R> {
        Counted { input, progress: self }
    }

    fn with_template(
        what: &'static str,
        len: Option<u64>,
        template: &str,
        read: Option<Arc<ReadProgress>>,
    ) -> Self {
        if !std::io::stderr().is_terminal() {
            return Progress { bar: None };
        }
        let bar = len.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        bar.set_draw_target(ProgressDrawTarget::hidden());
        let mut style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        if let Some(read) = read {
            style = style.with_key("read", move |_: &ProgressState, out: &mut dyn Write| {
                let statistics = read.statistics();
                let (bytes, tiles) = (human::bytes(statistics.byte_len), human::count(statistics.tile_count));
                let _ = match statistics.planned_tile_count {
                    0 => write!(out, "{bytes} in {tiles} tiles"),
                    planned => write!(out, "{bytes} in {tiles} of {} tiles", human::count(planned)),
                };
            });
        }
        bar.set_style(style);
        bar.set_message(what);
        let delayed = bar.clone();
        std::thread::spawn(move || {
            std::thread::sleep(DELAY);
            if !delayed.is_finished() {
                delayed.set_draw_target(ProgressDrawTarget::stderr());
                delayed.enable_steady_tick(TICK);
            }
        });
        Progress { bar: Some(bar) }
    }

    /// No bar, as when the cells themselves go to the terminal.
    pub(crate) fn hidden() -> Self {
        Progress { bar: None }
    }

    /// Counts cells, or bytes.
    pub(crate) fn add(&self, count: u64) {
        if let Some(bar) = &self.bar {
            bar.inc(count);
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
