//! Configuration: keys and values, where values come from, what they take.
//!
//! What a program set goes before the environment, that before the profile, and that before defaults. Values of a file count as
//! defaults, and are not checked.

mod entries;
mod keys;

use crate::boundary::handle::kinds;
use crate::failure::{Failure, Fallible, fail};
use keys::{KEYS, SECRETS, Takes};
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

/// A configuration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    values: BTreeMap<String, String>,
    set: BTreeSet<String>,
}

/// A walk over keys that begin alike.
#[derive(Debug)]
pub(crate) struct ConfigIter {
    rows: Vec<(String, String)>,
    at: usize,
}

kinds! { Config => "configuration", ConfigIter => "configuration iterator" }

impl Default for Config {
    fn default() -> Config {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let value = |default: &str| match default {
            "#" => processors.to_string(),
            _ => default.to_owned(),
        };
        let values = KEYS.iter().map(|(key, default, _)| ((*key).to_owned(), value(default)));
        Config { values: values.collect(), set: BTreeSet::new() }
    }
}

impl Config {
    /// Sets a key, after a check of the value.
    pub(crate) fn set(&mut self, key: &str, value: &str) -> Fallible<()> {
        check(key, value)?;
        self.values.insert(key.to_owned(), value.to_owned());
        self.set.insert(key.to_owned());
        Ok(())
    }

    /// Takes a key back to its default.
    pub(crate) fn unset(&mut self, key: &str) {
        match Config::default().values.remove(key) {
            Some(default) => self.values.insert(key.to_owned(), default),
            None => self.values.remove(key),
        };
        self.set.remove(key);
    }

    /// The value that holds for a key.
    pub(crate) fn get(&self, key: &str) -> Option<String> {
        self.find(key).ok().flatten()
    }

    /// The value that holds for a key; a profile that was named and cannot be read is told.
    pub(crate) fn find(&self, key: &str) -> Fallible<Option<String>> {
        let stored = self.values.get(key);
        if let Some(value) = stored.filter(|_| self.set.contains(key)) {
            return Ok(Some(value.clone()));
        }
        let has_region =
            || ["AWS_REGION", "AWS_DEFAULT_REGION"].iter().any(|name| std::env::var_os(name).is_some());
        if key == "vfs.s3.region" && has_region() {
            return Ok(Some(String::new()));
        }
        let prefix = self.values.get("config.env_var_prefix").map_or("", String::as_str);
        let variable = format!("{prefix}{}", key.to_uppercase().replace('.', "_"));
        if let Ok(value) = std::env::var(variable) {
            return Ok(Some(value));
        }
        let from_profile = match key.starts_with("profile") {
            true => None,
            false => crate::profile::value(&self.own("profile_name"), &self.own("profile_dir"), key)?,
        };
        Ok(from_profile.or_else(|| stored.cloned()))
    }

    /// The value that holds for a key, empty where there is none.
    pub(crate) fn own(&self, key: &str) -> String {
        self.get(key).unwrap_or_default()
    }

    /// The value of a key as a number or the like.
    pub(crate) fn parse<T: FromStr>(&self, key: &str) -> Fallible<T> {
        let value = self.own(key);
        value.parse().map_err(|_| {
            let kind = match std::any::type_name::<T>() {
                "f32" => "float32_t",
                "u32" => "uint32_t",
                _ => "uint64_t",
            };
            let shown = if kind == "float32_t" { String::new() } else { format!("'{value}' ") };
            Failure::told(
                "Config",
                format!(
                    "Failed to parse config value '{value}' for key '{key}'. Reason: [TileDB::Utils] Error: Failed to convert string {shown}to {kind}; Invalid argument"
                ),
            )
        })
    }

    /// Whether a key says yes.
    pub(crate) fn flag(&self, key: &str) -> Fallible<bool> {
        self.own(key).to_lowercase().parse().map_err(|_| {
            Failure::told(
                "Config",
                format!("Failed to parse config value '{}' for key '{key}'", self.own(key)),
            )
        })
    }

    /// Whether a program, a file or the environment gave the key another value than its default.
    pub(crate) fn differs(&self, key: &str) -> bool {
        let default = Config::default();
        self.get(key).as_deref() != default.values.get(key).map(String::as_str)
    }

