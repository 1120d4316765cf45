//! WebP images of dense `UINT8` tiles: a tile of two dimensions is one image, whose rows hold the colour channels of
//! its pixels in a row (specification: `filters/webp.md`).
//!
//! Metadata: u32 number of parts (one: the chunk is the tile), u32 encoded length; behind it the metadata of the
//! filters before. Data: the WebP file.
#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "pixels are cut into pieces of their depth, 3 or 4"
)]

use crate::context::{ChunkContext, ChunkFilter, MetadataReader};
use crate::parts::Parts;
use ::webp::{BitstreamFeatures, Decoder, Encoder, PixelLayout, WebPConfig};
use smalti_types::{Error, Result, WebpFormat};

/// The options of the filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Webp {
    pub(crate) quality: f32,
    pub(crate) format: WebpFormat,
    pub(crate) lossless: bool,
    /// Rows of a tile.
    pub(crate) y_extent: u16,
    /// Bytes of a row: columns of a tile in the array, pixels times channels in the image.
    pub(crate) x_extent: u16,
}

impl Webp {
    fn layout(&self) -> Option<PixelLayout> {
        match self.format {
            WebpFormat::None => None,
            WebpFormat::Rgb | WebpFormat::Bgr => Some(PixelLayout::Rgb),
            WebpFormat::Rgba | WebpFormat::Bgra => Some(PixelLayout::Rgba),
        }
    }

    fn swaps_red_and_blue(&self) -> bool {
        matches!(self.format, WebpFormat::Bgr | WebpFormat::Bgra)
    }

    fn tile_byte_len(&self) -> usize {
        usize::from(self.x_extent) * usize::from(self.y_extent)
    }
}

impl ChunkFilter for Webp {
    fn encode(&self, input: &Parts, output: &mut Parts, _: &ChunkContext) -> Result<()> {
        let (Some(layout), pixel_depth) = (self.layout(), self.format.pixel_depth()) else {
            return Err(Error::invalid("filter webp: the arrangement of the colour channels is not set"));
        };
        let pixels = input.data.bytes();
        if input.data.len() != 1
            || pixels.len() != self.tile_byte_len()
            || pixels.is_empty()
            || usize::from(self.x_extent) % pixel_depth != 0
        {
            return Err(Error::invalid(format!(
                "filter webp: {} bytes in {} parts are no image of {} rows of {} bytes with {pixel_depth} bytes a pixel",
                pixels.len(),
                input.data.len(),
                self.y_extent,
                self.x_extent,
            )));
        }
        let swapped = self.swaps_red_and_blue().then(|| {
            let mut swapped = pixels.to_vec();
            swap_red_and_blue(&mut swapped, pixel_depth);
            swapped
        });
        let width = u32::from(self.x_extent) / pixel_depth as u32;
        let encoder =
            Encoder::new(swapped.as_deref().unwrap_or(pixels), layout, width, u32::from(self.y_extent));
        let mut config = WebPConfig::new().map_err(|()| Error::invalid("filter webp: no configuration"))?;
        if self.lossless {
            config.lossless = 1;
            // Keeps the colours of transparent pixels, which libwebp changes otherwise.
            config.exact = 1;
            config.quality = 70.0;
        } else {
            config.quality = self.quality;
        }
        let file = encoder
            .encode_advanced(&config)
            .map_err(|error| Error::invalid(format!("filter webp: the image does not encode: {error:?}")))?;
        output.metadata.push_with(|own| {
            own.extend(1u32.to_le_bytes());
            own.extend(crate::compression::length(file.len())?.to_le_bytes());
            Ok::<_, Error>(())
        })?;
        input.metadata.iter().for_each(|part| output.metadata.push(part));
        output.data.push(&file);
        Ok(())
    }

    fn decoded_len(&self, _: MetadataReader<'_>, _: &[u8], _: &ChunkContext) -> Result<usize> {
        Ok(self.tile_byte_len())
    }

    fn decode(
        &self,
        metadata: &mut MetadataReader<'_>,
        data: &[u8],
        out: &mut [u8],
        _: &ChunkContext,
    ) -> Result<()> {
        let part_count = metadata.u32("part_count")?;
        let byte_len = metadata.len32("encoded_length")?;
        if part_count != 1 {
            return Err(metadata.corrupt("part_count", format!("{part_count} images in a tile")));
        }
        let file = data.get(..byte_len).ok_or_else(|| {
            metadata.corrupt("encoded_length", format!("{byte_len} bytes of {}", data.len()))
        })?;
        let Some(layout) = self.layout() else {
            return Err(Error::corrupt("filter webp: the arrangement of the colour channels is not set"));
        };
        let pixel_depth = self.format.pixel_depth();
        // Sizes are compared before anything is decoded: a small file may claim a large image.
        let features = BitstreamFeatures::new(file)
            .ok_or_else(|| metadata.corrupt("data", "the data is no WebP image"))?;
        let pixel_count = out.len() / pixel_depth;
        let claimed = u64::from(features.width()) * u64::from(features.height());
        if claimed != pixel_count as u64 || pixel_count * pixel_depth != out.len() {
            return Err(metadata.corrupt(
                "data",
                format!("an image of {} by {} pixels", features.width(), features.height()),
            ));
        }
        let image =
            Decoder::new(file).decode().ok_or_else(|| metadata.corrupt("data", "the image is damaged"))?;
        let stored_depth = if image.is_alpha() { 4 } else { 3 };
        if image.len() != pixel_count * stored_depth {
            return Err(metadata.corrupt("data", "the image has another size than its header says"));
        }
        match (layout, stored_depth) {
            (PixelLayout::Rgba, 3) => {
                for (target, pixel) in out.chunks_exact_mut(4).zip(image.chunks_exact(3)) {
                    target[..3].copy_from_slice(pixel);
                    target[3] = 255;
                }
            }
            (PixelLayout::Rgb, 4) => {
                for (target, pixel) in out.chunks_exact_mut(3).zip(image.chunks_exact(4)) {
                    target.copy_from_slice(&pixel[..3]);
                }
            }
            _ => out.copy_from_slice(&image),
        }
        if self.swaps_red_and_blue() {
            swap_red_and_blue(out, pixel_depth);
        }
        Ok(())
    }
}

fn swap_red_and_blue(pixels: &mut [u8], pixel_depth: usize) {
    for pixel in pixels.chunks_exact_mut(pixel_depth) {
        pixel.swap(0, 2);
    }
}
