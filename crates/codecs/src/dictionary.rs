//! Dictionary: replaces every string of a var-sized tile by the number of its first appearance.
//!
//! Specification: `filters/dictionary_encoding.md`. Numbers in data and dictionary are big-endian; the offsets become part
//! of the data.
//!
//! ```text
//! metadata    ┌ frame of strings.rs ┬ u8 bytes of a number ┬ u8 bytes of a string length ┬ u32 dictionary byte length ┬ dictionary ┐
//! dictionary  ┌ string length ┬ string ┬ ... ┐   in the order of first appearance
//! data        ┌ number ┬ number ┬ ... ┐   one for each string
//! ```
//!
//! The width of a number is the least that holds the count of all strings, not only of the distinct ones.
#![expect(clippy::cast_possible_truncation, reason = "a number of 64 bits fits a usize where smalti runs")]

use crate::context::{MetadataReader, StringCodec};
use crate::parts::Parts;
use crate::strings::{StringFrame, byte_width, push_be, read_width, strings, take_be};
use crate::words::{Word, words};
use smalti_types::{Error, Result};
use std::collections::HashMap;

/// The dictionary filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dictionary;

impl StringCodec for Dictionary {
    fn encode_strings(&self, data: &[u8], offsets: &[u64], output: &mut Parts) -> Result<()> {
        let number_width = byte_width(offsets.len() as u64);
        let len_width =
            byte_width(strings(data, offsets).map(|string| string.len() as u64).max().unwrap_or(0));
        let mut numbers: HashMap<&[u8], u64> = HashMap::new();
        let mut dictionary = Vec::new();
        let mut before: Option<(&[u8], u64)> = None;
        let encoded_byte_len = output.data.push_with(|out| {
            let start = out.len();
            for string in strings(data, offsets) {
                let number = match before {
                    Some((same, number)) if same == string => number,
                    _ => {
                        let next = numbers.len() as u64;
                        *numbers.entry(string).or_insert_with(|| {
                            push_be(&mut dictionary, string.len() as u64, len_width);
                            dictionary.extend_from_slice(string);
                            next
                        })
                    }
                };
                before = Some((string, number));
                push_be(out, number, number_width);
            }
            out.len() - start
        });
        let dictionary_byte_len = u32::try_from(dictionary.len()).map_err(|_| {
            Error::invalid(format!(
                "filter dictionary: {} bytes of distinct strings in a tile do not fit in 32 bits",
                dictionary.len()
            ))
        })?;
        output.metadata.push_with(|own| {
            StringFrame { strings_byte_len: data.len(), encoded_byte_len, string_count: offsets.len() }
                .write(own)?;
            own.extend_from_slice(&[number_width, len_width]);
            own.extend_from_slice(&dictionary_byte_len.to_le_bytes());
            own.extend_from_slice(&dictionary);
            Ok(())
        })
    }

    fn decoded_string_lens(&self, mut metadata: MetadataReader<'_>, data: &[u8]) -> Result<(usize, usize)> {
        let Encoded { frame, numbers, number_width, words } = Encoded::read(&mut metadata, data)?;
        let longest = words.iter().map(|word| word.len()).max().unwrap_or(0);
        let count = numbers.len() / number_width;
        if frame.string_count != count || frame.strings_byte_len > count.saturating_mul(longest) {
            return Err(metadata.corrupt(
                "strings_byte_len",
                format!(
                    "{count} numbers of strings of at most {longest} bytes do not make {} strings of {} bytes",
                    frame.string_count, frame.strings_byte_len
                ),
            ));
        }
        Ok((frame.strings_byte_len, frame.string_count))
    }

    fn decode_strings(
        &self,
        metadata: &mut MetadataReader<'_>,
        data: &[u8],
        data_out: &mut [u8],
        offsets_out: &mut [u64],
    ) -> Result<()> {
        let Encoded { numbers, number_width, words, .. } = Encoded::read(metadata, data)?;
        let copied = match number_width {
            1 => copy_words::<u8>(numbers, |number| number as usize, &words, data_out, offsets_out),
            2 => copy_words::<u16>(
                numbers,
                |number| number.swap_bytes() as usize,
                &words,
                data_out,
                offsets_out,
            ),
            4 => copy_words::<u32>(
                numbers,
                |number| number.swap_bytes() as usize,
                &words,
                data_out,
                offsets_out,
            ),
            _ => copy_words::<u64>(
                numbers,
                |number| number.swap_bytes() as usize,
                &words,
                data_out,
                offsets_out,
            ),
        };
        copied.ok_or_else(|| {
            metadata.corrupt(
                "data",
                format!(
                    "numbers into a dictionary of {} strings do not make {} bytes",
                    words.len(),
                    data_out.len()
                ),
            )
        })
    }
}

