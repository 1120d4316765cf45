//! Writes the pages of `docs/format` into a folder.
//!
//! `cargo run -p smalti-format --example format_pages docs/format`

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: format_pages DIR");
        std::process::exit(2);
    };
    std::fs::create_dir_all(&folder)?;
    for (name, text) in smalti_format::pages() {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}
