//! Reading a TOML document with every mistake placed: file, line, field.

use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::{length, nearest, rate};
use crate::watch::Rate;

/// What is wrong in a document, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {}{problem}", if field.is_empty() { String::new() } else { format!("{field}: ") })]
pub struct DocumentError {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The field, from the top (`subsystem[2].published`); empty where the text is no TOML at all.
    pub field: String,
    /// What is wrong.
    pub problem: String,
}

/// A document's text, to find lines in.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl Source<'_> {
    pub(super) fn error(self, field: &str, span: Range<usize>, problem: String) -> DocumentError {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        DocumentError {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            field: field.to_owned(),
            problem,
        }
    }

    /// Parses the text.
    pub(super) fn parse(&self) -> Result<Spanned<DeTable<'_>>, DocumentError> {
        DeTable::parse(self.text).map_err(|error| {
            self.error("", error.span().unwrap_or(0..0), error.message().to_owned())
        })
    }
}

/// A table of a document, of which only known keys may be set.
pub(super) struct Table<'a> {
    source: Source<'a>,
    /// Where it is, from the top; empty for the top itself.
    path: String,
    span: Range<usize>,
    entries: &'a DeTable<'a>,
}

/// One value of a document.
pub(super) struct Field<'a> {
    source: Source<'a>,
    path: String,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Table<'a> {
    /// The document's outermost table. Fails on the first key that is not known.
    pub(super) fn top(
        source: Source<'a>,
        document: &'a Spanned<DeTable<'a>>,
        known: &[&str],
    ) -> Result<Self, DocumentError> {
        let table = Self {
            source,
            path: String::new(),
            span: document.span(),
            entries: document.get_ref(),
        };
        table.check_keys(known)?;
        Ok(table)
    }

    fn check_keys(&self, known: &[&str]) -> Result<(), DocumentError> {
        let unknown = self
            .entries
            .keys()
            .find(|key| !known.contains(&key.get_ref().as_ref()));
        match unknown {
            None => Ok(()),
            Some(key) => {
                let hint = nearest::hint(key.get_ref(), known);
                let path = joined(&self.path, key.get_ref());
                Err(self
                    .source
                    .error(&path, key.span(), format!("unknown key; {hint}")))
            }
        }
    }

    /// A field, if it is set.
    pub(super) fn get(&self, key: &str) -> Option<Field<'a>> {
        let value = self.entries.get(key)?;
        Some(Field {
            source: self.source,
            path: joined(&self.path, key),
            value,
        })
    }

    /// A field that must be set.
    pub(super) fn require(&self, key: &str) -> Result<Field<'a>, DocumentError> {
        self.get(key).ok_or_else(|| {
            self.source.error(
                &joined(&self.path, key),
                self.span.clone(),
                "missing".to_owned(),
            )
        })
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

impl<'a> Field<'a> {
    /// What is wrong with this field.
    pub(super) fn error(&self, problem: String) -> DocumentError {
        self.source.error(&self.path, self.value.span(), problem)
    }

    fn expected(&self, what: &str) -> DocumentError {
        self.error(format!(
            "expected {what}, found {}",
            found(self.value.get_ref())
        ))
    }

    pub(super) fn string(&self) -> Result<&'a str, DocumentError> {
        self.text_of("a string")
    }

    fn text_of(&self, what: &str) -> Result<&'a str, DocumentError> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.expected(what)),
        }
    }

    /// A string that is parsed into something. `what` names it.
    pub(super) fn parsed<T: std::str::FromStr>(&self, what: &str) -> Result<T, DocumentError>
    where
        T::Err: std::fmt::Display,
    {
        let text = self.text_of(what)?;
        text.parse()
            .map_err(|problem| self.error(format!("expected {what}: {problem}")))
    }

    pub(super) fn boolean(&self) -> Result<bool, DocumentError> {
        match self.value.get_ref() {
            DeValue::Boolean(value) => Ok(*value),
            _ => Err(self.expected("true or false")),
        }
    }

    pub(super) fn number(&self) -> Result<u32, DocumentError> {
        const WHAT: &str = "a number from 0 to 4294967295";
        match self.value.get_ref() {
            DeValue::Integer(number) => {
                let radix = number.radix();
                u32::from_str_radix(number.as_str(), radix)
                    .map_err(|_| self.error(format!("expected {WHAT}, found {}", number.as_str())))
            }
            _ => Err(self.expected(WHAT)),
        }
    }

    pub(super) fn length(&self) -> Result<Duration, DocumentError> {
        let text = self.text_of(length::WHAT)?;
        length::parse(text)
            .ok_or_else(|| self.error(format!("expected {}, found \"{text}\"", length::WHAT)))
    }

    pub(super) fn rate(&self) -> Result<Rate, DocumentError> {
        let text = self.text_of(rate::WHAT)?;
        rate::parse(text)
            .ok_or_else(|| self.error(format!("expected {}, found \"{text}\"", rate::WHAT)))
    }

    pub(super) fn list(&self) -> Result<Vec<Field<'a>>, DocumentError> {
        let array: &DeArray<'_> = match self.value.get_ref() {
            DeValue::Array(array) => array,
            _ => return Err(self.expected("a list")),
        };
        let items = array.iter().enumerate().map(|(at, value)| Field {
            source: self.source,
            path: format!("{}[{at}]", self.path),
            value,
        });
        Ok(items.collect())
    }

    /// A table. Fails on the first key that is not known.
    pub(super) fn table(&self, known: &[&str]) -> Result<Table<'a>, DocumentError> {
        match self.value.get_ref() {
            DeValue::Table(entries) => {
                let table = Table {
                    source: self.source,
                    path: self.path.clone(),
                    span: self.value.span(),
                    entries,
                };
                table.check_keys(known)?;
                Ok(table)
            }
            _ => Err(self.expected("a table")),
        }
    }
}

fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(_) => "an integer".to_owned(),
        DeValue::Float(_) => "a fraction".to_owned(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
