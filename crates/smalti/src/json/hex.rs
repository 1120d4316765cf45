//! Bytes as pairs of hexadecimal digits.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Appends two digits a byte.
pub fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// Two digits a byte.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(2 * bytes.len());
    push(&mut out, bytes);
    out.into_iter().map(char::from).collect()
}

/// The bytes of digits in either case; `None` for anything else and for an odd number of them.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|value| value as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_their_digits() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&bytes)), Some(bytes));
        assert_eq!(decode("AbCd"), Some(vec![0xab, 0xcd]));
        assert_eq!((decode("abc"), decode("+1"), decode("é")), (None, None, None));
    }
}
