import { Holder } from '../../../../runtime/device/holder.ts';
import type { TensorMeta } from '../../../../runtime/device/tensor-meta.ts';
import { events } from '../../../../runtime/memory/events.ts';
import { spans } from '../../../../runtime/profiler/spans.ts';
import { copiedInputs } from '../../../../runtime/program/checks.ts';
import type { PlannedSubgraph } from '../../../../runtime/program/plan.ts';
import { Executable } from '../../../../runtime/run-program/executor.ts';
import { ScopePool } from '../../../../runtime/run-program/scope/scope.ts';
import { isContiguous, sizeOf } from '../../../../runtime/spec/shape.ts';
import type { LiveRange } from '../../../7-plan/arena/layout.ts';
import { type Action, elementBytes } from '../actions/actions.ts';
import { ActionLog, type KernelChoice, type KernelMemory, recordingInto } from './recorded-heap.ts';
import { notInModule, RecordingAllocator, RecordingDevice } from './recording-device.ts';

/** Where a value is: the address of its memory, and the offset of its first element. */
export interface Place {
  readonly ptr: number;
  /** In elements. */
  readonly offset: number;
}

/** Everything that differs from one recording to the next. */
interface RecordingInputs {
  readonly inputs: readonly Place[];
  readonly place: (allocation: number, bytes: number) => number;
  readonly besides: KernelMemory;
  readonly choice: KernelChoice;
  /** Numbers of the run, by index in its scalar table. */
  readonly scalars: readonly number[];
}

/** Memory that a failed run must leave unchanged: it is copied before the run. */
interface Copied {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
}

export interface Recording {
  readonly actions: readonly Action[];
  readonly lives: readonly LiveRange[];
  /** Bytes of values between the stages of staged ops, and of tables that kernels read. */
  readonly innerBytes: number;
  readonly tableBytes: number;
  readonly outputs: readonly Place[];
  readonly copied: readonly Copied[];
}

/** Runs a plan with the executor of real runs, and records what its kernels would do to memory. */
export function recordPlan(planned: PlannedSubgraph, inputs: RecordingInputs): Recording {
  const log = new ActionLog();
  const allocator = new RecordingAllocator(inputs.place);
  const [active, kernels, profiled] = [events.active, events.kernels, spans.active];
  events.active = false;
  spans.active = false;
  try {
    return recordingInto(log, { ...inputs.besides, ...inputs.choice }, () =>
      recordRun(planned, inputs, log, allocator),
    );
  } finally {
    events.active = active;
    events.kernels = kernels;
    spans.active = profiled;
  }
}

function recordRun(
  { forward, values }: PlannedSubgraph,
  { inputs, scalars, besides }: RecordingInputs,
  log: ActionLog,
  allocator: RecordingAllocator,
): Recording {
  const device = new RecordingDevice(allocator);
  const recordedValues = values.map((meta): TensorMeta => ({ ...meta, device }));
  const executable = new Executable(forward, recordedValues, [], { atomic: true });
  const copies = copiedInputs(forward).map((i) => {
    const meta = values[forward.inputs[i]!]!;
    if (!isContiguous(meta.shape, meta.strides))
      throw notInModule('a write', 'to a strided tensor');
    const bytes = sizeOf(meta.shape) * device.elementBytes(meta.dtype);
    const { ptr, offset } = inputs[i]!;
    const from = ptr + offset * device.elementBytes(meta.dtype);
    return { from, bytes, holder: new Holder(device, bytes) };
  });
  const scope = new ScopePool(values.length, scalars.length).take();
  scope.scalars.set(scalars);
  const unused = new Set(forward.unusedInputs);
  // Inputs that share memory share a holder, which is how kernels detect that.
  const holders = new Map<number, Holder>();
  forward.inputs.forEach((id, i) => {
    const { ptr, offset } = inputs[i]!;
    const holder = holders.get(ptr) ?? new Holder(device, 1, { alloc: () => ptr, free: () => {} });
    holders.set(ptr, holder);
    if (!unused.has(id)) scope.slots[id]!.put(holder.retain(), offset);
  });
  executable.run(scope);
  const outputs = forward.outputs.map((id): Place => {
    const { holder, offset } = scope.slots[id]!;
    return { ptr: holder!.ptr, offset };
  });
  const { lives } = allocator;
  return {
    actions: log.actions,
    lives,
    innerBytes: log.innerBytes,
    tableBytes: tableBytesIn(log.actions, besides.tables),
    outputs,
    copied: copies.map(({ from, bytes, holder }) => ({ from, to: holder.ptr, bytes })),
  };
}

/** In a recording whose `tables` come after everything else, tables are the writes outside all tensors. */
function tableBytesIn(actions: readonly Action[], tables: number): number {
  let end = tables;
  for (const action of actions) {
    if (action.kind !== 'write') continue;
    end = Math.max(end, (action.at + action.values.length) * elementBytes[action.view]);
  }
  return end - tables;
}
