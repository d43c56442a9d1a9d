//! From the kernel's type information to the numbers that the BPF object wants.

use std::path::Path;

use pathwarden_ebpf::{ABSENT, Field, TypeOwner, state};

use super::{Unavailable, btf::Types};

/// Where a kernel publishes its type information.
pub const BTF_DIR: &str = "/sys/kernel/btf";

/// Values for the object's statics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelFields {
    /// Offset of each of [`Field::ALL`], in that order; [`ABSENT`] for what this kernel does not have.
    pub offsets: Vec<u32>,
    /// Whether `nvmf_should_reconnect` is given a status; none without `nvme_fabrics`.
    pub reconnect_has_status: Option<bool>,
}

impl KernelFields {
    /// Fields that this kernel does not have; what depends on them is not known.
    pub fn missing(&self) -> impl Iterator<Item = &'static Field> {
        let absent = self.offsets.iter().map(|&offset| offset == ABSENT);
        Field::ALL
            .iter()
            .zip(absent)
            .filter(|(_, absent)| *absent)
            .map(|(field, _)| field)
    }
}

const STATES: &str = "nvme_ctrl_state";
const SHOULD_RECONNECT: &str = "nvmf_should_reconnect";

/// Reads the running kernel's.
pub fn resolve(btf_dir: &Path) -> Result<KernelFields, Unavailable> {
    let mut wanted: Vec<&str> = Field::ALL.iter().map(|field| field.structure).collect();
    wanted.extend([STATES, SHOULD_RECONNECT]);
    let kernel = Types::of_kernel(read(btf_dir, "vmlinux")?, &wanted).map_err(|error| {
        Unavailable::BadBtf {
            file: btf_dir.join("vmlinux"),
            error,
        }
    })?;
    let core = of_module(btf_dir, "nvme_core", &kernel, &wanted)?;
    let core = core.as_ref().unwrap_or(&kernel);
    let mut offsets = Vec::with_capacity(Field::ALL.len());
    for field in Field::ALL {
        let offset = match field.owner {
            TypeOwner::Kernel => offset(field, &kernel),
            TypeOwner::Module(_) => offset(field, core).or_else(|| offset(field, &kernel)),
        };
        if offset.is_none() && field.required {
            let Field {
                structure, member, ..
            } = *field;
            return Err(Unavailable::NoField { structure, member });
        }
        offsets.push(offset.unwrap_or(ABSENT));
    }
    let live = core.enumerator(STATES, "NVME_CTRL_LIVE");
    let connecting = core.enumerator(STATES, "NVME_CTRL_CONNECTING");
    if (live, connecting) != (Some(state::LIVE), Some(state::CONNECTING)) {
        return Err(Unavailable::OtherStates { live, connecting });
    }
    let fabrics = of_module(btf_dir, "nvme_fabrics", &kernel, &wanted)?;
    let parameters = fabrics
        .as_ref()
        .unwrap_or(&kernel)
        .parameters_of(SHOULD_RECONNECT);
    Ok(KernelFields {
        offsets,
        reconnect_has_status: parameters.map(|count| count >= 2),
    })
}

fn offset(field: &Field, types: &Types<'_>) -> Option<u32> {
    match field.member {
        "" => types.size_of(field.structure),
        member => types.offset_of(field.structure, member),
    }
}

/// None when the module has no file of its own: not loaded, or built into the kernel.
fn of_module<'k>(
    btf_dir: &Path,
    module: &str,
    kernel: &'k Types<'k>,
    wanted: &[&str],
) -> Result<Option<Types<'k>>, Unavailable> {
    let file = btf_dir.join(module);
    match std::fs::read(&file) {
        Ok(bytes) => Types::of_module(bytes, kernel, wanted)
            .map(Some)
            .map_err(|error| Unavailable::BadBtf { file, error }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Unavailable::UnreadableBtf { file, error }),
    }
}

fn read(btf_dir: &Path, name: &str) -> Result<Vec<u8>, Unavailable> {
    let file = btf_dir.join(name);
    std::fs::read(&file).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Unavailable::NoBtf { file },
        _ => Unavailable::UnreadableBtf { file, error },
    })
}
