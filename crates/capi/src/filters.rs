//! Filters and lists of them.

use crate::boundary::entry::{entries, free_entries};
use crate::boundary::handle::kinds;
use crate::boundary::{Data, DataOut, In, New, Out};
use crate::context::Context;
use crate::failure::{Failure, Fallible, fail};
use crate::names;
use smalti::{Datatype, Filter, FilterPipeline, FloatScale, ScaleWidth, WebpFormat};
use std::fmt::Write;

kinds! { Filter => "filter", FilterPipeline => "filter list" }

/// What failures of filters are told by.
const ORIGIN: &str = "[TileDB::Filter] Error";

/// A filter of a type, with the options it has before any are set.
fn of_type(number: i32) -> Fallible<Filter> {
    let level = -1;
    Ok(match number {
        0 => Filter::None,
        1 => Filter::Gzip { level },
        2 => Filter::Zstd { level },
        3 => Filter::Lz4 { level },
        4 => Filter::Rle { level },
        5 => Filter::Bzip2 { level },
        6 => Filter::DoubleDelta { level, reinterpret: None },
        7 => Filter::BitWidthReduction { max_window: 256 },
        8 => Filter::Bitshuffle,
        9 => Filter::Byteshuffle,
        10 => Filter::PositiveDelta { max_window: 1024 },
        12 => Filter::Md5,
        13 => Filter::Sha256,
        14 => Filter::Dictionary { level },
        15 => Filter::ScaleFloat(FloatScale { factor: 1.0, offset: 0.0, width: ScaleWidth::Eight }),
        16 => Filter::Xor,
        18 => Filter::Webp {
            quality: 100.0,
            format: WebpFormat::None,
            lossless: false,
            y_extent: 0,
            x_extent: 0,
        },
        19 => Filter::Delta { level, reinterpret: None },
        _ => return fail("C API", format!("Invalid filter type ({number})")),
    })
}

/// What messages call the filter whose option is wrong.
fn kind_words(filter: &Filter) -> &'static str {
    match filter {
        Filter::BitWidthReduction { .. } => "Bit width reduction filter error",
        Filter::PositiveDelta { .. } => "Positive delta filter error",
        Filter::ScaleFloat(_) => "Float scaling filter error",
        Filter::Webp { .. } => "Webp filter error",
        _ => "Compression filter error",
    }
}

fn fixed<const N: usize>(value: Data) -> Fallible<[u8; N]> {
    let bytes = value.bytes(u64::try_from(N).unwrap_or(0), "value")?;
    bytes.try_into().map_err(|_| Failure::told(ORIGIN, "invalid option value"))
}

