import { invariant } from '../../runtime/errors/invariant.ts';
import { operandUse } from '../../runtime/ops/define-op.ts';
import type { Plan, PlannedSubgraph, Step } from '../../runtime/program/plan.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { isContiguousMeta } from '../../runtime/tensor/meta.ts';
import { sameShape } from '../../runtime/tensor/shape.ts';
import type { MemoryOptions } from '../programs/memory-options.ts';
import { type ArenaPlan, placeInArena } from './arena/place-in-arena.ts';
import { enterControl } from './control.ts';
import { scratchBytesOf } from './op-memory.ts';
import type { Entering } from './order/memory-graph.ts';
import { boundOf, orderForMemory, roughPeak } from './order/order.ts';
import { bytesOf, type Storage, StorageCount } from './storages.ts';

/** Bytes of a program's inputs, and of the most that is alive beside them in a good order. */
export function roughBytes(program: Program, donated: ReadonlySet<ValueId> = new Set()): number {
  const { values, inputs } = program;
  const entering = (id: ValueId) => {
    return { bytes: bytesOf(values, id), exclusive: donated.has(id) };
  };
  const options = { keep: inputs.filter((id) => !donated.has(id)), carried: new Map(), entering };
  return roughPeak(program, { ...options, reuse: true });
}

interface PlanOptions {
  /** Values that stay in the scope after the run. */
  readonly keep: readonly ValueId[];
  /** Values that are in the scope already, with their storages (what forward saved). */
  readonly carried?: ReadonlyMap<ValueId, Storage>;
  /** Inputs die with the scope that they enter, as gradients do; else they are the caller's. */
  readonly inputsEnterAlone?: boolean | ((index: number) => boolean);
  /** Inputs that nobody else holds: memory to free at its last use, or to write over. */
  readonly donated?: ReadonlySet<ValueId>;
  readonly memory: Pick<MemoryOptions, 'freeAtLastUse' | 'reuse' | 'order' | 'arena'>;
  /** Plans the regions of a control op; `recorded`: somebody reads the tape. */
  readonly planRegions: PlanRegions;
}

export type PlanRegions = (op: ProgramOp, recorded: boolean) => readonly PlannedSubgraph[];

export interface Planned {
  readonly plan: Plan;
  /** The program in the order of the plan. */
  readonly program: Program;
  /** Storages of the kept values, for the program that goes on with them. */
  readonly kept: ReadonlyMap<ValueId, Storage>;
}

/**
 * In: a program. Out: an order of its ops with a low peak, where each value leaves the scope (its last
 * use), which outputs take over the memory of a dying operand, and the bytes that follow. Guarantees:
 * the predicted bytes are those that the allocator will count.
 */
export function planProgram(given: Program, options: PlanOptions): Planned {
  const carried = options.carried ?? new Map<ValueId, Storage>();
  const { planRegions } = options;
  const { freeAtLastUse, reuse } = options.memory;
  const { program, lowerBound } = ordered(given, options, carried);
  const isDonated = (id: ValueId) => options.donated?.has(id) ?? false;
  const staying = new Set<ValueId>([...options.keep, ...program.outputs]);
  const lastUse = lastUses(program);
  const count = new StorageCount();
  for (const [id, storage] of copied(carried)) count.carry(id, storage);
  const entering = program.inputs.filter((id) => lastUse.has(id) || staying.has(id));
  const bringing = enteringWith(program, options);
  for (const id of entering) {
    const { bytes, exclusive } = bringing(id);
    count.enter(id, bytes, exclusive);
  }

  const isRead = (id: ValueId) => lastUse.has(id) || staying.has(id);
  const steps = program.ops.map((op, index): Step => {
    const dying = freeAtLastUse ? dyingAt(op, index, lastUse, staying) : [];
    if (op.op.kernel.kind === 'control') {
      const regions = planRegions(op, isRead(op.outputs[op.outputs.length - 1]!));
      enterControl(program, op, regions, count);
      for (const id of dying) count.free(id);
      return { op, reuses: op.outputs.map(() => null), frees: dying, regions };
    }
    const reuses = allocateOutputs(program, op, reuse ? dying : [], count);
    count.transient(scratchBytesOf(program, op));
    for (const id of dying) count.free(id);
    return { op, reuses, frees: dying };
  });

  // They were allocated before the run began.
  const donatedBytes = sumBytes(entering.filter(isDonated).map((id) => bringing(id)));
  const keep = new Set(options.keep);
  const outputStorages = new Set(program.outputs.map((id) => count.of(id)));
  const kept = new Map(options.keep.map((id) => [id, count.of(id)]));
  const savedStorages = new Set([...kept.values()].filter((s) => !outputStorages.has(s)));
  const arena = hasArena(program, options) ? placeInArena(program, steps, staying) : noArena(steps);
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
      unusedInputs: program.inputs.filter((id) => !entering.includes(id)),
      freesAtEnd,
      reordered: program.ops.some((op, i) => op !== given.ops[i]),
      predicted: {
        peakBytes: count.peak - donatedBytes,
        lowerBoundBytes: lowerBound - donatedBytes,
        savedBytes: sumBytes(savedStorages),
        outputBytes: sumBytes(outputStorages),
      },
    },
  };
}

