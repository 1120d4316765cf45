//! Profiles: named sets of parameters in a file of the user's.

use crate::boundary::entry::{error_entries, free_entries};
use crate::boundary::handle::kinds;
use crate::boundary::{In, New, Text};
use crate::failure::{Failure, Fallible, fail};
use crate::text::ErrorText;
use crate::text::TextHandle;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A profile.
#[derive(Debug)]
pub(crate) struct Profile {
    name: String,
    dir: String,
    params: BTreeMap<String, String>,
}

kinds! { Profile => "profile" }

const ORIGIN: &str = "RestProfile";

/// The name of a profile that has none, and of the file.
const DEFAULT_NAME: &str = "default";
const FILE: &str = "profiles.json";
const VERSION: u64 = 1;

fn with_slash(dir: &str) -> String {
    if dir.ends_with('/') { dir.to_owned() } else { format!("{dir}/") }
}

fn home_dir(subject: &str) -> Fallible<String> {
    match std::env::var("HOME") {
        Ok(home) if !home.is_empty() => Ok(with_slash(&format!("{}.tiledb", with_slash(&home)))),
        _ => fail(ORIGIN, format!("Failed to create {subject}; $HOME is not set.")),
    }
}

impl Profile {
    fn new(name: Option<&str>, dir: Option<&str>) -> Fallible<Profile> {
        let name = name.filter(|name| !name.is_empty()).unwrap_or(DEFAULT_NAME);
        let dir = match (dir.filter(|dir| !dir.is_empty()), std::env::var("TILEDB_PROFILE_DIR")) {
            (Some(dir), _) => with_slash(dir),
            (None, Ok(dir)) => with_slash(&dir),
            (None, Err(_)) => home_dir("RestProfile")?,
        };
        Ok(Profile { name: name.to_owned(), dir, params: BTreeMap::new() })
    }

    fn file(&self) -> PathBuf {
        PathBuf::from(format!("{}{FILE}", self.dir))
    }

    fn load(&mut self) -> Fallible<()> {
        let file = self.file();
        if !file.exists() {
            return fail(ORIGIN, "Failed to load profile; file does not exist.");
        }
        let data = read(&file)?;
        let Some(found) = data.get(&self.name).and_then(Value::as_object) else {
            return fail(ORIGIN, format!("Failed to load profile; profile '{}' does not exist.", self.name));
        };
        let rows = found.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        self.params.extend(rows);
        Ok(())
    }

    fn save(&self, overwrites: bool) -> Fallible<()> {
        if self.params.contains_key("rest.username") != self.params.contains_key("rest.password") {
            return fail(
                ORIGIN,
                "Failed to save profile: 'rest.username' and 'rest.password' must either both be set or both remain \
                 unset. Mixing a default username with a custom password (or vice versa) is not allowed.",
            );
        }
        let told = |error: std::io::Error| Failure::told(ORIGIN, format!("Failed to write file: {error}"));
        std::fs::create_dir_all(&self.dir).map_err(told)?;
        let file = self.file();
        let is_empty = std::fs::metadata(&file).map_or(true, |found| found.len() == 0);
        let mut data = if is_empty { Map::new() } else { read(&file)? };
        if data.is_empty() {
            data.insert("version".into(), json!(VERSION));
        } else if data.get("version").and_then(Value::as_u64).unwrap_or(0) < VERSION {
            return fail(ORIGIN, "The version of your local profile.json file is out of date.");
        }
        if data.contains_key(&self.name) && !overwrites {
            let words = "This profile already exists. Use the overwrite parameter to replace it.";
            return fail(ORIGIN, format!("Failed to save '{}'; {words}", self.name));
        }
        data.insert(self.name.clone(), self.json());
        write(&file, &data)
    }

    fn json(&self) -> Value {
        match self.params.is_empty() {
            true => Value::Null,
            false => json!(self.params),
        }
    }
}

fn read(file: &PathBuf) -> Fallible<Map<String, Value>> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let parsed = serde_json::from_str(&text);
    parsed.map_err(|_| Failure::told(ORIGIN, format!("Error parsing file '{}'.", file.display())))
}

