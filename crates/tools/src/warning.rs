//! Warnings: what people should know although the work goes on.

use std::fmt;

/// What people should know about an array, a group or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What it is about.
    pub uri: String,
    /// What there is to know.
    pub message: String,
}

impl Warning {
    /// A warning about an array, a group or a file.
    pub fn new(uri: impl Into<String>, message: impl fmt::Display) -> Self {
        Warning { uri: uri.into(), message: message.to_string() }
    }
}

/// Takes warnings, each when it comes up.
pub type Warn<'a> = dyn Fn(Warning) + Send + Sync + 'a;
