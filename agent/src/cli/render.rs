//! How things look on a terminal and elsewhere: alignment, colour, and texts that came from outside.

use std::io::{IsTerminal, stdout};

use crate::fabric::Unchecked;

/// What a text is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// As it is.
    Plain,
    /// In order.
    Good,
    /// Worth a look.
    Doubtful,
    /// Wrong.
    Bad,
    /// Secondary.
    Faint,
    /// A heading.
    Strong,
}

/// Whether texts are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Style {
    coloured: bool,
}

impl Style {
    /// Colours on a terminal only, and not where `NO_COLOR` asks for none.
    pub(super) fn of_stdout() -> Self {
        let asked_for_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            coloured: stdout().is_terminal() && !asked_for_none,
        }
    }

    /// A text in its tone.
    pub(super) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => "",
            Tone::Good => "32",
            Tone::Doubtful => "33",
            Tone::Bad => "31",
            Tone::Faint => "2",
            Tone::Strong => "1",
        };
        if self.coloured && !code.is_empty() && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Rows whose columns are as wide as their widest cell.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<(Tone, String)>>,
}

impl Table {
    /// Adds a row.
    pub(super) fn row<const N: usize>(&mut self, cells: [(Tone, String); N]) {
        self.rows.push(cells.into());
    }

    /// Writes the rows, each behind this indentation. The last column ends where its text ends.
    pub(super) fn write(&self, into: &mut String, indent: usize, style: Style) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|(_, text)| text.chars().count())
                .max()
                .unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = " ".repeat(indent);
            let mut gap = 0;
            for ((tone, text), width) in row.iter().zip(&widths) {
                if !text.is_empty() {
                    line.push_str(&" ".repeat(gap));
                    line.push_str(&style.paint(*tone, text));
                    gap = 0;
                }
                gap += width + 2
                    - if text.is_empty() {
                        0
                    } else {
                        text.chars().count()
                    };
                if *width == 0 {
                    gap -= 2;
                }
            }
            into.push_str(&line);
            into.push('\n');
        }
    }
}

/// A text from outside, safe to print: what could move a terminal's cursor is written out.
pub(super) fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
    }
    safe
}

/// What could not be looked at; nothing where there is nothing.
pub(super) fn unchecked_lines(text: &mut String, unchecked: &[Unchecked], style: Style) {
    if unchecked.is_empty() {
        return;
    }
    text.push_str(&format!("\n{}\n", style.paint(Tone::Strong, "not checked")));
    let mut table = Table::default();
    for unchecked in unchecked {
        table.row([
            (Tone::Doubtful, printable(&unchecked.object)),
            (Tone::Plain, printable(&unchecked.reason)),
        ]);
    }
    table.write(text, 2, style);
}

/// A size in sectors of 512 bytes, for people.
pub(super) fn size(sectors: u64) -> String {
    const UNITS: [(&str, u64); 4] = [
        ("TiB", 1 << 31),
        ("GiB", 1 << 21),
        ("MiB", 1 << 11),
        ("KiB", 2),
    ];
    match UNITS.iter().find(|(_, unit)| sectors >= *unit) {
        Some((name, unit)) => {
            let (whole, tenths) = (sectors / unit, sectors % unit * 10 / unit);
            format!("{whole}.{tenths} {name}")
        }
        None => format!("{} B", sectors * 512),
    }
}

/// `1 leg`, `3 legs`.
pub(super) fn counted(count: usize, singular: &str) -> String {
    match count {
        1 => format!("1 {singular}"),
        n => format!("{n} {singular}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_the_last_one_is_not_padded() {
        let mut table = Table::default();
        let plain = |text: &str| (Tone::Plain, text.to_owned());
        table.row([plain("nvme2"), plain("live"), plain("x")]);
        table.row([plain("nvme10"), plain("connecting"), plain("yz")]);
        table.row([plain("nvme11"), plain(""), plain("z")]);
        let mut text = String::new();
        table.write(&mut text, 2, Style { coloured: false });
        assert_eq!(
            text,
            "  nvme2   live        x\n  nvme10  connecting  yz\n  nvme11              z\n"
        );
    }

    #[test]
    fn colour_does_not_shift_columns() {
        let mut table = Table::default();
        table.row([(Tone::Bad, "a".to_owned()), (Tone::Plain, "b".to_owned())]);
        table.row([
            (Tone::Plain, "ccc".to_owned()),
            (Tone::Plain, "d".to_owned()),
        ]);
        let mut text = String::new();
        table.write(&mut text, 0, Style { coloured: true });
        assert_eq!(text, "\u{1b}[31ma\u{1b}[0m    b\nccc  d\n");
    }

    #[test]
    fn a_text_from_outside_cannot_drive_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\0c"), "a\\u{1b}[2Jb\\u{0}c");
        assert_eq!(printable("Größe 5"), "Größe 5");
    }

    #[test]
    fn sizes_are_in_the_largest_unit_that_fits() {
        assert_eq!(size(204_800), "100.0 MiB");
        assert_eq!(size(1), "512 B");
        assert_eq!(size(3 << 20), "1.5 GiB");
    }
}
