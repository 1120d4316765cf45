//! Options that every command takes.

use super::time::{TIME, parse_time};
use crate::failure::{Failure, Outcome};
use clap::{ArgAction, Args, ValueEnum};
use smalti::storage::Settings;
use smalti::{EncryptionKey, TimeRange};
use smalti_tools::When;
use smalti_tools::formats::read_bounded;
use std::path::PathBuf;

/// A key is at most 64 digits and the end of a line.
const MAX_KEY_FILE_BYTE_LEN: u64 = 4096;

/// The environment variable that holds an encryption key.
const KEY_VARIABLE: &str = "SMALTI_KEY";

/// Options that every command takes.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Global {
    /// Print JSON for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Memory budget of an operation, such as 64MiB or 2GiB
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_byte_len)]
    pub(crate) memory: Option<u64>,
    /// The most that one part of an array's metadata may take, such as a schema or a list of tiles: less for arrays of strangers,
    /// more to check fragments of a hundred million tiles [default: 1GiB]
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_byte_len)]
    pub(crate) metadata_limit: Option<u64>,
    /// Number of threads to work with
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// How durable writes are: survive a power cut, survive a crash of the program, or neither
    #[arg(long, global = true, value_name = "LEVEL", default_value = "full")]
    pub(crate) sync: Sync,
    /// Encryption key: 64 hexadecimal digits or 32 characters (better: --key-file or SMALTI_KEY, which other users
    /// of the machine cannot see)
    #[arg(
        id = "encryption-key",
        long = "key",
        global = true,
        value_name = "HEX_OR_TEXT",
        conflicts_with = "key_file"
    )]
    pub(crate) key: Option<String>,
    /// File that holds the encryption key: 32 bytes, or one line as for --key
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Setting of object stores and the network, such as s3.region=eu-west-1; may be repeated. `smalti config` lists them
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub(crate) config: Vec<String>,
    /// Folder that keeps what is read of arrays in buckets and on servers, for later runs too: 10 GiB at most (cache.size)
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Print help; `-h` in short
    #[arg(short, long, global = true, action = ArgAction::Help)]
    help: Option<bool>,
    /// Print the version
    #[arg(short = 'V', long, global = true, action = ArgAction::Version)]
    version: Option<bool>,
}

/// How durable writes are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sync {
    /// An acknowledged write survives a power cut.
    #[default]
    Full,
    /// Files are made durable, folders are not.
    File,
    /// The system decides.
    None,
}

/// Between which times an array is opened.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct OpenTimes {
    /// Open the array as it was at this time: 2024-05-01 (to the end of the day), 2024-05-01T14:00+02:00 (UTC without a zone),
    /// -1h, -2d, yesterday, the name of a fragment, or milliseconds since 1970
    #[arg(long, value_name = TIME, value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) at: Option<When>,
    /// Leave out what was written before this time, written as for --at; a day counts from its start
    #[arg(long, value_name = TIME, value_parser = parse_time, allow_hyphen_values = true)]
    pub(crate) since: Option<When>,
}

impl OpenTimes {
    /// Up to a time.
    pub(crate) fn until(at: Option<When>) -> Self {
        OpenTimes { at, since: None }
    }

    /// In milliseconds since 1970.
    pub(crate) fn range(self) -> TimeRange {
        TimeRange { start: self.since.map_or(0, When::start), end: self.at.map_or(u64::MAX, When::end) }
    }
}

impl Global {
    /// What object stores and the network are set to: by the command line, the environment and the file of settings.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn settings(&self) -> Outcome<Settings> {
        let mut settings = Settings::from_env()?;
        // Not while the command line is read: what is said of that repeats the values.
        for text in &self.config {
            let (name, value) =
                text.split_once('=').ok_or_else(|| Failure::usage("write --config KEY=VALUE"))?;
            settings
                .set(name, value)
                .map_err(|error| Failure::usage(format!("--config: {}", error.message())))?;
        }
        if let Some(folder) = &self.cache {
            let folder = folder
                .to_str()
                .ok_or_else(|| Failure::usage("--cache: the path of the folder is no UTF-8"))?;
            settings.set("cache.folder", folder)?;
        }
        Ok(settings)
    }

    /// The encryption key of `--key`, `--key-file` or the environment.
    ///
    /// # Errors
    /// When the file cannot be read, or the key has neither 32 bytes nor 64 hexadecimal digits.
    pub(crate) fn encryption_key(&self) -> Outcome<Option<EncryptionKey>> {
        if let Some(text) = &self.key {
            return key_of(text.as_bytes(), "--key").map(Some);
        }
        if let Some(path) = &self.key_file {
            let content = read_bounded(path, MAX_KEY_FILE_BYTE_LEN, "the file of a key")
                .map_err(|failure| failure.at(path.display().to_string()))?;
            return key_of(&content, "--key-file").map(Some);
        }
        match std::env::var_os(KEY_VARIABLE) {
            Some(text) if !text.is_empty() => key_of(text.as_encoded_bytes(), KEY_VARIABLE).map(Some),
            _ => Ok(None),
        }
    }
}

/// A key of 32 bytes, or of one line with 64 hexadecimal digits or 32 bytes. Messages do not repeat it.
fn key_of(content: &[u8], source: &str) -> Outcome<EncryptionKey> {
    let line = content.strip_suffix(b"\n").unwrap_or(content);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let decoded = std::str::from_utf8(line).ok().and_then(smalti_tools::cells::hex::decode);
    let candidates = [Some(content), Some(line), decoded.as_deref()];
    let bytes = candidates.into_iter().flatten().find(|bytes| bytes.len() == EncryptionKey::BYTE_LEN);
    let bytes = bytes.ok_or_else(|| {
        Failure::usage(format!(
            "the key of {source} has {} bytes; give 64 hexadecimal digits or {} bytes",
            line.len(),
            EncryptionKey::BYTE_LEN
        ))
    })?;
    Ok(EncryptionKey::new(bytes)?)
}

/// A number of bytes with or without a unit: 4096, 64KiB, 64MiB, 2GiB, 1TiB; K, M, G and T mean the same.
pub(super) fn parse_byte_len(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let shift = match text[digits.len()..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "t" | "tib" => 40,
        unit => return Err(format!("unknown unit {unit:?}; use KiB, MiB, GiB or TiB")),
    };
    let number: u64 = digits.parse().map_err(|_| "write it like 64MiB or 2GiB".to_string())?;
    number.checked_mul(1 << shift).filter(|&byte_len| byte_len > 0).ok_or_else(|| "out of range".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_byte_len("4096"), Ok(4096));
        assert_eq!(parse_byte_len("64MiB"), Ok(64 << 20));
        assert_eq!(parse_byte_len("2 g"), Ok(2 << 30));
        assert!(parse_byte_len("2 apples").unwrap_err().contains("apples"));
        assert!(parse_byte_len("99999999999TiB").is_err());
        assert!(parse_byte_len("0").is_err());
        assert!(parse_byte_len("é").is_err());
    }

    #[test]
    fn keys_are_hexadecimal_or_32_bytes_and_never_shown() {
        let text = "0123456789abcdef0123456789abcdef";
        assert_eq!(key_of(text.as_bytes(), "--key").unwrap().expose(), text.as_bytes());
        assert_eq!(key_of(format!("{text}\r\n").as_bytes(), "f").unwrap().expose(), text.as_bytes());
        assert_eq!(key_of("ab".repeat(32).as_bytes(), "--key").unwrap().expose(), &[0xab; 32]);
        let failure = key_of(b"secret", "--key").unwrap_err();
        assert!(!failure.to_string().contains("secret"), "{failure}");
    }
}
