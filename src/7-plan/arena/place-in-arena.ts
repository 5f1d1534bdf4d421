import type { Device } from '../../../runtime/device/device.ts';
import { alignment } from '../../../runtime/memory/allocator.ts';
import { type Allocation, allocationsOf } from '../../../runtime/program/allocations.ts';
import type { Plan, Step } from '../../../runtime/program/plan.ts';
import type { ProgramOp, ValueId, ValueTable } from '../../../runtime/program/program.ts';
import { type MemoryOptions, mayBeSlower } from '../../programs/memory-options.ts';
import { type LiveRange, layOut } from './layout.ts';

/**
 * Returns the plan with everything that its steps allocate and free placed in one block, if the steps run on one device
 * whose memory is addressed by offsets. Values that outlive the run, pass through a control op, or belong to a sum of
 * optional gradients are allocated separately: such a sum may share another value's memory. The peak doesn't change, so
 * only the plan that runs needs offsets. Programs with a backward have no arena: saved values would keep the whole
 * block alive. On a GPU, an arena is used only if bytes are preferred or limited, since kernels that write to one
 * buffer run one after another.
 */
export function placedInArena(plan: Plan, values: ValueTable, memory: ArenaOptions): Plan {
  const { steps } = plan;
  const device = addressedDevice(steps, values);
  if (!device || !usesArena(memory, device)) return plan;
  const { alignment: unit = alignment, mostBytes = Infinity } = device.allocator.regionLimits ?? {};
  const inside = allocationsOf(steps, values, needsWholeBuffers(values, device)).filter(
    (each): each is Allocation & { diesAt: number } => {
      return each.bytes > 0 && each.diesAt !== undefined && !each.shared;
    },
  );
  if (inside.length === 0) return plan;
  const ranges = inside.map(({ step, diesAt, bytes }): LiveRange => {
    return { from: step, to: diesAt, bytes: Math.ceil(bytes / unit) * unit };
  });
  const { offsets, bytes } = layOut(ranges);
  if (bytes > mostBytes) return plan;
  const placed = new Map<number, (number | null)[]>();
  inside.forEach(({ step, output }, i) => {
    const places = placed.get(step) ?? steps[step]!.op.outputs.map(() => null);
    places[output] = offsets[i]!;
    placed.set(step, places);
  });
  const placedSteps = steps.map((step, i) =>
    placed.has(i) ? { ...step, places: placed.get(i)! } : step,
  );
  return { ...plan, steps: placedSteps, arenaBytes: bytes };
}

type ArenaOptions = Pick<MemoryOptions, 'arena' | 'freeAtLastUse' | 'prefer' | 'budget'>;

function usesArena(memory: ArenaOptions, { kind }: Device): boolean {
  return memory.arena && memory.freeAtLastUse && (kind !== 'gpu' || mayBeSlower(memory));
}

/** Whether the op's kernel can't bind two ranges of one buffer. */
function needsWholeBuffers(values: ValueTable, device: Device): (op: ProgramOp) => boolean {
  return ({ op, inputs, outputs, attrs }) => {
    if (!device.bindsParts || op.kernel.kind === 'view' || op.kernel.kind === 'control')
      return false;
    const metas = (ids: readonly ValueId[]) => ids.map((id) => values[id]!);
    const written = op.inPlace ? inputs.slice(0, 1) : outputs;
    return !device.bindsParts(op, metas(inputs), metas(written), attrs);
  };
}

/** Returns the only device of the steps' results, if its memory is addressed by offsets. */
function addressedDevice(steps: readonly Step[], values: ValueTable): Device | undefined {
  const devices = new Set(steps.flatMap(({ op }) => op.outputs.map((id) => values[id]!.device)));
  const [device] = devices;
  return devices.size === 1 && device!.allocator.openRegion ? device : undefined;
}
