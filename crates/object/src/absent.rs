//! Builds without object stores.

use crate::settings::Settings;
use smalti_store::{Place, Remote};
use smalti_types::{Error, Result};

/// The object stores of a build that has none: it opens no scheme.
#[derive(Debug)]
pub struct ObjectStores;

impl ObjectStores {
    /// None.
    pub fn from_env() -> ObjectStores {
        ObjectStores
    }

    /// None, whatever the settings are.
    pub fn new(_: Settings) -> ObjectStores {
        ObjectStores
    }
}

impl Remote for ObjectStores {
    fn schemes(&self) -> &'static [&'static str] {
        &[]
    }

    fn open(&self, scheme: &str, _: &str) -> Result<Place> {
        Err(Error::unsupported(format!("storage of scheme {scheme:?} is not in this build")))
    }
}
