//! The kernel command line.

use crate::lab::protocol::SCENARIOS_PARAMETER;

/// The scenarios asked for; none means all.
pub(super) fn scenarios(cmdline: &str) -> Vec<String> {
    cmdline
        .split_whitespace()
        .filter_map(|word| word.split_once('='))
        .filter(|(key, _)| *key == SCENARIOS_PARAMETER)
        .flat_map(|(_, names)| names.split(','))
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_named_with_commas_among_other_parameters() {
        let cmdline =
            "console=ttyS0 panic=-1 quiet pathwarden.scenarios=clean-cutover,target-dies\n";
        assert_eq!(scenarios(cmdline), ["clean-cutover", "target-dies"]);
    }

    #[test]
    fn no_parameter_and_an_empty_one_mean_all() {
        assert!(scenarios("console=ttyS0").is_empty());
        assert!(scenarios("pathwarden.scenarios= quiet").is_empty());
    }
}
