//! How far long work is, on standard error when that is a terminal: the phase, its place among the others, and how much of it is
//! done.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use smalti::{PhaseProgress, Progress, ReadStatistics, Unit};
use smalti_tools::human;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Fast work ends before a bar is worth showing.
const DELAY: Duration = Duration::from_millis(400);

/// How often a bar is drawn again.
const TICK: Duration = Duration::from_millis(100);

/// A bar that is drawn until it is dropped; nothing when standard error is no terminal.
#[derive(Debug)]
pub(crate) struct Bar {
    drawing: Option<(Arc<AtomicBool>, JoinHandle<()>)>,
}

impl Bar {
    /// Shows how far work is.
    pub(crate) fn of(progress: &Arc<Progress>) -> Self {
        if !std::io::stderr().is_terminal() {
            return Bar::hidden();
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let (progress, ended) = (Arc::clone(progress), Arc::clone(&is_over));
        let drawing = thread::Builder::new().name("progress".into()).spawn(move || draw(&progress, &ended));
        Bar { drawing: drawing.ok().map(|thread| (is_over, thread)) }
    }

    /// No bar, as when the cells themselves go to the terminal.
    pub(crate) fn hidden() -> Self {
        Bar { drawing: None }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some((is_over, thread)) = self.drawing.take() {
            is_over.store(true, Relaxed);
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn draw(progress: &Progress, is_over: &AtomicBool) {
    thread::park_timeout(DELAY);
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let mut shown = None;
    while !is_over.load(Relaxed) {
        if let Some(phase) = progress.phase() {
            if shown != Some((phase.phase, phase.part)) {
                shown = Some((phase.phase, phase.part));
                let template = match phase.total {
                    Some(_) => "{prefix} {wide_bar} {msg}, {eta} left",
                    None => "{spinner} {prefix} {msg}, {elapsed}",
                };
                bar.reset();
                bar.set_style(
                    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
                );
                bar.set_prefix(title(&phase));
            }
            match phase.total {
                Some(total) => bar.set_length(total),
                None => bar.unset_length(),
            }
            bar.set_position(phase.done);
            bar.set_message(counts(&phase, &progress.statistics()));
            bar.tick();
        }
        thread::park_timeout(TICK);
    }
    bar.finish_and_clear();
}

/// What is being done: `2/4 sorting`.
fn title(phase: &PhaseProgress) -> String {
    let place = match phase.phase_count {
        1 => String::new(),
        count => format!("{}/{count} ", phase.number),
    };
    let part = phase.part.map_or(String::new(), |(number, count)| {
        format!(", part {} of {}", human::count(number), human::count(count))
    });
    format!("{place}{}{part}", phase.phase)
}

/// How much of it is done: `1,204 of 5,000 tiles`.
fn counts(phase: &PhaseProgress, read: &ReadStatistics) -> String {
    let shown = match phase.unit {
        Unit::Bytes => human::bytes,
        _ => human::count,
    };
    let of = phase.total.map_or(String::new(), |total| format!(" of {}", shown(total)));
    let unit = match phase.unit {
        Unit::Bytes => String::new(),
        unit => format!(" {}", unit.name()),
    };
    let read = match read.byte_len {
        0 => String::new(),
        byte_len => format!(", {} read", human::bytes(byte_len)),
    };
    format!("{}{of}{unit}{read}", shown(phase.done))
}

#[cfg(test)]
mod tests {
    use super::*;
    use smalti::Phase;

    #[test]
    fn a_bar_names_the_phase_its_place_and_its_total() {
        let progress = Arc::new(Progress::new());
        let _work = progress.announce(&[Phase::Sorting]);
        progress.enter(Phase::Sorting, Unit::Cells, Some(5_000_000));
        let mut phase = progress.phase().unwrap();
        (phase.number, phase.phase_count, phase.done) = (3, 5, 1_200_000);
        let none = ReadStatistics::default();
        assert_eq!(title(&phase), "3/5 sorting");
        assert_eq!(counts(&phase, &none), "1,200,000 of 5,000,000 cells");
        let (mut read, mut merging) = (none, phase);
        read.byte_len = 3 << 20;
        (merging.phase, merging.part) = (Phase::Merging, Some((2, 3)));
        assert_eq!(title(&merging), "3/5 merging, part 2 of 3");
        assert_eq!(counts(&merging, &read), "1,200,000 of 5,000,000 cells, 3.0 MiB read");
        let mut piped = phase;
        (piped.unit, piped.total, piped.phase_count) = (Unit::Bytes, None, 1);
        assert_eq!((title(&piped), counts(&piped, &none)), ("sorting".into(), "1.1 MiB".into()));
    }
}
