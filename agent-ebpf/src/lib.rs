//! The record layout shared by the BPF programs and the agent.
#![cfg_attr(target_arch = "bpf", no_std)]