/// A chunk's parts, with the dictionary taken apart.
struct Encoded<'m, 'd> {
    frame: StringFrame,
    numbers: &'d [u8],
    number_width: usize,
    words: Vec<&'m [u8]>,
}

impl<'m, 'd> Encoded<'m, 'd> {
    fn read(metadata: &mut MetadataReader<'m>, data: &'d [u8]) -> Result<Self> {
        let (frame, numbers) = StringFrame::read(metadata, data)?;
        let number_width = read_width(metadata, "number_width")?;
        let len_width = read_width(metadata, "string_length_width")?;
        let dictionary_byte_len = metadata.len32("dictionary_byte_len")?;
        let mut rest = metadata.bytes(dictionary_byte_len, "dictionary")?;
        let mut words = Vec::new();
        while !rest.is_empty() {
            let word = take_be(&mut rest, len_width)
                .and_then(|byte_len| rest.split_at_checked(usize::try_from(byte_len).ok()?))
                .ok_or_else(|| metadata.corrupt("dictionary", format!("string {} is cut", words.len())))?;
            words.push(word.0);
            rest = word.1;
        }
        if !numbers.len().is_multiple_of(number_width) {
            return Err(metadata.corrupt(
                "encoded_byte_len",
                format!("{} bytes are no whole number of numbers of {number_width} bytes", numbers.len()),
            ));
        }
        Ok(Encoded { frame, numbers, number_width, words })
    }
}

/// `None` when a number has no word or the words do not fill the outputs.
#[inline(always)]
fn copy_words<W: Word>(
    numbers: &[u8],
    index: impl Fn(W) -> usize,
    dictionary: &[&[u8]],
    mut out: &mut [u8],
    offsets: &mut [u64],
) -> Option<()> {
    let (numbers, _) = words::<W>(numbers);
    if numbers.len() != offsets.len() {
        return None;
    }
    let mut offset = 0;
    for (number, start) in numbers.iter().zip(offsets) {
        let word = dictionary.get(index(W::load(*number)))?;
        let (copy, rest) = out.split_at_mut_checked(word.len())?;
        copy.copy_from_slice(word);
        out = rest;
        *start = offset;
        offset += word.len() as u64;
    }
    out.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden;
    use proptest::prelude::*;

    #[test]
    fn strings_are_numbered_in_the_order_of_their_first_appearance() {
        let mut output = Parts::default();
        Dictionary.encode_strings(b"bbabb", &[0, 2, 3], &mut output).unwrap();
        assert_eq!(output.data.bytes(), [0, 1, 0]);
        assert_eq!(output.metadata.bytes()[20..], [1, 1, 5, 0, 0, 0, 2, b'b', b'b', 1, b'a']);
    }

    #[test]
    fn chunks_are_those_of_the_reference() {
        golden::check_string_codec("dictionary", &Dictionary);
    }

    proptest! {
        #[test]
        fn strings_of_every_length_return(all in proptest::collection::vec("[ab]{0,3}|[ä-ü]{80,130}", 1..400)) {
            let mut offsets = Vec::new();
            let mut data = Vec::new();
            for string in &all {
                offsets.push(data.len() as u64);
                data.extend_from_slice(string.as_bytes());
            }
            let codecs: [&dyn StringCodec; 2] = [&Dictionary, &crate::rle::Rle];
            for codec in codecs {
                let mut output = Parts::default();
                codec.encode_strings(&data, &offsets, &mut output).unwrap();
                let mut reader = MetadataReader::new("test", output.metadata.bytes());
                let (byte_len, count) = codec.decoded_string_lens(reader.clone(), output.data.bytes()).unwrap();
                let (mut out, mut out_offsets) = (vec![0; byte_len], vec![9; count]);
                codec.decode_strings(&mut reader, output.data.bytes(), &mut out, &mut out_offsets).unwrap();
                prop_assert_eq!(&out, &data);
                prop_assert_eq!(&out_offsets, &offsets);
            }
        }
    }
}