/// Writes the file anew beside itself, and puts it in its place.
fn write(file: &PathBuf, data: &Map<String, Value>) -> Fallible<()> {
    let sorted: BTreeMap<_, _> = data.iter().collect();
    let text = serde_json::to_string_pretty(&sorted).unwrap_or_default();
    let beside = file.with_extension(format!("json.{}", std::process::id()));
    let done = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, file));
    done.map_err(|error| {
        Failure::told(ORIGIN, format!("Failed to write file '{}' due to an error: {error}", file.display()))
    })
}

/// What a profile says of a key; one that has neither a name nor a folder need not be there.
pub(crate) fn value(name: &str, dir: &str, key: &str) -> Fallible<Option<String>> {
    let is_named = !name.is_empty() || !dir.is_empty();
    let loaded = Profile::new(Some(name), Some(dir)).and_then(|mut profile| {
        if is_named || profile.file().exists() {
            profile.load()?;
        }
        Ok(profile)
    });
    match loaded {
        Ok(profile) => Ok(profile.params.get(key).cloned()),
        Err(_) if is_named => fail(
            "Config",
            "Failed to load the REST profile. Please check the profile name and directory parameters.",
        ),
        Err(_) => Ok(None),
    }
}

error_entries! {
    fn tiledb_profile_alloc(name: Text, dir: Text, profile: New<Profile>; error) {
        profile.check()?;
        profile.put(Profile::new(name.optional()?, dir.optional()?)?)
    }

    fn tiledb_profile_get_name(profile: In<Profile>, name: New<TextHandle>; error) {
        name.put(TextHandle(profile.read()?.name.clone()))
    }

    fn tiledb_profile_get_dir(profile: In<Profile>, dir: New<TextHandle>; error) {
        dir.put(TextHandle(profile.read()?.dir.clone()))
    }

    fn tiledb_profile_set_param(profile: In<Profile>, param: Text, value: Text; error) {
        let mut profile = profile.write()?;
        let Some(param) = param.optional()? else {
            return fail("C API", "[tiledb_profile_set_param] Parameter cannot be null.");
        };
        if param.is_empty() {
            return fail(ORIGIN, "Failed to retrieve parameter; parameter name must not be empty.");
        }
        profile.params.insert(param.to_owned(), value.or_empty()?.to_owned());
        Ok(())
    }

    fn tiledb_profile_get_param(profile: In<Profile>, param: Text, value: New<TextHandle>; error) {
        let profile = profile.read()?;
        let Some(param) = param.optional()? else {
            return fail("C API", "[tiledb_profile_get_param] Parameter cannot be null.");
        };
        match profile.params.get(param) {
            Some(found) => value.put(TextHandle(found.clone())),
            None => value.put_null(),
        }
    }

    fn tiledb_profile_save(profile: In<Profile>, overwrite: u8; error) {
        profile.read()?.save(overwrite != 0)
    }

    fn tiledb_profile_load(profile: In<Profile>; error) {
        profile.write()?.load()
    }

    fn tiledb_profile_remove(name: Text, dir: Text; error) {
        let name = name.optional()?.unwrap_or(DEFAULT_NAME);
        let dir = match dir.optional()?.filter(|dir| !dir.is_empty()) {
            Some(dir) => with_slash(dir),
            None => home_dir("RestProfile")?,
        };
        let file = PathBuf::from(format!("{dir}{FILE}"));
        if !file.exists() {
            return fail(ORIGIN, "Failed to remove profile; file does not exist.");
        }
        let mut data = read(&file)?;
        if data.remove(name).is_none() {
            return fail(ORIGIN, "Failed to remove profile; profile does not exist.");
        }
        write(&file, &data)
    }

    fn tiledb_profile_dump_str(profile: In<Profile>, out: New<TextHandle>; error) {
        let profile = profile.read()?;
        let shown = json!({ profile.name.as_str(): profile.json() });
        out.put(TextHandle(serde_json::to_string_pretty(&shown).unwrap_or_default()))
    }
}

free_entries! { tiledb_profile_free: Profile }
