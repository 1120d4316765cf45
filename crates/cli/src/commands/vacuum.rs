//! `smalti vacuum`: removing what consolidation has replaced.

use super::consolidate::{no_fragments, print};
use crate::args::{ConsolidateArgs, Global, OpenTimes, UpkeepMode};
use crate::engine;
use crate::failure::Outcome;
use smalti::UpkeepOptions;

pub(super) fn run(global: &Global, args: &ConsolidateArgs) -> Outcome {
    let options = UpkeepOptions { dry_run: args.dry_run };
    let open = || engine::open(global, &args.array, OpenTimes::default());
    let report = match args.mode {
        UpkeepMode::FragmentMeta => open()?.vacuum_fragment_meta(&options)?,
        UpkeepMode::Commits => open()?.vacuum_commits(&options)?,
        UpkeepMode::ArrayMeta => open()?.vacuum_metadata(&options)?,
        UpkeepMode::GroupMeta => {
            engine::open_group(global, &args.array, OpenTimes::default())?.vacuum_metadata(&options)?
        }
        UpkeepMode::Fragments => return Err(no_fragments("vacuum")),
    };
    print(global, args, &report)
}
