//! The entries of configurations.

use super::{Config, ConfigIter};
use crate::boundary::entry::{error_entries, free_entries, plain_entries};
use crate::boundary::{In, New, Out, OutText, Text};
use crate::failure::fail;
use crate::text::ErrorText;

error_entries! {
    fn tiledb_config_alloc(config: New<Config>; error) {
        config.put(Config::default())
    }

    fn tiledb_config_set(config: In<Config>, param: Text, value: Text; error) {
        let mut config = config.write()?;
        config.set(param.get("param")?, value.get("value")?)
    }

    fn tiledb_config_get(config: In<Config>, param: Text, value: OutText; error) {
        let slot = config.slot()?;
        value.check()?;
        let found = slot.read().find(param.get("param")?)?;
        value.put(found.map_or(std::ptr::null(), |text| slot.lend_text(&text)))
    }

    fn tiledb_config_unset(config: In<Config>, param: Text; error) {
        config.write()?.unset(param.get("param")?);
        Ok(())
    }

    fn tiledb_config_load_from_file(config: In<Config>, filename: Text; error) {
        let mut config = config.write()?;
        match filename.optional()? {
            Some(file) => config.load(file),
            None => fail("C API", "Cannot load from file; null filename"),
        }
    }

    fn tiledb_config_save_to_file(config: In<Config>, filename: Text; error) {
        let config = config.read()?;
        match filename.optional()? {
            Some(file) => config.save(file),
            None => fail("C API", "Cannot save to file; null filename"),
        }
    }

    fn tiledb_config_iter_alloc(config: In<Config>, prefix: Text, config_iter: New<ConfigIter>; error) {
        let rows = config.read()?.rows(prefix.or_empty()?);
        config_iter.put(ConfigIter { rows, at: 0 })
    }

    fn tiledb_config_iter_reset(config: In<Config>, config_iter: In<ConfigIter>, prefix: Text; error) {
        let rows = config.read()?.rows(prefix.or_empty()?);
        *config_iter.write()? = ConfigIter { rows, at: 0 };
        Ok(())
    }

    fn tiledb_config_iter_here(config_iter: In<ConfigIter>, param: OutText, value: OutText; error) {
        let slot = config_iter.slot()?;
        let here = slot.read();
        match here.rows.get(here.at) {
            Some((key, found)) => {
                param.put(slot.lend_text(key))?;
                value.put(slot.lend_text(found))
            }
            None => {
                param.put(std::ptr::null())?;
                value.put(std::ptr::null())
            }
        }
    }

    fn tiledb_config_iter_next(config_iter: In<ConfigIter>; error) {
        let mut here = config_iter.write()?;
        here.at = here.at.saturating_add(1);
        Ok(())
    }

    fn tiledb_config_iter_done(config_iter: In<ConfigIter>, done: Out<i32>; error) {
        let here = config_iter.read()?;
        done.put(i32::from(here.at >= here.rows.len()))
    }
}

plain_entries! {
    fn tiledb_config_compare(lhs: In<Config>, rhs: In<Config>, equal: Out<u8>) {
        let one = lhs.read()?.clone();
        equal.put(u8::from(one.values == rhs.read()?.values))
    }
}

free_entries! { tiledb_config_free: Config, tiledb_config_iter_free: ConfigIter }
