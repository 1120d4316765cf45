//! A small bitmap font: letters of 5 x 7 pixels, with two more below the line.

use std::sync::OnceLock;

/// Bands of glyphs: a line with the characters, then nine lines of pixels, glyphs six columns apart.
static BANDS: &str = include_str!("font.txt");

/// Pixels between the left sides of two letters.
pub(super) const ADVANCE: usize = 6;

/// Rows of a glyph, two of them below the line that letters stand on.
pub(super) const ROWS: usize = 9;

/// Five pixels a row, the leftmost in bit 4.
pub(super) type Glyph = [u8; ROWS];

/// The picture of a character; unknown ones are boxes, accents are not known.
pub(super) fn glyph(c: char) -> Glyph {
    static GLYPHS: OnceLock<Vec<(char, Glyph)>> = OnceLock::new();
    if c == ' ' {
        return [0; ROWS];
    }
    let glyphs = GLYPHS.get_or_init(parse);
    let found = glyphs.iter().find(|(known, _)| *known == c);
    found.map_or([0b11111, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b11111, 0, 0], |(_, glyph)| *glyph)
}

/// The width of a text in pixels of scale 1.
pub(super) fn width(text: &str) -> usize {
    (text.chars().count() * ADVANCE).saturating_sub(1)
}

fn parse() -> Vec<(char, Glyph)> {
    let mut glyphs = Vec::new();
    for band in BANDS.split("\n\n") {
        let mut lines = band.lines();
        let characters: Vec<char> = lines.next().unwrap_or_default().chars().filter(|c| *c != ' ').collect();
        let rows: Vec<&[u8]> = lines.map(str::as_bytes).collect();
        for (idx, &character) in characters.iter().enumerate() {
            let mut glyph = [0; ROWS];
            for (bits, row) in glyph.iter_mut().zip(&rows) {
                let pixels = row.iter().skip(idx * ADVANCE).take(5);
                *bits = pixels.fold(0, |bits, pixel| bits << 1 | u8::from(*pixel == b'#'));
            }
            glyphs.push((character, glyph));
        }
    }
    glyphs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_and_digit_has_its_own_picture() {
        let characters: Vec<char> = ('a'..='z')
            .chain('A'..='Z')
            .chain('0'..='9')
            .chain(".,:-+/()'&%=<>_°*^[]\"#!?;|~@$\\{}µ²³×".chars())
            .collect();
        let unknown = glyph('\u{7}');
        for (idx, &c) in characters.iter().enumerate() {
            assert_ne!(glyph(c), unknown, "{c}");
            assert!(characters[..idx].iter().all(|&other| glyph(other) != glyph(c)), "{c}");
        }
        assert_eq!(glyph('T')[0], 0b11111);
        assert_eq!(glyph('T')[6], 0b00100);
    }
}
