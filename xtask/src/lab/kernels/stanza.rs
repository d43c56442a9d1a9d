//! The package paragraphs that apt-cache prints (deb-control format).

use std::collections::HashMap;

/// One package in one version.
#[derive(Debug, Default, Clone)]
pub(crate) struct Stanza {
    fields: HashMap<String, String>,
}

impl Stanza {
    /// All paragraphs of the text; those without a name and version are left out.
    pub(crate) fn parse_all(text: &str) -> Vec<Self> {
        let paragraphs = text.split("\n\n").map(Self::parse);
        paragraphs
            .filter(|stanza| !stanza.name().is_empty() && !stanza.version().is_empty())
            .collect()
    }

    fn parse(paragraph: &str) -> Self {
        // A folded line begins with a space and has no field name; only descriptions are folded in an index.
        let lines = paragraph
            .lines()
            .filter(|line| !line.starts_with(char::is_whitespace));
        let fields = lines.filter_map(|line| line.split_once(':'));
        Self {
            fields: fields
                .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
                .collect(),
        }
    }

    /// The package's name.
    pub(crate) fn name(&self) -> &str {
        self.field("Package")
    }

    /// Its version.
    pub(crate) fn version(&self) -> &str {
        self.field("Version")
    }

    /// SHA-256 of its archive, as the signed index states it.
    pub(crate) fn sha256(&self) -> &str {
        self.field("SHA256")
    }

    /// Names of the packages it depends on; of alternatives the first.
    pub(crate) fn depends(&self) -> impl Iterator<Item = &str> {
        self.field("Depends")
            .split(',')
            .filter_map(|dependency| dependency.split_whitespace().next())
    }

    fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_become_packages_with_their_dependencies() {
        let text = "Package: linux-image-amd64\nVersion: 7.2.13-1\n\
                    Depends: linux-base-amd64 (= 7.2.13-1), linux-image-7.2.13+deb14-amd64 (= 7.2.13-1)\n\
                    Description: Linux for 64-bit PCs\n folded: line\n\n\
                    Package: dracut\nVersion: 1:2\nDepends: a | b\nSHA256: 00ff\n";

        let stanzas = Stanza::parse_all(text);

        assert_eq!(stanzas.len(), 2);
        let depends: Vec<_> = stanzas[0].depends().collect();
        assert_eq!(
            depends,
            ["linux-base-amd64", "linux-image-7.2.13+deb14-amd64"]
        );
        assert_eq!((stanzas[1].version(), stanzas[1].sha256()), ("1:2", "00ff"));
    }

    #[test]
    fn text_that_is_no_index_holds_no_package() {
        assert!(Stanza::parse_all("N: No packages found\n\n").is_empty());
    }
}
