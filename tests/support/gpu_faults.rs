//! A device that fails at each step: a typed error, no panic, no hang, and no number of an earlier sweep.

use crosscheck::gpu::{DeviceError, Fault, Step};
use crosscheck::{Backend, Gpu, GpuOptions, Rules, Sequential, random_walk};

use crate::{Outcome, auto, check, device_error, grid, same_rows};

fn is_expected(fault: Fault, error: &DeviceError) -> bool {
    match fault {
        Fault::NoAdapter => matches!(error, DeviceError::NoAdapter { .. }),
        Fault::Lost => matches!(error, DeviceError::Lost { .. }),
        Fault::OutOfMemory => matches!(error, DeviceError::OutOfMemory { .. }),
        Fault::Timeout => matches!(error, DeviceError::Timeout { .. }),
        Fault::Stale => matches!(error, DeviceError::Stale { .. }),
        Fault::Killed => matches!(error, DeviceError::Unfinished { .. }),
    }
}

/// Each fault at each step where it can happen; after all but a loss, the same engine answers again.
pub(crate) fn each_fault_is_a_typed_error() -> Outcome {
    let (walk, grid) = (random_walk(4_000, 7)?, grid()?);
    let rules = Rules::default();
    let steps = [
        Step::Allocate,
        Step::Upload,
        Step::Convolve,
        Step::Compare,
        Step::Extract,
        Step::Wait,
    ];
    let losses = steps.map(|step| (step, Fault::Lost));
    let others = [
        (Step::Allocate, Fault::OutOfMemory),
        (Step::Compare, Fault::OutOfMemory),
        (Step::Wait, Fault::Timeout),
        (Step::Compare, Fault::Stale),
        (Step::Compare, Fault::Killed),
        (Step::Extract, Fault::OutOfMemory),
        (Step::Extract, Fault::Stale),
        (Step::Extract, Fault::Killed),
    ];
    for (step, fault) in losses.into_iter().chain(others) {
        let gpu = Gpu::new()?;
        if step != Step::Allocate {
            // another series first, whose result must never come back
            gpu.sweep(&random_walk(4_000, 1)?, &grid, &rules)?;
        }
        gpu.inject(step, fault);
        let failed = gpu.sweep(&walk, &grid, &rules);
        let Some(error) = failed.err().and_then(device_error) else {
            return Err(format!("{fault:?} at {step:?} went unnoticed").into());
        };
        check(
            is_expected(fault, &error),
            &format!("{fault:?} at {step:?} gave {error:?}"),
        )?;
        if fault != Fault::Lost {
            let trades = same_rows(&gpu, &walk, &grid, "after a fault")?;
            check(trades > 1_000, "trades were compared")?;
        }
    }
    Ok(())
}

/// A loss once the sides are back and their stamps right is noticed by the next sweep; this one's trades are exact.
pub(crate) fn a_loss_while_reading_returns_nothing_old() -> Outcome {
    let (walk, grid) = (random_walk(4_000, 7)?, grid()?);
    let exact = Sequential::new().sweep(&walk, &grid, &Rules::default())?;
    let gpu = Gpu::new()?;
    gpu.sweep(&random_walk(4_000, 1)?, &grid, &Rules::default())?;
    gpu.inject(Step::Read, Fault::Lost);
    match gpu.sweep(&walk, &grid, &Rules::default()) {
        Ok(sweep) => check(sweep.rows == exact.rows, "nothing old came back")?,
        Err(error) => check(
            matches!(device_error(error), Some(DeviceError::Lost { .. })),
            "the loss is told",
        )?,
    }
    let next = gpu.sweep(&walk, &grid, &Rules::default());
    let error = next.err().and_then(device_error);
    check(
        matches!(error, Some(DeviceError::Lost { .. })),
        &format!("{error:?}"),
    )
}

pub(crate) fn a_lost_device_stays_lost() -> Outcome {
    let (walk, grid) = (random_walk(2_000, 7)?, grid()?);
    let gpu = Gpu::new()?;
    gpu.inject(Step::Convolve, Fault::Lost);
    for _ in 0..3 {
        let failed = gpu.sweep(&walk, &grid, &Rules::default());
        let error = failed.err().and_then(device_error);
        check(
            matches!(error, Some(DeviceError::Lost { .. })),
            &format!("{error:?}"),
        )?;
    }
    Ok(())
}

pub(crate) fn no_adapter_says_what_is_there() -> Outcome {
    let none = Gpu::with_options(GpuOptions::default().with_fault(Step::Open, Fault::NoAdapter));
    let error = none.err().and_then(device_error);
    check(
        matches!(error, Some(DeviceError::NoAdapter { wanted: None, .. })),
        &format!("{error:?}"),
    )?;
    for wanted in ["no such adapter", "99"] {
        let text = Gpu::with_adapter(wanted)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        let name = &Gpu::list()[0].name;
        check(text.contains(wanted) && text.contains(name.as_str()), &text)?;
    }
    Ok(())
}

pub(crate) fn limits_too_small_for_a_tile_are_named() -> Outcome {
    let gpu = Gpu::with_options(GpuOptions::default().with_max_buffer_bytes(1_000))?;
    let failed = gpu.sweep(&random_walk(2_000, 7)?, &grid()?, &Rules::default());
    let error = failed.err().and_then(device_error);
    check(
        matches!(error, Some(DeviceError::Limit { limit: 1_000, .. })),
        &format!("{error:?}"),
    )
}

/// A device that `auto` would take fails; the pool answers, and a note says why.
pub(crate) fn auto_falls_back_to_the_pool() -> Outcome {
    let (walk, grid) = (random_walk(4_000, 7)?, grid()?);
    let exact = Sequential::new().sweep(&walk, &grid, &Rules::default())?;
    for (step, fault) in [
        (Step::Compare, Fault::Killed),
        (Step::Wait, Fault::Lost),
        (Step::Convolve, Fault::Lost),
    ] {
        let engine = auto(GpuOptions::default());
        engine.force_device(Some((step, fault)))?;
        let sweep = engine.sweep(&walk, &grid, &Rules::default())?;
        check(sweep.rows == exact.rows, "the pool's trades are exact")?;
        let notes = sweep.diagnostics.notes.join("; ");
        check(notes.contains("m5 failed, m4 answered"), &notes)?;
    }
    let engine = auto(GpuOptions::default().with_fault(Step::Open, Fault::NoAdapter));
    let sweep = engine.sweep(&walk, &grid, &Rules::default())?;
    check(
        sweep.rows == exact.rows,
        "without an adapter the host answers",
    )
}
