//! The header of NumPy files.

use smalti::Datatype;

/// What stands in front of the values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The type, such as `<f8`.
    pub descr: String,
    /// Whether the first index varies fastest.
    pub is_fortran: bool,
    /// Positions on each axis.
    pub shape: Vec<usize>,
}

/// NumPy's name of the type that a datatype's values are stored as; `None` where it has none.
pub(crate) fn descr(datatype: Datatype) -> Option<String> {
    use Datatype::*;
    let plain = |letter: char| {
        format!("{}{letter}{}", if datatype.byte_len() == 1 { '|' } else { '<' }, datatype.byte_len())
    };
    Some(match datatype {
        Int8 | Int16 | Int32 | Int64 => plain('i'),
        UInt8 | UInt16 | UInt32 | UInt64 => plain('u'),
        Float32 | Float64 => plain('f'),
        Bool => plain('b'),
        _ if datatype.is_datetime() => format!("<M8[{}]", unit(datatype)?),
        _ if datatype.is_time() => format!("<m8[{}]", unit(datatype)?),
        _ => return None,
    })
}

/// NumPy's letters of a unit of time.
fn unit(datatype: Datatype) -> Option<&'static str> {
    use Datatype::*;
    Some(match datatype {
        DateTimeYear => "Y",
        DateTimeMonth => "M",
        DateTimeWeek => "W",
        DateTimeDay => "D",
        DateTimeHr | TimeHr => "h",
        DateTimeMin | TimeMin => "m",
        DateTimeSec | TimeSec => "s",
        DateTimeMs | TimeMs => "ms",
        DateTimeUs | TimeUs => "us",
        DateTimeNs | TimeNs => "ns",
        DateTimePs | TimePs => "ps",
        DateTimeFs | TimeFs => "fs",
        DateTimeAs | TimeAs => "as",
        _ => return None,
    })
}

impl Header {
    /// The bytes in front of the values; values start at a multiple of 64.
    pub fn encode(&self) -> Vec<u8> {
        let axes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let comma = if axes.len() == 1 { "," } else { "" };
        let order = if self.is_fortran { "True" } else { "False" };
        let mut text = format!(
            "{{'descr': '{}', 'fortran_order': {order}, 'shape': ({}{comma}), }}",
            self.descr,
            axes.join(", ")
        );
        let start = 10;
        let end = (start + text.len() + 1).next_multiple_of(64);
        text.extend(std::iter::repeat_n(' ', end - start - text.len() - 1));
        text.push('\n');
        // Shapes of so many axes that this does not fit 16 bits are beyond what arrays have.
        let byte_len = u16::try_from(text.len()).unwrap_or(u16::MAX);
        [b"\x93NUMPY\x01\x00".as_slice(), &byte_len.to_le_bytes(), text.as_bytes()].concat()
    }

    /// So many bytes tell where the header ends.
    pub const PREFIX_BYTE_LEN: u64 = 12;

    /// Where the header ends, told by the first bytes of a file.
    pub fn byte_len(content: &[u8]) -> Result<usize, String> {
        let (text_len, rest) = Header::text_len(content)?;
        Ok((content.len() - rest.len()).saturating_add(text_len))
    }

    /// The header at the start of a file, and where the values start.
    pub fn decode(content: &[u8]) -> Result<(Header, usize), String> {
        let (byte_len, rest) = Header::text_len(content)?;
        let text = rest.get(..byte_len).ok_or("the header is cut short")?;
        let text = std::str::from_utf8(text).map_err(|_| "the header is no text")?;
        let header = Header { descr: descr_of(text)?, is_fortran: order_of(text)?, shape: shape_of(text)? };
        Ok((header, content.len() - rest.len() + byte_len))
    }

    /// Bytes of the header's text, and what follows that number.
    fn text_len(content: &[u8]) -> Result<(usize, &[u8]), String> {
        let rest =
            content.strip_prefix(b"\x93NUMPY").ok_or("no NumPy file: it does not start with \\x93NUMPY")?;
        let cut = || "the header is cut short".to_string();
        let (&major, rest) = rest.split_first().ok_or_else(cut)?;
        let (_, rest) = rest.split_first().ok_or_else(cut)?;
        match major {
            1 => rest.split_first_chunk().map(|(len, rest)| (usize::from(u16::from_le_bytes(*len)), rest)),
            2 | 3 => rest.split_first_chunk().map(|(len, rest)| (u32::from_le_bytes(*len) as usize, rest)),
            other => return Err(format!("NumPy files of version {other} are unknown")),
        }
        .ok_or_else(cut)
    }
}

/// What stands after `'key':`.
fn after<'a>(text: &'a str, key: &str) -> Result<&'a str, String> {
    let at = text.find(&format!("'{key}'")).ok_or_else(|| format!("the header has no {key}"))?;
    let (_, value) = text[at..].split_once(':').ok_or_else(|| format!("the header has no value of {key}"))?;
    Ok(value.trim_start())
}

fn descr_of(text: &str) -> Result<String, String> {
    let value = after(text, "descr")?;
    let value = value.strip_prefix('\'').and_then(|value| value.split('\'').next());
    value.map(String::from).ok_or_else(|| "values of several fields are not supported".into())
}

fn order_of(text: &str) -> Result<bool, String> {
    let value = after(text, "fortran_order")?;
    match (value.starts_with("True"), value.starts_with("False")) {
        (true, _) => Ok(true),
        (_, true) => Ok(false),
        _ => Err("fortran_order is neither True nor False".into()),
    }
}

fn shape_of(text: &str) -> Result<Vec<usize>, String> {
    let value = after(text, "shape")?;
    let inner =
        value.strip_prefix('(').and_then(|value| value.split(')').next()).ok_or("the shape is no tuple")?;
    let axes = inner.split(',').map(str::trim).filter(|axis| !axis.is_empty());
    axes.map(|axis| {
        axis.trim_end_matches('L').parse().map_err(|_| format!("{axis:?} in the shape is no number"))
    })
    .collect()
}
