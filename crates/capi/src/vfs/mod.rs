//! Files on any path: what libtiledb calls a virtual file system, over the engine's [`Files`].

mod entries;
mod open_file;

use crate::boundary::handle::kinds;
use crate::config::Config;
use crate::context::Context;
use crate::failure::{Failure, Fallible};
use crate::uris;
use smalti::storage::{Files, FoundFile};

pub(super) use open_file::OpenFileHandle;

/// A view of files, with settings.
#[derive(Debug)]
pub(crate) struct VfsHandle {
    pub(super) config: Config,
    pub(super) files: Files,
}

kinds! { VfsHandle => "vfs", OpenFileHandle => "vfs file handle" }

/// What failures of files are told by.
pub(super) const ORIGIN: &str = "VFS";

impl VfsHandle {
    /// Files as settings have them: in the stores of the context, unless the settings lead to others.
    pub(super) fn new(ctx: &Context, config: Config) -> Fallible<VfsHandle> {
        let files = files(ctx, &config)?;
        Ok(VfsHandle { config, files })
    }
}

/// The files that a context reaches with some settings.
pub(crate) fn files(ctx: &Context, config: &Config) -> Fallible<Files> {
    let files = match config.same_stores(&ctx.config) {
        true => ctx.engine.files(),
        false => smalti::Context::new().threads(1).storage(crate::stores::settings(config)?).files(),
    };
    let mode = |key: &str| match config.differs(key) {
        true => {
            let octal = config.own(key);
            let mode = u32::from_str_radix(&octal, 8);
            mode.map(Some).map_err(|_| Failure::told(ORIGIN, format!("'{octal}' is no mode of files")))
        }
        false => Ok(None),
    };
    let (file, folder) =
        (mode("vfs.file.posix_file_permissions")?, mode("vfs.file.posix_directory_permissions")?);
    Ok(files.with_modes(file, folder))
}

/// A URI as the engine takes it: a path of this machine is no URI in it, so that nothing in it is decoded.
pub(crate) fn inner(uri: &str) -> String {
    match uri.strip_prefix("file://") {
        Some(path) => path.to_owned(),
        None => uris::inner(uri),
    }
}

/// A failure of a file.
pub(crate) fn told(what: &str, uri: &str) -> impl Fn(smalti::Error) -> Failure + use<> {
    let words = format!("{what} '{uri}'");
    let origin = if uri.contains("://") && !uri.starts_with("file://") { ORIGIN } else { "IO Error" };
    move |error| Failure::told(origin, format!("{words}; {}", error.message()))
}

/// What was found, with its scheme.
pub(super) fn shown(found: &FoundFile) -> String {
    uris::shown(&found.uri)
}
