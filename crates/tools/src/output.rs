//! Files that appear when they are whole.

use crate::failure::{Failure, Outcome};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A file that is written under a temporary name beside its own, and dropped unless it is kept.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    /// `None` for pipes and devices, which are written as they are.
    partial: Option<PathBuf>,
}

impl OutputFile {
    /// The file, and where to write.
    ///
    /// # Errors
    /// Those of the system, with the file named.
    pub fn create(path: &Path) -> Outcome<(Self, File)> {
        let named = |error: std::io::Error| Failure::from(error).at(path.display().to_string());
        // The file behind a link is replaced, not the link.
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let is_special = std::fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file());
        let partial = path.file_name().filter(|_| !is_special).map(|name| {
            let mut partial = OsString::from(".");
            partial.push(name);
            partial.push(format!(".{}.partial", std::process::id()));
            path.with_file_name(partial)
        });
        let file = File::create(partial.as_ref().unwrap_or(&path)).map_err(named)?;
        Ok((OutputFile { path, partial }, file))
    }

    /// The file under its temporary name.
    pub fn partial(&self) -> Option<&Path> {
        self.partial.as_deref()
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// Those of the system, with the file named.
    pub fn keep(mut self) -> Outcome {
        let Some(partial) = &self.partial else { return Ok(()) };
        std::fs::rename(partial, &self.path)
            .map_err(|error| Failure::from(error).at(self.path.display().to_string()))?;
        self.partial = None;
        Ok(())
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            // What is cut short must not be taken for the whole; why it was is told elsewhere.
            let _ = std::fs::remove_file(partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_not_kept_leaves_the_older_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.csv");
        let names = || std::fs::read_dir(dir.path()).unwrap().count();
        let (output, mut file) = OutputFile::create(&path).unwrap();
        file.write_all(b"old").unwrap();
        assert!(!path.exists());
        output.keep().unwrap();
        let (output, mut file) = OutputFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        drop(output);
        assert_eq!((std::fs::read(&path).unwrap(), names()), (b"old".to_vec(), 1));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        std::fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let (output, mut file) = OutputFile::create(&link).unwrap();
        file.write_all(b"new").unwrap();
        output.keep().unwrap();
        assert_eq!(std::fs::read(&real).unwrap(), b"new");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
