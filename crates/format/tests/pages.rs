//! The committed pages are what the tables say.

use std::path::Path;

#[test]
fn the_pages_of_the_format_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/format");
    for (name, text) in smalti_format::pages() {
        let committed = std::fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert!(committed == text, "docs/format/{name} is out of date: `cargo xtask docs` writes it anew");
    }
}