/**
 * Only where the run is all there is: memory that is kept for a backward would hold the whole block.
 * And only on devices whose memory is addressed by offsets.
 */
function hasArena({ values, ops }: Program, { keep, carried, memory }: PlanOptions): boolean {
  if (!memory.arena || !memory.freeAtLastUse || keep.length > 0 || carried) return false;
  const [made] = ops.flatMap(({ outputs }) => outputs);
  return made !== undefined && values[made]!.device.allocator.openRegion !== undefined;
}

function noArena(steps: readonly Step[]): Omit<ArenaPlan, 'alive'> {
  return { steps, bytes: 0 };
}

function enteringWith(
  { values, inputs }: Program,
  { donated, inputsEnterAlone: alone = false }: PlanOptions,
): (id: ValueId) => Entering {
  const entersAlone = (id: ValueId) =>
    typeof alone === 'function' ? alone(inputs.indexOf(id)) : alone;
  return (id) => {
    if (donated?.has(id)) return { bytes: bytesOf(values, id), exclusive: true };
    return { bytes: entersAlone(id) ? bytesOf(values, id) : 0, exclusive: false };
  };
}

function ordered(program: Program, options: PlanOptions, carried: ReadonlyMap<ValueId, Storage>) {
  const { keep, memory } = options;
  // Which way control goes, and how many turns it takes, is not known: such programs stay as they are.
  if (program.ops.some(({ op }) => op.kernel.kind === 'control')) return { program, lowerBound: 0 };
  const graph = { keep, carried, entering: enteringWith(program, options), reuse: memory.reuse };
  if (memory.order && memory.freeAtLastUse) return orderForMemory(program, graph);
  return { program, lowerBound: boundOf(program, graph) };
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

/** Index of the last op that reads each value's data. Reading a shape needs no memory. */
function lastUses(program: Program): ReadonlyMap<ValueId, number> {
  const last = new Map<ValueId, number>();
  program.ops.forEach(({ op, inputs }, index) => {
    inputs.forEach((id, i) => {
      if (operandUse(op, i) === 'data') last.set(id, index);
    });
  });
  return last;
}

/** Values that nobody reads after this op, including its own outputs that nobody reads at all. */
function dyingAt(
  op: ProgramOp,
  index: number,
  lastUse: ReadonlyMap<ValueId, number>,
  staying: ReadonlySet<ValueId>,
): ValueId[] {
  const operands = op.inputs.filter((id) => lastUse.get(id) === index);
  const unread = op.outputs.filter((id) => !lastUse.has(id));
  return [...new Set([...operands, ...unread])].filter((id) => !staying.has(id));
}

function allocateOutputs(
  program: Program,
  op: ProgramOp,
  dying: readonly ValueId[],
  count: StorageCount,
): readonly (ValueId | null)[] {
  if (op.op.kernel.kind === 'view') {
    count.share(op.outputs[0]!, op.inputs[0]!);
    return [null];
  }
  return op.outputs.map((output) => {
    const reused = reusable(program, op, output, dying, count);
    if (reused === null) count.allocate(output, bytesOf(program.values, output));
    else count.share(output, reused);
    return reused;
  });
}

/**
 * A dying operand whose memory the output may take: only the program holds it, an element-by-element
 * kernel reads each element before it writes it, and the sizes are equal.
 */
function reusable(
  program: Program,
  { op, inputs }: ProgramOp,
  output: ValueId,
  dying: readonly ValueId[],
  count: StorageCount,
): ValueId | null {
  if (op.kernel.kind !== 'pointwise') return null;
  const { shape, dtype, device } = program.values[output]!;
  const bytes = bytesOf(program.values, output);
  const candidate = inputs.find((id) => {
    if (!dying.includes(id)) return false;
    const meta = program.values[id]!;
    const storage = count.of(id);
    invariant(storage !== undefined, `%${id} is read but not in the scope`);
    return (
      storage.exclusive &&
      storage.owners === 1 &&
      storage.bytes === bytes &&
      bytes > 0 &&
      meta.offset === 0 &&
      // Blocks are rounded up: of few elements, narrow and wide ones fill blocks of one size.
      device.elementBytes(meta.dtype) === device.elementBytes(dtype) &&
      sameShape(meta.shape, shape) &&
      isContiguousMeta(meta)
    );
  });
  return candidate ?? null;
}
