//! What to try after the demo: lines for a shell that work as they are printed.

use super::place::Place;
use super::report::Report;
use crate::args::Global;
use smalti::storage::KEYS;
use std::path::Path;

/// Prints the lines; `first_write` is the time of the first write of the places, in milliseconds since 1970.
pub(super) fn tell(global: &Global, place: &Place<'_>, first_write: u64, report: &mut Report) {
    let program = shell_word(&std::env::args().next().unwrap_or_else(|| "smalti".into()));
    let (settings, secrets) = repeated(&global.config, global.cache.as_deref());
    let array = |name: &str| shell_word(&place.array(name));
    let file = |name: &str| shell_word(&place.file(name));
    report.line("\nTry next:".into());
    for variable in secrets {
        report.line(format!("  (with {variable} set: secrets are not printed)"));
    }
    for (command, purpose) in [
        (format!("info {}", array("elevation")), "what is in an array"),
        (format!("fragments {}", array("cities")), "its fragments"),
        (format!("read {} --range lat=48.8:48.9 --range lon=2.2:2.5", array("cities")), "Paris and around"),
        (
            format!(
                "read {} --range row=660:780 --range col=3000:3300 --select elevation -o {}",
                array("elevation"),
                file("himalaya.npy")
            ),
            "the Himalaya for NumPy",
        ),
        (
            format!(
                "read {} --range lat=34:61 --range lon=-12:34 -o {}",
                array("cities"),
                file("europe.parquet")
            ),
            "Europe for pandas, DuckDB, Polars",
        ),
        (
            format!(
                "read {} --at {first_write} --select name,country --format csv --limit 5",
                array("cities")
            ),
            "as of the first write",
        ),
        (format!("schema {} --json", array("cities")), "a schema to create your own array from"),
        (format!("meta {}", array("elevation")), "what the numbers mean"),
    ] {
        report.line(format!("  {program} {command}{settings}\n      {purpose}"));
    }
}

/// The settings of this command as options for the next, and the variables for those that are secret.
fn repeated(config: &[String], cache: Option<&Path>) -> (String, Vec<String>) {
    let (mut options, mut variables) = (String::new(), Vec::new());
    for setting in config {
        let name = setting.split_once('=').map_or(setting.as_str(), |(name, _)| name);
        match KEYS.iter().find(|key| key.name == name && key.is_secret()) {
            Some(key) => variables.push(key.own_variable()),
            None => options.push_str(&format!(" --config {}", shell_word(setting))),
        }
    }
    if let Some(folder) = cache {
        options.push_str(&format!(" --cache {}", shell_word(&folder.display().to_string())));
    }
    (options, variables)
}

/// A word that a shell takes as it is.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:=@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell_where_needed() {
        assert_eq!(shell_word("target/release/smalti"), "target/release/smalti");
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
    }

    #[test]
    fn settings_are_repeated_and_secrets_named() {
        let config =
            ["s3.endpoint=http://127.0.0.1:9000", "s3.secret_access_key=hush", "network.timeout=10 s"];
        let config = config.map(str::to_owned);
        let (options, variables) = repeated(&config, Some(Path::new("kept here")));
        assert_eq!(
            options,
            " --config s3.endpoint=http://127.0.0.1:9000 --config 'network.timeout=10 s' --cache 'kept here'"
        );
        assert_eq!(variables, ["SMALTI_S3_SECRET_ACCESS_KEY"]);
    }
}
