import type { DynamicCall } from '../../runtime/program/dynamic-call.ts';
import type { Plan, PlannedCall, PlannedSubgraph, Step } from '../../runtime/program/plan.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { bytesOf, scratchBytesOf } from '../../runtime/program/value-bytes.ts';
import { handedOver } from '../../runtime/run-program/control/handed-over.ts';
import type { MemoryOptions } from '../programs/memory-options.ts';
import { type ArenaPlan, placeInArena } from './arena/place-in-arena.ts';
import type { ForwardBefore } from './control/control-memory.ts';
import { type EnteringOptions, enteringWith } from './entering.ts';
import { dyingAt, lastUses } from './last-uses.ts';
import { type Storage, StorageCount } from './order/storages.ts';
import { allocateOutputs } from './reuse.ts';

export interface PlanOptions extends EnteringOptions {
  /** A plan that is wanted at once: its order is searched in a few walks. */
  readonly isFirst?: boolean;
  /** Values that stay in the scope after the run. */
  readonly keep: readonly ValueId[];
  /** Values that are in the scope already, with their storages (what forward saved). */
  readonly carried?: ReadonlyMap<ValueId, Storage>;
  /** Of a backward program: the forward plan in whose scope it goes on. */
  readonly after?: ForwardBefore;
  readonly memory: Pick<MemoryOptions, 'freeAtLastUse' | 'reuse' | 'order' | 'arena'>;
  /** Rewrites the program in its order; `costOf` counts the peak of a rewritten one. */
  readonly rewrite?: Rewrite;
  /** Plans the regions of a control op; `recorded`: the tape is read. */
  readonly planRegions: PlanRegions;
  /** Plans a call whose shapes only the run knows, for each set of shapes when it comes. */
  readonly planCall: (call: DynamicCall, recorded: boolean) => PlannedCall;
}

export type Rewrite = (program: Program, costOf: (program: Program) => number) => Program;

/** `moves`: operands that die with the op, whose share goes into its regions. */
export type PlanRegions = (
  op: ProgramOp,
  recorded: boolean,
  moves: readonly boolean[],
) => readonly PlannedSubgraph[];

export interface Planned {
  readonly plan: Plan;
  /** The program in the order of the plan. */
  readonly program: Program;
  /** Storages of the kept values, for the program that goes on with them. */
  readonly kept: ReadonlyMap<ValueId, Storage>;
}

/** The steps of a program in the order that it has, and their bytes. */
export function planInOrder(
  program: Program,
  given: Program,
  options: PlanOptions,
  lowerBound: number,
): Planned {
  const carried = options.carried ?? new Map<ValueId, Storage>();
  const { planRegions, planCall } = options;
  const { freeAtLastUse, reuse } = options.memory;
  const staying = new Set<ValueId>([...options.keep, ...program.outputs]);
  const lastUse = lastUses(program);
  const count = new StorageCount();
  for (const [id, storage] of copied(carried)) count.carry(id, storage);
  const isRead = (id: ValueId) => lastUse.has(id) || staying.has(id);
  const entering = program.inputs.filter(isRead);
  const bringing = enteringWith(program, options);
  for (const id of entering) {
    const { bytes, exclusive } = bringing(id);
    count.enter(id, bytes, exclusive);
  }

  const steps = program.ops.map((op, index): Step => {
    const dying = freeAtLastUse ? dyingAt(op, index, lastUse, staying) : [];
    if (op.op.kernel.kind === 'control') {
      const moves = handedOver({ op, frees: dying });
      const recorded = isRead(op.outputs[op.outputs.length - 1]!);
      const inside = op.call
        ? { call: planCall(op.call, recorded) }
        : { regions: planRegions(op, recorded, moves) };
      // A result may be an operand, handed through: neither may be written over while the other lives.
      for (const id of op.inputs) count.expose(id);
      for (const id of op.outputs) count.enter(id, bytesOf(program.values, id));
      for (const id of dying) count.free(id);
      return { op, reuses: op.outputs.map(() => null), frees: dying, ...inside };
    }
    const reuses = allocateOutputs(program, op, reuse ? dying : [], count);
    count.transient(scratchBytesOf(program.values, op));
    for (const id of dying) count.free(id);
    return { op, reuses, frees: dying };
  });

  // They were allocated before the run began.
  const donatedBytes = donatedBytesOf(program, options);
  const keep = new Set(options.keep);
  const outputStorages = new Set(program.outputs.map((id) => count.of(id)));
  const kept = new Map(options.keep.map((id) => [id, count.of(id)]));
  const savedStorages = new Set([...kept.values()].filter((s) => !outputStorages.has(s)));
  const arena = hasArena(program, options) ? placeInArena(program, steps) : noArena(steps);
  const freesAtEnd = count.values().filter((id) => !keep.has(id));
  for (const id of freesAtEnd) count.free(id);
  return {
    program,
    kept: new Map([...kept].map(([id, s]) => [id, outputStorages.has(s) ? callersMemory(s) : s])),
    plan: {
      inputs: program.inputs,
      steps: arena.steps,
      arenaBytes: arena.bytes,
      outputs: program.outputs,
      unusedInputs: program.inputs.filter((id) => !isRead(id)),
      freesAtEnd,
      reordered: program.ops.some((op, i) => op !== given.ops[i]),
      predicted: {
        peakBytes: count.peak - donatedBytes,
        lowerBoundBytes: lowerBound - donatedBytes,
        savedBytes: sumBytes(savedStorages),
        copiedBytes: 0,
        outputBytes: sumBytes(outputStorages),
      },
    },
  };
}

/** Of the donated inputs that the program reads or hands out. */
export function donatedBytesOf(program: Program, { donated, keep }: PlanOptions): number {
  if (!donated) return 0;
  const used = new Set([...lastUses(program).keys(), ...program.outputs, ...keep]);
  const entering = [...donated].filter((id) => used.has(id));
  return entering.reduce((sum, id) => sum + bytesOf(program.values, id), 0);
}

/**
 * Only where the run is all there is: memory that is kept for a backward would hold the whole block.
 * And only on one device, whose memory is addressed by offsets.
 */
function hasArena({ values, ops }: Program, { keep, carried, memory }: PlanOptions): boolean {
  if (!memory.arena || !memory.freeAtLastUse || keep.length > 0 || carried) return false;
  const devices = new Set(ops.flatMap(({ outputs }) => outputs.map((id) => values[id]!.device)));
  const [device] = devices;
  return devices.size === 1 && device!.allocator.openRegion !== undefined;
}

function noArena(steps: readonly Step[]): ArenaPlan {
  return { steps, bytes: 0 };
}

/** A saved value that is also an output: the caller holds it, so its memory is not the program's to free. */
function callersMemory({ owners }: Storage): Storage {
  return { bytes: 0, exclusive: false, owners };
}

/** Planning counts owners up and down; the map that was passed in stays as it is. */
function copied(carried: ReadonlyMap<ValueId, Storage>): ReadonlyMap<ValueId, Storage> {
  const copies = new Map<Storage, Storage>();
  for (const storage of carried.values()) copies.set(storage, { ...storage });
  return new Map([...carried].map(([id, storage]) => [id, copies.get(storage)!]));
}

function sumBytes(storages: Iterable<Pick<Storage, 'bytes'>>): number {
  let bytes = 0;
  for (const storage of storages) bytes += storage.bytes;
  return bytes;
}
