//! Filter pipelines in JSON.

use super::read::{Place, wrong};
use serde_json::{Value, json};
use smalti_types::{Datatype, Filter, FilterPipeline, FloatScale, Result, ScaleWidth, WebpFormat};

pub(super) fn to_json(pipeline: &FilterPipeline) -> Value {
    let filters: Vec<Value> = pipeline.filters.iter().map(filter_to_json).collect();
    json!({"max_chunk_size": pipeline.max_chunk_size, "filters": filters})
}

fn filter_to_json(filter: &Filter) -> Value {
    let name = filter.name();
    match *filter {
        Filter::Gzip { level }
        | Filter::Zstd { level }
        | Filter::Lz4 { level }
        | Filter::Rle { level }
        | Filter::Bzip2 { level }
        | Filter::Dictionary { level } => json!({"filter": name, "level": level}),
        Filter::DoubleDelta { level, reinterpret } | Filter::Delta { level, reinterpret } => {
            let datatype = reinterpret.unwrap_or(Datatype::Any).name();
            json!({"filter": name, "level": level, "reinterpret": datatype})
        }
        Filter::BitWidthReduction { max_window } | Filter::PositiveDelta { max_window } => {
            json!({"filter": name, "window": max_window})
        }
        Filter::ScaleFloat(FloatScale { factor, offset, width }) => {
            json!({"filter": name, "bytewidth": width as u8, "factor": factor, "offset": offset})
        }
        Filter::Webp { quality, format, lossless, .. } => {
            json!({"filter": name, "quality": quality, "format": format as u8, "lossless": u8::from(lossless)})
        }
        Filter::None
        | Filter::Bitshuffle
        | Filter::Byteshuffle
        | Filter::Aes256Gcm
        | Filter::Md5
        | Filter::Sha256
        | Filter::Xor
        | Filter::Deprecated => json!({"filter": name}),
    }
}

/// Reads `{"max_chunk_size": n, "filters": [...]}`; a bare list of filters takes the default chunk size.
pub(super) fn from_json(place: &Place<'_>) -> Result<FilterPipeline> {
    if place.value.is_array() {
        return Ok(FilterPipeline::new(
            place.items()?.iter().map(filter_from_json).collect::<Result<Vec<_>>>()?,
        ));
    }
    place.only_keys(&["max_chunk_size", "filters"])?;
    let mut pipeline = FilterPipeline::default();
    if let Some(filters) = place.get("filters") {
        pipeline.filters = filters.items()?.iter().map(filter_from_json).collect::<Result<_>>()?;
    }
    if let Some(size) = place.get("max_chunk_size") {
        pipeline.max_chunk_size = size.integer()?;
    }
    Ok(pipeline)
}

/// Reads `{"filter": "zstd", "level": 3}`; a bare name takes the default options.
fn filter_from_json(place: &Place<'_>) -> Result<Filter> {
    let name = if place.value.is_string() { place.text()? } else { place.required("filter")?.text()? };
    let filter = match name {
        "none" => Filter::None,
        "gzip" => Filter::Gzip { level: level(place)? },
        "zstd" => Filter::Zstd { level: level(place)? },
        "lz4" => Filter::Lz4 { level: level(place)? },
        "rle" => Filter::Rle { level: level(place)? },
        "bzip2" => Filter::Bzip2 { level: level(place)? },
        "dictionary" => Filter::Dictionary { level: level(place)? },
        "double_delta" => Filter::DoubleDelta { level: level(place)?, reinterpret: reinterpret(place)? },
        "delta" => Filter::Delta { level: level(place)?, reinterpret: reinterpret(place)? },
        "bit_width_reduction" => Filter::BitWidthReduction { max_window: window(place, 256)? },
        "positive_delta" => Filter::PositiveDelta { max_window: window(place, 1024)? },
        "bitshuffle" => Filter::Bitshuffle,
        "byteshuffle" => Filter::Byteshuffle,
        "md5" => Filter::Md5,
        "sha256" => Filter::Sha256,
        "xor" => Filter::Xor,
        "scale_float" => Filter::ScaleFloat(float_scale(place)?),
        "webp" => webp(place)?,
        "aes_256_gcm" => {
            return Err(wrong(
                &place.path,
                "encryption is no filter of a schema; give a key when creating the array",
            ));
        }
        other => return Err(wrong(&place.path, &format!("no filter is called {other:?}"))),
    };
    let mut known = vec!["filter"];
    if let Value::Object(written) = filter_to_json(&filter) {
        known.extend(OPTIONS.iter().copied().filter(|option| written.contains_key(*option)));
    }
    place.only_keys(&known)?;
    Ok(filter)
}

const OPTIONS: &[&str] =
    &["level", "reinterpret", "window", "bytewidth", "factor", "offset", "quality", "format", "lossless"];

fn level(place: &Place<'_>) -> Result<i32> {
    place.get("level").map_or(Ok(-1), |level| level.integer())
}

fn window(place: &Place<'_>, default: u32) -> Result<u32> {
    place.get("window").map_or(Ok(default), |window| window.integer())
}

fn reinterpret(place: &Place<'_>) -> Result<Option<Datatype>> {
    let datatype = place.get("reinterpret").map(|reinterpret| reinterpret.datatype()).transpose()?;
    Ok(datatype.filter(|datatype| *datatype != Datatype::Any))
}

fn float_scale(place: &Place<'_>) -> Result<FloatScale> {
    let width = match place.get("bytewidth").map_or(Ok(8_u8), |width| width.integer())? {
        1 => ScaleWidth::One,
        2 => ScaleWidth::Two,
        4 => ScaleWidth::Four,
        8 => ScaleWidth::Eight,
        other => return Err(wrong(&place.path, &format!("a bytewidth is 1, 2, 4 or 8, not {other}"))),
    };
    let factor = place.get("factor").map_or(Ok(1.0), |factor| factor.float())?;
    let offset = place.get("offset").map_or(Ok(0.0), |offset| offset.float())?;
    Ok(FloatScale { factor, offset, width })
}

fn webp(place: &Place<'_>) -> Result<Filter> {
    let quality = place.get("quality").map_or(Ok(100.0), |quality| quality.float())?;
    let tag = place.get("format").map_or(Ok(0_u8), |format| format.integer())?;
    let format = WebpFormat::from_tag(tag)
        .ok_or_else(|| wrong(&place.path, &format!("a WebP format is 0 to 4, not {tag}")))?;
    let lossless = match place.get("lossless") {
        None => false,
        Some(lossless) => lossless.flag()?,
    };
    Ok(Filter::Webp { quality: quality as f32, format, lossless, y_extent: 0, x_extent: 0 })
}
