//! What commands end with.

/// Nothing, or one line that says what failed.
pub(crate) type Outcome = Result<(), String>;