fn set_option(filter: &mut Filter, option: i32, value: Data) -> Fallible<()> {
    let words = kind_words(filter);
    let has_options = filter.is_compressor()
        || matches!(
            filter,
            Filter::BitWidthReduction { .. }
                | Filter::PositiveDelta { .. }
                | Filter::ScaleFloat(_)
                | Filter::Webp { .. }
        );
    if !has_options {
        return fail(ORIGIN, "Filter does not support options.");
    }
    if value.is_null() {
        return fail(ORIGIN, format!("{words}; invalid option value"));
    }
    match (filter, option) {
        (
            Filter::Gzip { level }
            | Filter::Zstd { level }
            | Filter::Lz4 { level }
            | Filter::Rle { level }
            | Filter::Bzip2 { level }
            | Filter::Dictionary { level }
            | Filter::DoubleDelta { level, .. }
            | Filter::Delta { level, .. },
            0,
        ) => *level = i32::from_ne_bytes(fixed(value)?),
        (Filter::DoubleDelta { reinterpret, .. } | Filter::Delta { reinterpret, .. }, 9) => {
            let [tag] = fixed(value)?;
            *reinterpret = Some(names::datatype(tag.into())?).filter(|kind| *kind != Datatype::Any);
        }
        // libtiledb keeps the type to read bytes as with every compressor, where it has no effect.
        (other, 9) if other.is_compressor() => {}
        (Filter::BitWidthReduction { max_window }, 1) | (Filter::PositiveDelta { max_window }, 2) => {
            *max_window = u32::from_ne_bytes(fixed(value)?);
        }
        (Filter::ScaleFloat(scale), 3) => {
            scale.width = match u64::from_ne_bytes(fixed(value)?) {
                1 => ScaleWidth::One,
                2 => ScaleWidth::Two,
                4 => ScaleWidth::Four,
                8 => ScaleWidth::Eight,
                _ => return fail(ORIGIN, format!("{words}; invalid byte width value.")),
            };
        }
        (Filter::ScaleFloat(scale), 4) => {
            let factor = f64::from_ne_bytes(fixed(value)?);
            if !factor.is_normal() {
                return fail(ORIGIN, format!("{words}; invalid scale value."));
            }
            scale.factor = factor;
        }
        (Filter::ScaleFloat(scale), 5) => {
            let offset = f64::from_ne_bytes(fixed(value)?);
            if !offset.is_finite() {
                return fail(ORIGIN, format!("{words}; invalid offset value."));
            }
            scale.offset = offset;
        }
        (Filter::Webp { quality, .. }, 6) => {
            let given = f32::from_ne_bytes(fixed(value)?);
            if !(0.0..=100.0).contains(&given) {
                return fail(ORIGIN, "Webp filter error; Quality must be in range [0.0, 100.0]");
            }
            *quality = given;
        }
        (Filter::Webp { format, .. }, 7) => {
            let [tag] = fixed(value)?;
            let Some(given) = WebpFormat::from_tag(tag) else {
                return fail(ORIGIN, "Webp filter error; Invalid input format option setting");
            };
            *format = given;
        }
        (Filter::Webp { lossless, .. }, 8) => {
            let [given] = fixed(value)?;
            if given > 1 {
                return fail(
                    ORIGIN,
                    "Webp filter error; Lossless compression must be either enabled (1) or disabled (0)",
                );
            }
            *lossless = given == 1;
        }
        _ => return fail(ORIGIN, format!("{words}; unknown option")),
    }
    Ok(())
}

fn option(filter: &Filter, option: i32) -> Fallible<Vec<u8>> {
    let tag = |kind: &Option<Datatype>| vec![kind.unwrap_or(Datatype::Any).tag()];
    Ok(match (filter, option) {
        (
            Filter::Gzip { level }
            | Filter::Zstd { level }
            | Filter::Lz4 { level }
            | Filter::Rle { level }
            | Filter::Bzip2 { level }
            | Filter::Dictionary { level }
            | Filter::DoubleDelta { level, .. }
            | Filter::Delta { level, .. },
            0,
        ) => level.to_ne_bytes().to_vec(),
        (Filter::DoubleDelta { reinterpret, .. } | Filter::Delta { reinterpret, .. }, 9) => tag(reinterpret),
        (other, 9) if other.is_compressor() => tag(&None),
        (Filter::BitWidthReduction { max_window }, 1) | (Filter::PositiveDelta { max_window }, 2) => {
            max_window.to_ne_bytes().to_vec()
        }
        (Filter::ScaleFloat(scale), 3) => (scale.width as u64).to_ne_bytes().to_vec(),
        (Filter::ScaleFloat(scale), 4) => scale.factor.to_ne_bytes().to_vec(),
        (Filter::ScaleFloat(scale), 5) => scale.offset.to_ne_bytes().to_vec(),
        (Filter::Webp { quality, .. }, 6) => quality.to_ne_bytes().to_vec(),
        (Filter::Webp { format, .. }, 7) => vec![*format as u8],
        (Filter::Webp { lossless, .. }, 8) => vec![u8::from(*lossless)],
        (
            Filter::None
            | Filter::Bitshuffle
            | Filter::Byteshuffle
            | Filter::Md5
            | Filter::Sha256
            | Filter::Xor
            | Filter::Aes256Gcm
            | Filter::Deprecated,
            _,
        ) => return fail(ORIGIN, "Filter does not support options."),
        _ => return fail(ORIGIN, format!("{}; unknown option", kind_words(filter))),
    })
}

