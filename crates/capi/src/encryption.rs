//! The key of an encrypted array, as the configuration has it.

use crate::config::Config;
use crate::failure::{Failure, Fallible, fail};
use smalti::EncryptionKey;

/// The key that the configuration names, if it names one.
pub(crate) fn key_of(config: &Config) -> Fallible<Option<EncryptionKey>> {
    let key = config.own("sm.encryption_key");
    match config.own("sm.encryption_type").as_str() {
        "NO_ENCRYPTION" => Ok(None),
        "AES_256_GCM" if key.is_empty() => {
            fail("Array", "Cannot open array; No encryption key is set with sm.encryption_type AES_256_GCM")
        }
        "AES_256_GCM" => {
            let told = |error: smalti::Error| {
                Failure::told(
                    "EncryptionKey",
                    format!("Cannot create key; invalid key length for encryption type. {error}"),
                )
            };
            EncryptionKey::new(key.as_bytes()).map(Some).map_err(told)
        }
        other => fail("C API", format!("Unknown encryption type {other}")),
    }
}
