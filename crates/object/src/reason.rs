//! Errors of the crate in a few words.

use smalti_types::Error;
use std::error::Error as StdError;

/// Messages of other programs are cut here.
const MAX_LEN: usize = 160;

/// Why an error is there, in a few words of the deepest cause.
pub(crate) fn reason(failed: &(dyn StdError + 'static)) -> String {
    let mut last = failed;
    while let Some(source) = last.source() {
        last = source;
    }
    let text = last.to_string();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_LEN).collect()
}

/// A client that cannot be made of what was set.
pub(crate) fn unopened(failed: &object_store::Error) -> Error {
    Error::invalid(format!("the store cannot be opened: {}", reason(failed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_one_short_line() {
        let failed = object_store::Error::Generic { store: "any", source: "long \n".repeat(100).into() };
        assert_eq!(reason(&failed).len(), MAX_LEN);
        assert!(!reason(&failed).contains('\n'));
    }
}
