//! What the demo says: lines for people, or one JSON object for programs.

use serde_json::{Map, Value};
use smalti_tools::human;
use std::time::{Duration, Instant};

/// Collects what the demo did.
#[derive(Debug)]
pub(super) struct Report {
    is_json: bool,
    facts: Map<String, Value>,
}

impl Report {
    pub(super) fn new(is_json: bool) -> Self {
        Report { is_json, facts: Map::new() }
    }

    /// A heading.
    pub(super) fn title(&mut self, title: &str) {
        self.line(format!("\n{title}"));
    }

    /// A line for people.
    pub(super) fn line(&mut self, line: String) {
        if !self.is_json {
            println!("{line}");
        }
    }

    /// A step that took some time.
    pub(super) fn step(&mut self, what: String, since: Instant) -> Duration {
        let elapsed = since.elapsed();
        self.line(format!("   {what:<72}{:>9}", human::duration(elapsed)));
        elapsed
    }

    /// A number for programs.
    pub(super) fn fact(&mut self, name: &str, value: Value) {
        self.facts.insert(name.into(), value);
    }

    /// Prints what was collected for programs.
    pub(super) fn finish(self) {
        if self.is_json {
            println!("{}", Value::Object(self.facts));
        }
    }
}