    /// Whether object stores are set up alike in both.
    pub(crate) fn same_stores(&self, other: &Config) -> bool {
        let of_stores = |key: &&String| key.starts_with("vfs.") || key.starts_with("ssl.");
        let keys = self.values.keys().chain(other.values.keys()).filter(of_stores);
        keys.into_iter().all(|key| self.get(key) == other.get(key))
    }

    /// These settings over those of `below`: what was set in either.
    pub(crate) fn over(&self, below: &Config) -> Config {
        let mut merged = below.clone();
        for key in &self.set {
            if let Some(value) = self.values.get(key) {
                merged.values.insert(key.clone(), value.clone());
                merged.set.insert(key.clone());
            }
        }
        merged
    }

    /// Adds the lines of a file, `key value` each.
    fn load(&mut self, file: &str) -> Fallible<()> {
        if file.is_empty() {
            return fail("Config", "Cannot load from file; File path is empty");
        }
        let text = std::fs::read_to_string(file)
            .map_err(|_| Failure::told("Config", format!("Failed to open config file '{file}'")))?;
        for (number, line) in text.lines().enumerate() {
            let mut words = line.split_whitespace();
            let Some(key) = words.next().filter(|key| !key.starts_with('#')) else { continue };
            let bad = |what: &str| {
                let message = format!("Failed to parse config file '{file}'; {what} (line: {number})");
                Failure::told("Config", message)
            };
            let value = words.next().ok_or_else(|| bad("Missing parameter value"))?;
            if words.next().is_some_and(|more| !more.starts_with('#')) {
                return Err(bad("Invalid line format"));
            }
            self.values.insert(key.to_owned(), value.to_owned());
        }
        Ok(())
    }

    /// Writes what is not empty to a file, but for secrets.
    fn save(&self, file: &str) -> Fallible<()> {
        if file.is_empty() {
            return fail("Config", "Cannot load from file; File path is empty");
        }
        let is_shown =
            |(key, value): &(&String, &String)| !SECRETS.contains(&key.as_str()) && !value.is_empty();
        let lines = self.values.iter().filter(is_shown).map(|(key, value)| format!("{key} {value}\n"));
        std::fs::write(file, lines.collect::<String>())
            .map_err(|_| Failure::told("Config", format!("Failed to open config file '{file}' for writing")))
    }

    /// What an iteration over keys with a prefix shows; the prefix is cut off.
    fn rows(&self, prefix: &str) -> Vec<(String, String)> {
        let rows = self.values.keys().filter_map(|key| {
            let rest = key.strip_prefix(prefix)?;
            Some((rest.to_owned(), self.get(key).unwrap_or_default()))
        });
        rows.collect()
    }
}

fn check(key: &str, value: &str) -> Fallible<()> {
    let Some((_, _, takes)) = KEYS.iter().find(|(name, _, _)| *name == key) else { return Ok(()) };
    let refused = |what: String| fail("[TileDB::Utils] Error", format!("Failed to convert string {what}"));
    let bad = |kind: &str| refused(format!("'{value}' to {kind}; Invalid argument"));
    match takes {
        Takes::Flag if !matches!(value.to_lowercase().as_str(), "true" | "false") => {
            refused("to bool; Value not 'true' or 'false'".to_owned())
        }
        Takes::Whole if value.parse::<u64>().is_err() => bad("uint64_t"),
        Takes::Small if value.parse::<u32>().is_err() => bad("uint32_t"),
        Takes::Signed if value.parse::<i64>().is_err() => bad("int64_t"),
        Takes::Real if value.parse::<f32>().is_err() => refused("to float32_t; Invalid argument".to_owned()),
        Takes::OneOf(words) if !words.contains(&value) => match key {
            "config.logging_format" => fail("Config", "Invalid logging format parameter value"),
            "sm.var_offsets.mode" => fail("Config", "Invalid offsets format parameter value"),
            "vfs.s3.scheme" => fail("Config", "Invalid S3 scheme parameter value"),
            _ => fail("Config", format!("Invalid value '{value}' of parameter '{key}'")),
        },
        _ => Ok(()),
    }
}
