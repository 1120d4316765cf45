//! The configuration of filter pipelines, as schemas hold it.

use crate::Datatype;
use std::fmt;

/// The chunk size of a pipeline that states none, in bytes.
pub const DEFAULT_MAX_CHUNK_SIZE: u32 = 65536;

/// A list of filters that tiles pass on their way to disk, first to last, and the size of the chunks they work on.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterPipeline {
    /// The largest chunk of unfiltered bytes, before it is cut to whole cells.
    pub max_chunk_size: u32,
    /// The filters in the order in which writing applies them.
    pub filters: Vec<Filter>,
}

impl FilterPipeline {
    /// A pipeline with the default chunk size.
    pub fn new(filters: impl IntoIterator<Item = Filter>) -> Self {
        FilterPipeline { max_chunk_size: DEFAULT_MAX_CHUNK_SIZE, filters: filters.into_iter().collect() }
    }

    /// Whether bytes pass unchanged.
    pub fn is_empty(&self) -> bool {
        self.filters.iter().all(|filter| matches!(filter, Filter::None))
    }
}

impl Default for FilterPipeline {
    fn default() -> Self {
        FilterPipeline::new([])
    }
}

/// One filter with its options (specification: `filter_pipeline.md`, filter types and options).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Filter {
    /// Passes bytes on.
    None,
    /// Deflate in a zlib stream; level 1 to 9, negative for the default.
    Gzip {
        /// Compression level.
        level: i32,
    },
    /// Zstandard; level up to 22, negative levels are faster; below -7 stands for 3.
    Zstd {
        /// Compression level.
        level: i32,
    },
    /// LZ4 blocks.
    Lz4 {
        /// Compression level; kept, without effect.
        level: i32,
    },
    /// Run lengths.
    Rle {
        /// Compression level; kept, without effect.
        level: i32,
    },
    /// Bzip2.
    Bzip2 {
        /// Compression level 1 to 9; negative for the default.
        level: i32,
    },
    /// Differences of differences of integers, bit-packed.
    DoubleDelta {
        /// Compression level; kept, without effect.
        level: i32,
        /// The type to read the bytes as; `None` for the field's own.
        reinterpret: Option<Datatype>,
    },
    /// The least width that holds the values of a window.
    BitWidthReduction {
        /// Window size in bytes.
        max_window: u32,
    },
    /// Transposes bits.
    Bitshuffle,
    /// Transposes bytes.
    Byteshuffle,
    /// Differences of non-decreasing integers.
    PositiveDelta {
        /// Window size in bytes.
        max_window: u32,
    },
    /// AES-256-GCM; not part of schemas, appended to every pipeline of an encrypted array.
    Aes256Gcm,
    /// Dictionary encoding of var-length strings.
    Dictionary {
        /// Compression level; kept, without effect.
        level: i32,
    },
    /// An MD5 digest in front of the chunk's parts.
    Md5,
    /// A SHA-256 digest in front of the chunk's parts.
    Sha256,
    /// Floats to integers by factor and offset; loses precision.
    ScaleFloat(FloatScale),
    /// The exclusive-or of neighbours.
    Xor,
    /// Marks a filter that no release supports any more.
    Deprecated,
    /// WebP images of dense uint8 tiles.
    Webp {
        /// 0 to 100, used by the lossy mode.
        quality: f32,
        /// Arrangement of the colour channels.
        format: WebpFormat,
        /// Whether the pixels survive exactly.
        lossless: bool,
        /// Rows of a tile in pixels; 0 until the schema sets it.
        y_extent: u16,
        /// Columns of a tile in pixels; 0 until the schema sets it.
        x_extent: u16,
    },
    /// Differences of integers.
    Delta {
        /// Compression level; kept, without effect.
        level: i32,
        /// The type to read the bytes as; `None` for the field's own.
        reinterpret: Option<Datatype>,
    },
}

/// Options of the float-scaling filter: stored = round((value - offset) / factor).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FloatScale {
    /// Factor.
    pub factor: f64,
    /// Offset.
    pub offset: f64,
    /// Width of the stored integers.
    pub width: ScaleWidth,
}

/// Width in bytes of the integers that float scaling stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the widths")]
#[repr(u8)]
pub enum ScaleWidth {
    One = 1,
    Two = 2,
    Four = 4,
    Eight = 8,
}

/// Arrangement of colour channels for WebP, with its on-disk tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the arrangements")]
#[repr(u8)]
pub enum WebpFormat {
    None = 0,
    Rgb = 1,
    Bgr = 2,
    Rgba = 3,
    Bgra = 4,
}

impl WebpFormat {
    /// The arrangement of an on-disk tag.
    pub fn from_tag(tag: u8) -> Option<Self> {
        use WebpFormat::*;
        [None, Rgb, Bgr, Rgba, Bgra].get(usize::from(tag)).copied()
    }

    /// Bytes of one pixel.
    pub fn pixel_depth(self) -> usize {
        match self {
            WebpFormat::None => 0,
            WebpFormat::Rgb | WebpFormat::Bgr => 3,
            WebpFormat::Rgba | WebpFormat::Bgra => 4,
        }
    }
}

