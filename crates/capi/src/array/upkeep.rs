//! Consolidation and vacuum.

use super::ORIGIN;
use super::entries::{fragment_name, open};
use crate::boundary::entry::entries;
use crate::boundary::memory::Texts;
use crate::boundary::{In, Text};
use crate::config::Config;
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::statistics::{Seen, Work};
use smalti::upkeep::{Choice, FragmentOptions, Steps, UpkeepOptions, VacuumOptions};
use smalti::{Array, TimeRange};

/// The settings of a call: those that were passed, or the context's.
fn settings(ctx: &Context, config: In<Config>) -> Fallible<Config> {
    if config.is_null() { Ok(ctx.config.clone()) } else { Ok(config.read()?.clone()) }
}

fn fragment_options(config: &Config, choice: Choice) -> Fallible<FragmentOptions> {
    let most: u64 = config.parse("sm.consolidation.max_fragment_size")?;
    Ok(FragmentOptions {
        choice,
        time: TimeRange {
            start: config.parse("sm.consolidation.timestamp_start")?,
            end: config.parse("sm.consolidation.timestamp_end")?,
        },
        purges: config.flag("sm.consolidation.purge_deleted_cells")?,
        max_fragment_byte_len: Some(most).filter(|most| *most != u64::MAX),
        ..FragmentOptions::default()
    })
}

/// Tells what work on a whole array did, opening included.
fn tell(ctx: &Context, mut work: Work, array: &Array, timer: Option<&'static str>) {
    work.count_traffic(array.traffic(), &Seen::default());
    match timer {
        Some(timer) => work.end(timer, &[&ctx.statistics]),
        None => work.end_untimed(&[&ctx.statistics]),
    }
}

fn steps(config: &Config) -> Fallible<Choice> {
    Ok(Choice::Steps(Steps {
        count: config.parse("sm.consolidation.steps")?,
        min_fragments: config.parse("sm.consolidation.step_min_frags")?,
        max_fragments: config.parse("sm.consolidation.step_max_frags")?,
        size_ratio: config.parse("sm.consolidation.step_size_ratio")?,
        amplification: config.parse("sm.consolidation.amplification")?,
        ..Steps::default()
    }))
}

entries! {
    fn tiledb_array_consolidate(ctx, array_uri: Text, config: In<Config>) {
        let config = settings(ctx, config)?;
        let array = open(ctx, array_uri.get("array_uri")?, Some(&config))?;
        let told = Failure::of(ORIGIN);
        let options = UpkeepOptions::default();
        let work = Work::begin();
        let mode = config.own("sm.consolidation.mode");
        let done = match mode.as_str() {
            "fragments" => {
                let options = fragment_options(&config, steps(&config)?)?;
                array.consolidate(&options).map(|_| ()).map_err(told)
            }
            "fragment_meta" => array.consolidate_fragment_meta(&options).map(|_| ()).map_err(told),
            "commits" => array.consolidate_commits(&options).map(|_| ()).map_err(told),
            "array_meta" => array.consolidate_metadata(&options).map(|_| ()).map_err(told),
            _ => fail("TileDB internal", "Cannot consolidate; invalid configuration mode"),
        };
        tell(ctx, work, &array, (mode == "fragments").then_some("Context.Consolidator.consolidate_frags"));
        done
    }

    fn tiledb_array_consolidate_fragments(
        ctx,
        array_uri: Text,
        fragment_uris: Texts,
        num_fragments: u64,
        config: In<Config>,
    ) {
        let config = settings(ctx, config)?;
        let uris = fragment_uris.get(num_fragments, "fragment_uris")?;
        let array = open(ctx, array_uri.get("array_uri")?, Some(&config))?;
        let names = uris.iter().map(|uri| fragment_name(uri).to_owned()).collect();
        let options = fragment_options(&config, Choice::Listed(names))?;
        array.consolidate(&options).map(|_| ()).map_err(Failure::of("FragmentConsolidator"))
    }

    fn tiledb_array_vacuum(ctx, array_uri: Text, config: In<Config>) {
        let config = settings(ctx, config)?;
        let mut array = open(ctx, array_uri.get("array_uri")?, Some(&config))?;
        let told = Failure::of(ORIGIN);
        let options = UpkeepOptions::default();
        let work = Work::begin();
        let done = match config.own("sm.vacuum.mode").as_str() {
            "fragments" => {
                // libtiledb does not wait for readers.
                let options = VacuumOptions { ignores_readers: true, ..VacuumOptions::default() };
                array.vacuum(&options).map(|_| ()).map_err(told)
            }
            "fragment_meta" => array.vacuum_fragment_meta(&options).map(|_| ()).map_err(told),
            "commits" => array.vacuum_commits(&options).map(|_| ()).map_err(told),
            "array_meta" => array.vacuum_metadata(&options).map(|_| ()).map_err(told),
            _ => fail("Consolidator", "Cannot vacuum array; Invalid vacuum mode"),
        };
        tell(ctx, work, &array, None);
        done
    }
}
