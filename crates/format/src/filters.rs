//! Filter pipelines in schemas and generic tiles.

use crate::leaf::{Bool8, Bytes32, F32, F64, I32, List32, Tag8, U8, U16, U32, U64, tagged};
use crate::record::{Cx, Leaf, Record, Structure, record};
use crate::{Reader, Writer};
use smalti_types::{Datatype, Error, Filter, FilterPipeline, FloatScale, Result, ScaleWidth, WebpFormat};

record! {
    /// Options of the filters gzip (1), zstd (2), lz4 (3), rle (4), bzip2 (5) and dictionary (14).
    pub(crate) struct CompressorOptions in "compressor options", spec "filter_pipeline.md#main-compressor-options" {
        /// The compressor, again.
        1..  compressor: u8 as U8,
        /// The level; some compressors ignore it.
        1..  level: i32 as I32,
    }
}

record! {
    /// Options of the filter delta (19).
    pub(crate) struct DeltaOptions in "delta options", spec "filter_pipeline.md#delta-compressor-options" {
        /// The compressor, again.
        1..   compressor: u8 as U8,
        /// Without effect.
        1..   level: i32 as I32,
        /// The type to read the bytes as; `ANY` for the field's own.
        19..  reinterpret: Datatype as Tag8 = Datatype::Any,
    }
}

record! {
    /// Options of the filter double delta (6).
    pub(crate) struct DoubleDeltaOptions in "double delta options", spec "filter_pipeline.md#delta-compressor-options" {
        /// The compressor, again.
        1..   compressor: u8 as U8,
        /// Without effect.
        1..   level: i32 as I32,
        /// The type to read the bytes as; `ANY` for the field's own.
        20..  reinterpret: Datatype as Tag8 = Datatype::Any,
    }
}

record! {
    /// Options of the filters bit width reduction (7) and positive delta (10).
    pub(crate) struct WindowOptions in "window options", spec "filter_pipeline.md#bit-width-reduction-options" {
        /// The largest window in bytes.
        1..  max_window: u32 as U32,
    }
}

record! {
    /// Options of the filter float scaling (15).
    pub(crate) struct ScaleOptions in "float scaling options", spec "filter_pipeline.md#float-scale-filter-reduction-options" {
        /// The factor.
        1..  factor: f64 as F64,
        /// The offset.
        1..  offset: f64 as F64,
        /// Bytes of a stored integer: 1, 2, 4 or 8.
        1..  byte_width: u64 as U64,
    }
}

record! {
    /// Options of the filter WebP (18).
    pub(crate) struct WebpOptions in "webp options", spec "filters/webp.md" {
        /// Quality of the lossy mode, 0 to 100.
        1..  quality: f32 as F32,
        /// Arrangement of the colour channels.
        1..  format: WebpFormat as Tag8,
        /// Whether pixels survive exactly.
        1..  lossless: bool as Bool8,
        /// Rows of a tile.
        1..  y_extent: u16 as U16,
        /// Columns of a tile.
        1..  x_extent: u16 as U16,
        /// Of no meaning: the reference writes its struct as it lies in memory.
        1..  let padding: u16 as U16 => 0,
    }
}

tagged!(
    WebpFormat,
    "arrangement of colour channels",
    WebpFormat::None = 0,
    WebpFormat::Rgb = 1,
    WebpFormat::Bgr = 2,
    WebpFormat::Rgba = 3,
    WebpFormat::Bgra = 4,
);

record! {
    /// A filter in a pipeline.
    pub(crate) struct StoredFilter in "filter", spec "filter_pipeline.md#filter" {
        /// The filter's type.
        1..  tag: u8 as U8,
        /// The options; their layout depends on the type.
        1..  options: Vec<u8> as Options(*tag),
    }
}

record! {
    /// A filter pipeline: the filters in the order in which writing applies them.
    pub(crate) struct StoredPipeline in "filter pipeline", spec "filter_pipeline.md" {
        /// The largest chunk in bytes.
        1..  max_chunk_size: u32 as U32,
        /// The filters.
        1..  filters: Vec<StoredFilter> as List32,
    }
}

