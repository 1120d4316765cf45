//! `smalti inspect`: a file of an array, field by field.

use crate::args::{Global, InspectArgs};
use crate::failure::Outcome;

pub(super) fn run(_global: &Global, args: &InspectArgs) -> Outcome {
    let error = smalti::Error::unsupported("this release has no `smalti inspect` yet");
    Err(error.at_uri(args.file.display().to_string()).into())
}
