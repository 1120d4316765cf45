//! Secrets are in no text that is made of the types that hold them.

use super::*;
use crate::settings::{KEYS, Takes};

/// A value for each key, with a secret in all that may have one.
fn full() -> Settings {
    let mut settings = Settings::default();
    for key in KEYS {
        let value = match (key.name, key.takes) {
            (_, Takes::Secret) => "hush",
            (_, Takes::Address) => "http://user:hush@127.0.0.1:1/path?sig=hush",
            (_, Takes::Flag) => "false",
            ("s3.region", _) => "eu-west-1",
            (_, Takes::Text) => "text",
            (_, Takes::File) => "/nowhere/file",
            _ => key.default,
        };
        settings.set(key.name, value).unwrap();
    }
    settings
}

#[test]
fn no_type_shows_a_secret() {
    let settings = full();
    let stores = ObjectStores::new(settings.clone());
    let mut texts = vec![format!("{settings:?} {settings:#?} {:?} {stores:?} {stores:#?}", settings.shown())];
    for (key, value) in [
        ("network.ca_file", ""),
        ("gcs.endpoint", "http://127.0.0.1:1"),
        ("azure.endpoint", "http://127.0.0.1:1"),
    ] {
        let mut settings = settings.clone();
        settings.set(key, if value.is_empty() { "/nowhere/file" } else { value }).unwrap();
        texts.push(format!("{settings:?}"));
    }
    let mut usable = Settings::default();
    for key in KEYS.iter().filter(|key| !matches!(key.name, "network.ca_file" | "s3.profile")) {
        if let Some(value) = settings.get(key.name) {
            usable.set(key.name, value).unwrap();
        }
    }
    for retries in ["network.retries", "network.retry_time"] {
        usable.set(retries, if retries == "network.retries" { "0" } else { "0 s" }).unwrap();
    }
    for uri in ["s3://b/array", "gs://b/array", "az://box/array"] {
        let store = open(&usable, uri);
        texts.push(format!("{store:?} {store:#?}"));
        for error in [
            store.list("array").unwrap_err(),
            store.byte_len("array/a").unwrap_err(),
            store.put("array/a", &[b"x"]).unwrap_err(),
            store.delete_files(&["array/a"]).unwrap_err(),
            store.list_recursive("array").unwrap_err(),
        ] {
            texts.push(format!("{error} {error:?} {error:#?}"));
        }
    }
    // All sources of secrets, one after the other.
    for secret in KEYS.iter().filter(|key| key.is_secret()) {
        for uri in ["s3://b/array", "gs://b/array", "abfss://box@acc.dfs.core.windows.net/array"] {
            let base = [
                ("AWS_ENDPOINT_URL", CLOSED),
                ("STORAGE_EMULATOR_HOST", CLOSED),
                ("AZURE_STORAGE_ENDPOINT", CLOSED),
            ];
            let store = open(&settings_with(&base, secret.name), uri);
            texts.push(format!("{:?} {store:?}", store.list("array").unwrap_err()));
        }
    }
    for text in texts {
        assert!(!text.contains(SECRET), "{text}");
    }
}

fn settings_with(variables: &[(&str, &str)], secret: &'static str) -> Settings {
    let mut settings = super::settings(variables, &[(secret, "hush")]);
    settings.set("network.retry_time", "0 s").unwrap();
    settings
}