/// The tables of this module, for the documentation.
pub(crate) const STRUCTURES: &[Structure] = &[
    StoredPipeline::STRUCTURE,
    StoredFilter::STRUCTURE,
    CompressorOptions::STRUCTURE,
    DeltaOptions::STRUCTURE,
    DoubleDeltaOptions::STRUCTURE,
    WindowOptions::STRUCTURE,
    ScaleOptions::STRUCTURE,
    WebpOptions::STRUCTURE,
];

/// The options of the filter type in the argument, behind their number of bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options(pub u8);

impl Leaf<Vec<u8>> for Options {
    fn on_disk() -> String {
        <Bytes32 as Leaf<Vec<u8>>>::on_disk()
    }
    fn show(value: &Vec<u8>) -> String {
        if value.is_empty() { "none".into() } else { format!("{} bytes", value.len()) }
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<Vec<u8>> {
        if !reader.is_traced() {
            return Bytes32.read(reader, cx);
        }
        let byte_len = reader.framing("byte_len", "u32", Reader::u32)?;
        let content = reader.rest();
        reader.within(byte_len.into(), |reader| match self.0 {
            1..=5 | 14 => CompressorOptions::read(reader, cx).map(drop),
            6 => DoubleDeltaOptions::read(reader, cx).map(drop),
            7 | 10 => WindowOptions::read(reader, cx).map(drop),
            15 => ScaleOptions::read(reader, cx).map(drop),
            18 => WebpOptions::read(reader, cx).map(drop),
            19 => DeltaOptions::read(reader, cx).map(drop),
            _ => reader.part(
                "bytes",
                "bytes",
                "Options that no filter reads.",
                |_| String::new(),
                |reader| reader.take(reader.remaining()).map(drop),
            ),
        })?;
        Ok(content.get(..byte_len as usize).unwrap_or_default().to_vec())
    }
    fn write(&self, value: &Vec<u8>, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        Bytes32.write(value, writer, cx)
    }
}

/// A filter pipeline as configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pipeline;

impl Leaf<FilterPipeline> for Pipeline {
    fn on_disk() -> String {
        "[filter pipeline]".into()
    }
    fn show(value: &FilterPipeline) -> String {
        shown(value)
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<FilterPipeline> {
        let stored = StoredPipeline::read(reader, cx)?;
        let filters = stored.filters.iter().map(|filter| decode(filter, cx)).collect::<Result<_>>()?;
        Ok(FilterPipeline { max_chunk_size: stored.max_chunk_size, filters })
    }
    fn write(&self, value: &FilterPipeline, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        let filters = value.filters.iter().map(|filter| encode(filter, cx)).collect::<Result<_>>()?;
        StoredPipeline { max_chunk_size: value.max_chunk_size, filters }.write(writer, cx)
    }
}

/// The filters of a pipeline as text.
fn shown(pipeline: &FilterPipeline) -> String {
    let filters: Vec<String> = pipeline.filters.iter().map(|filter| format!("{filter:?}")).collect();
    if filters.is_empty() { "no filters".into() } else { filters.join(", ") }
}

/// A filter pipeline behind its length in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SizedPipeline;

impl Leaf<FilterPipeline> for SizedPipeline {
    fn on_disk() -> String {
        "u32 length, [filter pipeline]".into()
    }
    fn show(value: &FilterPipeline) -> String {
        shown(value)
    }
    fn read(&self, reader: &mut Reader<'_>, cx: &Cx<'_>) -> Result<FilterPipeline> {
        let byte_len = reader.framing("byte_len", "u32", Reader::u32)?;
        reader.within(byte_len.into(), |reader| Pipeline.read(reader, cx))
    }
    fn write(&self, value: &FilterPipeline, writer: &mut Writer, cx: &Cx<'_>) -> Result<()> {
        let mut pipeline = Writer::new();
        Pipeline.write(value, &mut pipeline, cx)?;
        Bytes32.write(&pipeline.into_bytes(), writer, cx)
    }
}

/// The number that options repeat for a compressor; it is not always the filter's tag.
fn compressor(filter: &Filter) -> u8 {
    match filter {
        Filter::Dictionary { .. } => 7,
        Filter::Delta { .. } => 8,
        other => other.tag(),
    }
}

fn decode(stored: &StoredFilter, cx: &Cx<'_>) -> Result<Filter> {
    let level = || CompressorOptions::from_bytes(&stored.options, cx).map(|options| options.level);
    let window = || WindowOptions::from_bytes(&stored.options, cx).map(|options| options.max_window);
    let own = |datatype| (datatype != Datatype::Any).then_some(datatype);
    let filter = match stored.tag {
        0 => Filter::None,
        1 => Filter::Gzip { level: level()? },
        2 => Filter::Zstd { level: level()? },
        3 => Filter::Lz4 { level: level()? },
        4 => Filter::Rle { level: level()? },
        5 => Filter::Bzip2 { level: level()? },
        6 => {
            let options = DoubleDeltaOptions::from_bytes(&stored.options, cx)?;
            Filter::DoubleDelta { level: options.level, reinterpret: own(options.reinterpret) }
        }
        7 => Filter::BitWidthReduction { max_window: window()? },
        8 => Filter::Bitshuffle,
        9 => Filter::Byteshuffle,
        10 => Filter::PositiveDelta { max_window: window()? },
        11 => Filter::Aes256Gcm,
        12 => Filter::Md5,
        13 => Filter::Sha256,
        14 => Filter::Dictionary { level: level()? },
        15 => {
            let options = ScaleOptions::from_bytes(&stored.options, cx)?;
            let width = match options.byte_width {
                1 => ScaleWidth::One,
                2 => ScaleWidth::Two,
                4 => ScaleWidth::Four,
                8 => ScaleWidth::Eight,
                other => {
                    return Err(Error::corrupt(format!(
                        "float scaling to {other} bytes; 1, 2, 4 or 8 are known"
                    )));
                }
            };
            Filter::ScaleFloat(FloatScale { factor: options.factor, offset: options.offset, width })
        }
        16 => Filter::Xor,
        17 => Filter::Deprecated,
        18 => {
            let WebpOptions { quality, format, lossless, y_extent, x_extent } =
                WebpOptions::from_bytes(&stored.options, cx)?;
            Filter::Webp { quality, format, lossless, y_extent, x_extent }
        }
        19 => {
            let options = DeltaOptions::from_bytes(&stored.options, cx)?;
            Filter::Delta { level: options.level, reinterpret: own(options.reinterpret) }
        }
        tag => return Err(Error::unsupported(format!("filter type {tag} is unknown"))),
    };
    Ok(filter)
}

fn encode(filter: &Filter, cx: &Cx<'_>) -> Result<StoredFilter> {
    let compressor = compressor(filter);
    let field_type = |reinterpret: Option<Datatype>| reinterpret.unwrap_or(Datatype::Any);
    let options = match *filter {
        Filter::Gzip { level }
        | Filter::Zstd { level }
        | Filter::Lz4 { level }
        | Filter::Rle { level }
        | Filter::Bzip2 { level }
        | Filter::Dictionary { level } => CompressorOptions { compressor, level }.to_bytes(cx)?,
        Filter::DoubleDelta { level, reinterpret } => {
            DoubleDeltaOptions { compressor, level, reinterpret: field_type(reinterpret) }.to_bytes(cx)?
        }
        Filter::Delta { level, reinterpret } => {
            DeltaOptions { compressor, level, reinterpret: field_type(reinterpret) }.to_bytes(cx)?
        }
        Filter::BitWidthReduction { max_window } | Filter::PositiveDelta { max_window } => {
            WindowOptions { max_window }.to_bytes(cx)?
        }
        Filter::ScaleFloat(FloatScale { factor, offset, width }) => {
            ScaleOptions { factor, offset, byte_width: width as u64 }.to_bytes(cx)?
        }
        Filter::Webp { quality, format, lossless, y_extent, x_extent } => {
            WebpOptions { quality, format, lossless, y_extent, x_extent }.to_bytes(cx)?
        }
        Filter::None
        | Filter::Bitshuffle
        | Filter::Byteshuffle
        | Filter::Aes256Gcm
        | Filter::Md5
        | Filter::Sha256
        | Filter::Xor
        | Filter::Deprecated => Vec::new(),
    };
    Ok(StoredFilter { tag: filter.tag(), options })
}
