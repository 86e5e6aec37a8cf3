//! The kernels as text: each validates, translates to every interface that the engine can meet, and keeps to the
//! plain subset of WGSL whose rounding is specified.

use naga::back::{hlsl, msl, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, BinaryOperator, Expression, Module, ScalarKind, Statement, TypeInner};

const KERNELS: [(&str, &str); 6] = [
    ("conv", include_str!("../kernels/conv.wgsl")),
    ("stage2", include_str!("../kernels/stage2.wgsl")),
    ("bits", include_str!("../kernels/bits.wgsl")),
    ("exact", include_str!("../kernels/exact.wgsl")),
    ("crossings", include_str!("../kernels/crossings.wgsl")),
    ("smoke", include_str!("../kernels/smoke.wgsl")),
];

/// No capability at all: no f64, no 64-bit integers, no subgroups.
fn parsed(source: &str) -> (Module, ModuleInfo) {
    let module = naga::front::wgsl::parse_str(source).expect("the kernel parses");
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .expect("the kernel is valid");
    (module, info)
}

#[test]
fn kernels_translate_to_every_interface() {
    for (name, source) in KERNELS {
        let (module, info) = parsed(source);
        let words = spv::write_vec(&module, &info, &spv::Options::default(), None).unwrap();
        assert!(words.len() > 100, "{name}");
        let (metal, _) = msl::write_string(
            &module,
            &info,
            &msl::Options {
                fake_missing_bindings: true,
                ..msl::Options::default()
            },
            &msl::PipelineOptions::default(),
        )
        .unwrap();
        assert!(metal.contains("kernel void"), "{name}");
        let mut text = String::new();
        let options = hlsl::Options {
            fake_missing_bindings: true,
            ..hlsl::Options::default()
        };
        hlsl::Writer::new(&mut text, &options, &hlsl::PipelineOptions::default())
            .write(&module, &info, None)
            .unwrap();
        assert!(text.contains("numthreads"), "{name}");
    }
}

#[test]
fn kernels_use_no_shared_memory_no_atomics_no_wide_numbers() {
    for (name, source) in KERNELS {
        let (module, _) = parsed(source);
        for (_, global) in module.global_variables.iter() {
            assert_ne!(global.space, AddressSpace::WorkGroup, "{name}");
        }
        for (_, ty) in module.types.iter() {
            let scalar = match ty.inner {
                TypeInner::Scalar(scalar) | TypeInner::Vector { scalar, .. } => scalar,
                TypeInner::Atomic(_) => panic!("{name} has an atomic"),
                _ => continue,
            };
            let is_plain = scalar.width == 4 || scalar.kind == ScalarKind::Bool;
            assert!(is_plain, "{name}: {scalar:?}");
        }
    }
}

/// A division has 2.5 units of error, and a barrier would mean shared memory.
#[test]
fn kernels_neither_divide_nor_wait() {
    for (name, source) in KERNELS {
        let (module, _) = parsed(source);
        let entries = module.entry_points.iter().map(|entry| &entry.function);
        for function in entries.chain(module.functions.iter().map(|(_, f)| f)) {
            for (_, expression) in function.expressions.iter() {
                if let Expression::Binary { op, .. } = expression {
                    let divides = matches!(op, BinaryOperator::Divide | BinaryOperator::Modulo);
                    assert!(!divides, "{name} divides");
                }
            }
            let mut waits = false;
            visit(&function.body, &mut |statement| {
                waits |= matches!(
                    statement,
                    Statement::ControlBarrier(_) | Statement::Atomic { .. }
                );
            });
            assert!(!waits, "{name} waits");
        }
    }
}

fn visit(block: &naga::Block, see: &mut impl FnMut(&Statement)) {
    for statement in block {
        see(statement);
        match statement {
            Statement::Block(inner) => visit(inner, see),
            Statement::If { accept, reject, .. } => {
                visit(accept, see);
                visit(reject, see);
            }
            Statement::Loop {
                body, continuing, ..
            } => {
                visit(body, see);
                visit(continuing, see);
            }
            _ => {}
        }
    }
}

/// The subset is checked by a walk that sees the constructs it forbids.
#[test]
fn the_checks_notice_what_they_forbid() {
    let source = "var<workgroup> shared_sum: atomic<u32>;
        @compute @workgroup_size(1) fn main() { atomicAdd(&shared_sum, 1u); workgroupBarrier(); }";
    let (module, _) = parsed(source);
    assert!(
        module
            .global_variables
            .iter()
            .any(|(_, global)| global.space == AddressSpace::WorkGroup)
    );
    let mut seen = 0;
    visit(&module.entry_points[0].function.body, &mut |statement| {
        seen += usize::from(matches!(
            statement,
            Statement::ControlBarrier(_) | Statement::Atomic { .. }
        ));
    });
    assert_eq!(seen, 2);
}