impl Filter {
    /// Whether the format counts the filter among its compressors (specification: `tile.md`, compression filters).
    pub fn is_compressor(&self) -> bool {
        matches!(
            self,
            Filter::Gzip { .. }
                | Filter::Zstd { .. }
                | Filter::Lz4 { .. }
                | Filter::Rle { .. }
                | Filter::Bzip2 { .. }
                | Filter::DoubleDelta { .. }
                | Filter::Dictionary { .. }
                | Filter::Delta { .. }
        )
    }

    /// The on-disk tag of the filter's type.
    pub fn tag(&self) -> u8 {
        match self {
            Filter::None => 0,
            Filter::Gzip { .. } => 1,
            Filter::Zstd { .. } => 2,
            Filter::Lz4 { .. } => 3,
            Filter::Rle { .. } => 4,
            Filter::Bzip2 { .. } => 5,
            Filter::DoubleDelta { .. } => 6,
            Filter::BitWidthReduction { .. } => 7,
            Filter::Bitshuffle => 8,
            Filter::Byteshuffle => 9,
            Filter::PositiveDelta { .. } => 10,
            Filter::Aes256Gcm => 11,
            Filter::Md5 => 12,
            Filter::Sha256 => 13,
            Filter::Dictionary { .. } => 14,
            Filter::ScaleFloat(_) => 15,
            Filter::Xor => 16,
            Filter::Deprecated => 17,
            Filter::Webp { .. } => 18,
            Filter::Delta { .. } => 19,
        }
    }

    /// The name in schemas printed as JSON, such as `bit_width_reduction`.
    pub fn name(&self) -> &'static str {
        match self {
            Filter::None => "none",
            Filter::Gzip { .. } => "gzip",
            Filter::Zstd { .. } => "zstd",
            Filter::Lz4 { .. } => "lz4",
            Filter::Rle { .. } => "rle",
            Filter::Bzip2 { .. } => "bzip2",
            Filter::DoubleDelta { .. } => "double_delta",
            Filter::BitWidthReduction { .. } => "bit_width_reduction",
            Filter::Bitshuffle => "bitshuffle",
            Filter::Byteshuffle => "byteshuffle",
            Filter::PositiveDelta { .. } => "positive_delta",
            Filter::Aes256Gcm => "aes_256_gcm",
            Filter::Md5 => "md5",
            Filter::Sha256 => "sha256",
            Filter::Dictionary { .. } => "dictionary",
            Filter::ScaleFloat(_) => "scale_float",
            Filter::Xor => "xor",
            Filter::Deprecated => "deprecated",
            Filter::Webp { .. } => "webp",
            Filter::Delta { .. } => "delta",
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Constructors with libtiledb's defaults for what they do not ask.
impl Filter {
    /// Deflate in a zlib stream, level 1 to 9.
    pub fn gzip(level: i32) -> Filter {
        Filter::Gzip { level }
    }

    /// Zstandard, level up to 22; negative levels are faster, -1 is libtiledb's default.
    pub fn zstd(level: i32) -> Filter {
        Filter::Zstd { level }
    }

    /// LZ4 blocks.
    pub fn lz4() -> Filter {
        Filter::Lz4 { level: -1 }
    }

    /// Run lengths; on var-sized strings as the first filter, of whole strings.
    pub fn rle() -> Filter {
        Filter::Rle { level: -1 }
    }

    /// Bzip2, level 1 to 9.
    pub fn bzip2(level: i32) -> Filter {
        Filter::Bzip2 { level }
    }

    /// Each different string once; the first filter of var-sized ASCII or UTF-8 fields.
    pub fn dictionary() -> Filter {
        Filter::Dictionary { level: -1 }
    }

    /// Differences of integers.
    pub fn delta() -> Filter {
        Filter::Delta { level: -1, reinterpret: None }
    }

    /// Differences of differences of integers, bit-packed.
    pub fn double_delta() -> Filter {
        Filter::DoubleDelta { level: -1, reinterpret: None }
    }

    /// Differences of integers that never fall, in windows of 1024 bytes.
    pub fn positive_delta() -> Filter {
        Filter::PositiveDelta { max_window: 1024 }
    }

    /// The least width that holds the integers of a window of 256 bytes.
    pub fn bit_width_reduction() -> Filter {
        Filter::BitWidthReduction { max_window: 256 }
    }

    /// Transposes bits, for a compressor behind it.
    pub fn bitshuffle() -> Filter {
        Filter::Bitshuffle
    }

    /// Transposes bytes, for a compressor behind it.
    pub fn byteshuffle() -> Filter {
        Filter::Byteshuffle
    }

    /// The exclusive-or of neighbours.
    pub fn xor() -> Filter {
        Filter::Xor
    }

    /// An MD5 digest of every chunk, checked by every read.
    pub fn md5() -> Filter {
        Filter::Md5
    }

    /// A SHA-256 digest of every chunk, checked by every read.
    pub fn sha256() -> Filter {
        Filter::Sha256
    }

    /// Floats as integers of a width, `round((value - offset) / factor)`; loses precision.
    pub fn scale_float(factor: f64, offset: f64, width: ScaleWidth) -> Filter {
        Filter::ScaleFloat(FloatScale { factor, offset, width })
    }
}
