//! The files that the AWS tools share, as sections of keys: their form is said in "Shared config and credentials files" of the AWS SDKs and Tools
//! Reference Guide.
//!
//! ```text
//! [profile dev]
//! region = eu-west-1
//! services = local
//!
//! [services local]
//! s3 =
//!   endpoint_url = http://localhost:9000
//! ```
//!
//! Lines that begin with `#` or `;` are for people. What follows an indented line's `=` belongs to the key above it. A section that comes twice is one.

use smalti_types::{Error, Result};
use std::collections::BTreeMap;

/// No such file is longer.
pub(crate) const MAX_BYTE_LEN: usize = 1 << 20;

/// The sections of a file, by what stands between the brackets, with one space between words.
#[derive(Clone, Default)]
pub(crate) struct Sections(BTreeMap<String, Section>);

/// The keys of a section, in small letters. What belongs to a key has a name of both: `s3.endpoint_url`.
pub(crate) type Section = BTreeMap<String, String>;

impl Sections {
    /// Reads a file.
    ///
    /// # Errors
    /// `InvalidArgument`, with the line. What stands there is not repeated: it may be a secret.
    pub(crate) fn read(bytes: &[u8]) -> Result<Sections> {
        if bytes.len() > MAX_BYTE_LEN {
            return Err(Error::invalid(format!(
                "it has more than {MAX_BYTE_LEN} bytes: these are no profiles"
            )));
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut sections = Sections::default();
        let (mut section, mut parent): (Option<String>, Option<String>) = (None, None);
        for (idx, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let wrong = |what: &str| Error::invalid(format!("line {}: {what}", idx + 1));
            let line = std::str::from_utf8(line).map_err(|_| wrong("this is no text in UTF-8"))?;
            let is_indented = line.starts_with([' ', '\t']);
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(rest) = line.strip_prefix('[').filter(|_| !is_indented) {
                let (name, _) = rest.split_once(']').ok_or_else(|| wrong("the bracket is not closed"))?;
                let name = name_of(name);
                sections.0.entry(name.clone()).or_default();
                (section, parent) = (Some(name), None);
                continue;
            }
            let pair =
                line.split_once('=').map(|(key, value)| (key.trim().to_ascii_lowercase(), value.trim()));
            let keys = section.as_ref().and_then(|name| sections.0.get_mut(name));
            match (pair, keys) {
                (_, None) => return Err(wrong("a [profile] has to come first")),
                (Some((key, value)), Some(keys)) if is_indented && parent.is_some() => {
                    let parent = parent.as_deref().unwrap_or_default();
                    keys.insert(format!("{parent}.{key}"), value.to_owned());
                }
                // A value that goes on: no key that is asked for has such.
                (None, Some(_)) if is_indented => {}
                (None, Some(_)) => return Err(wrong("write `key = value`")),
                (Some((key, value)), Some(keys)) => {
                    parent = value.is_empty().then(|| key.clone());
                    keys.insert(key, value.to_owned());
                }
            }
        }
        Ok(sections)
    }

    pub(crate) fn section(&self, name: &str) -> Option<&Section> {
        self.0.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Words of a name may be quoted, and stand apart.
fn name_of(text: &str) -> String {
    let unquoted = text.replace(['"', '\''], "");
    unquoted.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl std::fmt::Debug for Sections {
    /// The names alone: values may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\u{feff}# mine\n[default]\nRegion = us-west-2\r\n\n[ profile  \"dev one\" ] ; spare\nregion=eu-west-1\n\
                        s3 =\n  endpoint_url = http://localhost:9000\n  max = 1\n; note\nservices = local\n  goes on\n\
                        [default]\noutput = json\nempty =\n";

    #[test]
    fn sections_have_keys_and_keys_of_keys() {
        let sections = Sections::read(FILE.as_bytes()).unwrap();
        assert_eq!(sections.names().collect::<Vec<_>>(), ["default", "profile dev one"]);
        let value = |section: &str, key: &str| sections.section(section).unwrap().get(key).cloned();
        assert_eq!(value("default", "region").unwrap(), "us-west-2");
        assert_eq!(value("default", "output").unwrap(), "json");
        assert_eq!(value("default", "empty").unwrap(), "");
        assert_eq!(value("profile dev one", "s3.endpoint_url").unwrap(), "http://localhost:9000");
        assert_eq!(value("profile dev one", "s3.max").unwrap(), "1");
        assert_eq!(value("profile dev one", "services").unwrap(), "local");
        assert_eq!(value("profile dev one", "max"), None);
    }

    #[test]
    fn what_is_wrong_is_told_by_its_line_and_not_repeated() {
        for (text, line) in
            [("hush", 1), ("[a]\nhush", 2), ("[a\nhush=1", 1), ("x=hush", 1), ("[a]\n\nhush hush", 3)]
        {
            let told = Sections::read(text.as_bytes()).unwrap_err().to_string();
            assert!(told.contains(&format!("line {line}")) && !told.contains("hush"), "{text:?}: {told}");
        }
        assert!(Sections::read(b"[a]\nb = \xff").unwrap_err().to_string().contains("line 2"));
        assert!(Sections::read(&vec![b'\n'; MAX_BYTE_LEN + 1]).is_err());
        let sections = Sections::read(b"[a]\nkey = hush").unwrap();
        assert!(!format!("{sections:?}").contains("hush"));
    }

    #[test]
    fn files_of_any_bytes_are_sections_or_errors() {
        let mut random = 1_u64;
        let mut next = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(random >> 33).unwrap() % below
        };
        let pieces: [&[u8]; 12] =
            [b"[", b"]", b"=", b"\n", b" ", b"\t", b"#", b"\"", b"\xff", b"\xc3", b"profile", b"\0"];
        for _ in 0..5000 {
            let bytes: Vec<u8> = (0..next(40)).flat_map(|_| pieces[next(pieces.len())].to_vec()).collect();
            let _ = Sections::read(&bytes);
        }
        let mut bytes = FILE.as_bytes().to_vec();
        for _ in 0..5000 {
            let at = next(bytes.len());
            bytes[at] = u8::try_from(next(256)).unwrap();
            let _ = Sections::read(&bytes);
        }
    }
}
