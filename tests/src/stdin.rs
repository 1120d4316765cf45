//! Programs that serve until whoever started them goes.

use std::io::{Write as _, copy, sink, stdin, stdout};

/// Prints a port on a line of its own, and returns when the standard input ends.
///
/// # Errors
/// Those of the standard output.
pub fn serve_until_it_ends(port: u16) -> std::io::Result<()> {
    let mut out = stdout();
    writeln!(out, "{port}")?;
    out.flush()?;
    // An input that cannot be read has ended.
    let _ = copy(&mut stdin(), &mut sink());
    Ok(())
}