/// A list of filters as dumps show it: how many there are, and a line for each.
pub(crate) fn dump(filters: &FilterPipeline) -> String {
    let mut text = filters.filters.len().to_string();
    for filter in &filters.filters {
        let shown = match filter {
            Filter::None => "NoOp".to_owned(),
            Filter::BitWidthReduction { max_window } => {
                format!("BitWidthReduction: BIT_WIDTH_MAX_WINDOW={max_window}")
            }
            Filter::Bitshuffle => "BitShuffle".to_owned(),
            Filter::Byteshuffle => "ByteShuffle".to_owned(),
            Filter::PositiveDelta { max_window } => {
                format!("PositiveDelta: POSITIVE_DELTA_MAX_WINDOW={max_window}")
            }
            Filter::Aes256Gcm => "EncryptionAES256GCM".to_owned(),
            Filter::Md5 => "ChecksumMD5".to_owned(),
            Filter::Sha256 => "ChecksumSHA256".to_owned(),
            Filter::ScaleFloat(FloatScale { factor, offset, width }) => {
                let width = *width as u8;
                format!("FloatScalingFilter: BYTE_WIDTH={width}, SCALE={factor}, OFFSET={offset}")
            }
            Filter::Xor => "XORFilter".to_owned(),
            Filter::Webp { .. } => "WebpFilter".to_owned(),
            Filter::DoubleDelta { level, reinterpret } | Filter::Delta { level, reinterpret } => {
                let kind = reinterpret.unwrap_or(Datatype::Any).name();
                let word = names::filter_word(filter.tag());
                format!("{word}: COMPRESSION_LEVEL={level}, REINTERPRET_DATATYPE={kind}")
            }
            Filter::Gzip { level }
            | Filter::Zstd { level }
            | Filter::Lz4 { level }
            | Filter::Rle { level }
            | Filter::Bzip2 { level }
            | Filter::Dictionary { level } => {
                format!("{}: COMPRESSION_LEVEL={level}", names::filter_word(filter.tag()))
            }
            Filter::Deprecated => String::new(),
        };
        // Text takes whatever is written.
        let _ = write!(text, "\n  > {shown}");
    }
    text
}

entries! {
    fn tiledb_filter_alloc(ctx, kind: i32, filter: New<Filter>) {
        filter.check()?;
        filter.put(of_type(kind)?)
    }

    fn tiledb_filter_get_type(ctx, filter: In<Filter>, kind: Out<i32>) {
        kind.put(filter.read()?.tag().into())
    }

    fn tiledb_filter_set_option(ctx, filter: In<Filter>, option: i32, value: Data) {
        set_option(&mut *filter.write()?, option, value)
    }

    fn tiledb_filter_get_option(ctx, filter: In<Filter>, number: i32, value: DataOut) {
        let filter = filter.read()?;
        if value.is_null() {
            return fail(ORIGIN, "Cannot get option; null value pointer");
        }
        value.put(&option(&filter, number)?)
    }

    fn tiledb_filter_list_alloc(ctx, filter_list: New<FilterPipeline>) {
        filter_list.put(FilterPipeline::default())
    }

    fn tiledb_filter_list_add_filter(ctx, filter_list: In<FilterPipeline>, filter: In<Filter>) {
        let filter = *filter.read()?;
        filter_list.write()?.filters.push(filter);
        Ok(())
    }

    fn tiledb_filter_list_set_max_chunk_size(ctx, filter_list: In<FilterPipeline>, max_chunk_size: u32) {
        filter_list.write()?.max_chunk_size = max_chunk_size;
        Ok(())
    }

    fn tiledb_filter_list_get_nfilters(ctx, filter_list: In<FilterPipeline>, nfilters: Out<u32>) {
        nfilters.put(u32::try_from(filter_list.read()?.filters.len()).unwrap_or(u32::MAX))
    }

    fn tiledb_filter_list_get_filter_from_index(
        ctx,
        filter_list: In<FilterPipeline>,
        index: u32,
        filter: New<Filter>,
    ) {
        let list = filter_list.read()?;
        if list.filters.is_empty() && index == 0 {
            return filter.put_null();
        }
        let count = list.filters.len();
        match list.filters.get(usize::try_from(index).unwrap_or(usize::MAX)) {
            Some(found) => filter.put(*found),
            None => {
                fail("C API", format!("Filter {index} out of bounds, filter list has {count} filters."))
            }
        }
    }

    fn tiledb_filter_list_get_max_chunk_size(
        ctx,
        filter_list: In<FilterPipeline>,
        max_chunk_size: Out<u32>,
    ) {
        max_chunk_size.put(filter_list.read()?.max_chunk_size)
    }
}

free_entries! { tiledb_filter_free: Filter, tiledb_filter_list_free: FilterPipeline }
