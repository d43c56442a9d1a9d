//! Type information built by hand, whole and damaged.

use super::*;

const WANTED: &[&str] = &[
    "request",
    "missing",
    "nvme_ns",
    "nvmf_host",
    "nvme_flags",
    "nvmf_should_reconnect",
    "nvmf_other",
    "nvme_ctrl_state",
    "loop",
];

fn of_kernel(bytes: Vec<u8>) -> Result<Types<'static>, Error> {
    Types::of_kernel(bytes, WANTED)
}

/// Builds a file of types and strings the way the kernel lays one out.
struct Builder {
    types: Vec<u8>,
    strings: Vec<u8>,
    first_string: u32,
}

impl Builder {
    fn kernel() -> Self {
        Self {
            types: Vec::new(),
            strings: vec![0],
            first_string: 0,
        }
    }

    fn module(kernel: &[u8]) -> Self {
        let strings = u32::from_ne_bytes(kernel[20..24].try_into().unwrap());
        Self {
            types: Vec::new(),
            strings: Vec::new(),
            first_string: strings,
        }
    }

    fn string(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let at = self.first_string + u32::try_from(self.strings.len()).unwrap();
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        at
    }

    fn words(&mut self, words: &[u32]) {
        self.types
            .extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    }

    fn structure(&mut self, kind: u32, name: &str, size: u32, members: &[(&str, u32, u32)]) {
        let name = self.string(name);
        self.words(&[
            name,
            kind << 24 | u32::try_from(members.len()).unwrap(),
            size,
        ]);
        for (member, member_type, bits) in members {
            let member = self.string(member);
            self.words(&[member, *member_type, *bits]);
        }
    }

    fn file(&self) -> Vec<u8> {
        let mut file = vec![0x9f, 0xeb, 1, 0];
        let (types, strings) = (self.types.len(), self.strings.len());
        for word in [24, 0, types, types, strings] {
            file.extend_from_slice(&u32::try_from(word).unwrap().to_ne_bytes());
        }
        file.extend_from_slice(&self.types);
        file.extend_from_slice(&self.strings);
        file
    }
}

/// int (1), anonymous union (2) of two ints, struct request (3) with a member behind the union.
fn kernel() -> Vec<u8> {
    let mut kernel = Builder::kernel();
    let int = kernel.string("int");
    kernel.words(&[int, 1 << 24, 4, 32]);
    kernel.structure(5, "", 8, &[("first", 1, 0), ("second", 1, 32)]);
    kernel.structure(
        4,
        "request",
        24,
        &[("head", 1, 0), ("", 2, 64), ("tail", 1, 128)],
    );
    kernel.file()
}

#[test]
fn members_are_found_also_inside_anonymous_ones() {
    let types = of_kernel(kernel()).unwrap();
    assert_eq!(types.size_of("request"), Some(24));
    assert_eq!(types.offset_of("request", "head"), Some(0));
    assert_eq!(types.offset_of("request", "second"), Some(12));
    assert_eq!(types.offset_of("request", "tail"), Some(16));
    assert_eq!(types.offset_of("request", "missing"), None);
    assert_eq!(types.offset_of("missing", "head"), None);
}

#[test]
fn a_module_continues_the_kernels_numbers() {
    let kernel_file = kernel();
    let mut module = Builder::module(&kernel_file);
    // Types 4 to 6: a struct that holds the kernel's union, a forward declaration of one name, a bit field.
    module.structure(4, "nvme_ns", 16, &[("", 2, 0), ("ctrl", 3, 64)]);
    let forward = module.string("nvmf_host");
    module.words(&[forward, 7 << 24, 0]);
    let name = module.string("nvme_flags");
    let member = module.string("narrow");
    module.words(&[name, 1 << 31 | 4 << 24 | 1, 4, member, 1, 3 << 24 | 8]);
    let kernel = of_kernel(kernel_file).unwrap();
    let types = Types::of_module(module.file(), &kernel, WANTED).unwrap();
    assert_eq!(types.offset_of("nvme_ns", "ctrl"), Some(8));
    assert_eq!(
        types.offset_of("nvme_ns", "second"),
        Some(4),
        "through the kernel's union"
    );
    assert_eq!(
        types.size_of("nvmf_host"),
        None,
        "a declaration is no definition"
    );
    assert_eq!(
        types.offset_of("nvme_flags", "narrow"),
        None,
        "a bit field has no byte offset"
    );
}

#[test]
fn prototypes_tell_how_many_parameters_a_function_has() {
    let mut module = Builder::kernel();
    let (function, ctrl, status) = (
        module.string("nvmf_should_reconnect"),
        module.string("ctrl"),
        module.string("status"),
    );
    module.words(&[0, 13 << 24 | 2, 0, ctrl, 0, status, 0]);
    module.words(&[function, 12 << 24, 1]);
    let types = of_kernel(module.file()).unwrap();
    assert_eq!(types.parameters_of("nvmf_should_reconnect"), Some(2));
    assert_eq!(types.parameters_of("nvmf_other"), None);
}

#[test]
fn enumerators_have_their_values() {
    let mut module = Builder::kernel();
    let (name, live) = (
        module.string("nvme_ctrl_state"),
        module.string("NVME_CTRL_LIVE"),
    );
    module.words(&[name, 6 << 24 | 1, 4, live, 1]);
    let types = of_kernel(module.file()).unwrap();
    assert_eq!(
        types.enumerator("nvme_ctrl_state", "NVME_CTRL_LIVE"),
        Some(1)
    );
    assert_eq!(types.enumerator("nvme_ctrl_state", "NVME_CTRL_NEW"), None);
}

#[test]
fn damaged_files_are_refused_without_a_panic() {
    assert_eq!(of_kernel(Vec::new()).unwrap_err(), Error::Truncated(0));
    assert_eq!(of_kernel(vec![0; 64]).unwrap_err(), Error::Magic);
    let whole = kernel();
    for length in 4..whole.len() {
        assert!(
            of_kernel(whole[..length].to_vec()).is_err(),
            "cut at {length}"
        );
    }
    for at in 0..whole.len() {
        let mut file = whole.clone();
        file[at] ^= 0xff;
        // Whatever it says then, it says it.
        if let Ok(types) = of_kernel(file) {
            let _ = (
                types.offset_of("request", "second"),
                types.parameters_of("request"),
            );
        }
    }
}

#[test]
fn a_struct_that_contains_itself_ends() {
    let mut kernel = Builder::kernel();
    kernel.structure(4, "loop", 8, &[("", 1, 0)]);
    let types = of_kernel(kernel.file()).unwrap();
    assert_eq!(types.offset_of("loop", "missing"), None);
}

#[test]
fn the_running_kernel_can_be_read() {
    let Ok(file) = std::fs::read("/sys/kernel/btf/vmlinux") else {
        eprintln!("skipped: this machine's kernel has no BTF");
        return;
    };
    let types = of_kernel(file).unwrap();
    assert_eq!(types.offset_of("request", "q"), Some(0));
    assert!(types.size_of("request").unwrap() > 100);
}
