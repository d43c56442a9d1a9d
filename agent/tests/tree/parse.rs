//! The text form.

use super::{Attributes, Controller, Disk, DiskKind, Namespace, Node, Subsystem, Tree};

/// Reads a tree. Panics on a line it does not understand: fixtures are ours.
pub(crate) fn parse(text: &str) -> Tree {
    let mut tree = Tree {
        multipath: Some("Y".to_owned()),
        class_lists: true,
        subsystems_link: true,
        ..Tree::default()
    };
    let mut attached = true;
    for (number, line) in text.lines().enumerate() {
        let words = words(line);
        let Some((kind, rest)) = words.split_first() else {
            continue;
        };
        let at = number + 1;
        match kind.as_str() {
            "module" => {
                let attributes = attributes(rest);
                tree.multipath = attributes
                    .get("multipath")
                    .cloned()
                    .unwrap_or(tree.multipath);
            }
            "subsystem" => {
                attached = true;
                let (number, attributes) = numbered(rest, at);
                tree.subsystems.push(Subsystem {
                    number,
                    attributes,
                    namespaces: Vec::new(),
                    controllers: Vec::new(),
                });
            }
            "unattached" => attached = false,
            "head" | "namespace" => {
                let (number, attributes) = numbered(rest, at);
                let has_head = kind == "head";
                let namespace = Namespace {
                    number,
                    has_head,
                    attributes,
                };
                last(&mut tree.subsystems, at).namespaces.push(namespace);
            }
            "controller" => {
                let (number, attributes) = numbered(rest, at);
                let controller = Controller {
                    number,
                    attributes,
                    disks: Vec::new(),
                };
                if attached {
                    last(&mut tree.subsystems, at).controllers.push(controller);
                } else {
                    tree.unattached.push(controller);
                }
            }
            "leg" | "private" | "disk" => {
                let controllers = if attached {
                    &mut last(&mut tree.subsystems, at).controllers
                } else {
                    &mut tree.unattached
                };
                last(controllers, at).disks.push(disk(kind, rest, at));
            }
            "file" => {
                for (path, text) in attributes(rest) {
                    tree.extra
                        .insert(path, Node::File(text.unwrap_or_default()));
                }
            }
            "link" => {
                for (path, target) in attributes(rest) {
                    tree.extra
                        .insert(path, Node::Link(target.unwrap_or_default()));
                }
            }
            "dir" => {
                for path in rest {
                    tree.extra.insert(path.clone(), Node::Dir);
                }
            }
            other => panic!("line {at}: no object \"{other}\""),
        }
    }
    tree
}

fn last<T>(list: &mut [T], at: usize) -> &mut T {
    list.last_mut()
        .unwrap_or_else(|| panic!("line {at}: nothing to belong to"))
}

fn numbered(words: &[String], at: usize) -> (u32, Attributes) {
    let (number, rest) = words
        .split_first()
        .unwrap_or_else(|| panic!("line {at}: a number is missing"));
    let number = number
        .parse()
        .unwrap_or_else(|_| panic!("line {at}: \"{number}\" is no number"));
    (number, attributes(rest))
}

fn disk(kind: &str, rest: &[String], at: usize) -> Disk {
    let (namespace, mut attributes) = numbered(rest, at);
    let kind = match kind {
        "leg" => DiskKind::Leg,
        "private" => DiskKind::Private,
        _ => DiskKind::Plain,
    };
    // A bare word is the ANA state.
    if let Some(ana) = rest
        .iter()
        .skip(1)
        .find(|word| !word.contains('=') && !word.starts_with('-'))
    {
        attributes.insert("ana_state".to_owned(), Some(ana.clone()));
    }
    Disk {
        kind,
        namespace,
        attributes,
    }
}

fn attributes(words: &[String]) -> Attributes {
    let mut attributes = Attributes::new();
    for word in words {
        if let Some((name, value)) = word.split_once('=') {
            attributes.insert(name.to_owned(), Some(value.to_owned()));
        } else if let Some(name) = word.strip_prefix('-') {
            attributes.insert(name.to_owned(), None);
        }
    }
    attributes
}

/// The words of a line: blanks between, quotes around a value that has blanks, `#` begins a comment.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    let mut begun = false;
    for character in line.chars() {
        match character {
            '"' => {
                quoted = !quoted;
                begun = true;
            }
            '#' if !quoted && !begun => break,
            blank if blank.is_whitespace() && !quoted => {
                if begun {
                    words.push(std::mem::take(&mut word));
                    begun = false;
                }
            }
            other => {
                word.push(other);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}
