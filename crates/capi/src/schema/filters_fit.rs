//! Whether filters take what a field holds, asked when a list is set.

use crate::failure::{Failure, Fallible};
use smalti::{CellValNum, Datatype, Filter, FilterPipeline};

/// Checks the chain of types from the field's on. What libtiledb only notices when cells are written, is let pass here: levels, and
/// dictionaries of what is no text.
pub(crate) fn check(filters: &FilterPipeline, datatype: Datatype, cell_val_num: CellValNum) -> Fallible<()> {
    let is_text = matches!(datatype, Datatype::StringAscii | Datatype::StringUtf8) && cell_val_num.is_var();
    let mut asked = filters.clone();
    for filter in &mut asked.filters {
        match filter {
            Filter::Gzip { level } | Filter::Bzip2 { level } => *level = -1,
            Filter::Dictionary { .. } if !is_text => *filter = Filter::None,
            _ => {}
        }
    }
    smalti::check_pipeline(&asked, datatype, cell_val_num).map_err(Failure::of("FilterPipeline"))
}
