//! Whose credentials go along with requests, for messages.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Whose credentials go along with requests: known when they were found. Clones are told the same.
#[derive(Clone, Default)]
pub(crate) struct Who(Arc<Mutex<String>>);

impl Who {
    pub(crate) fn is(&self, who: impl Into<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = who.into();
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f.write_str(if who.is_empty() { "nobody yet" } else { &who })
    }
}

impl fmt::Debug for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
