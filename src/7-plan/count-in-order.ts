import { invariant } from '../../runtime/errors/invariant.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import type { MemoryOptions } from '../programs/memory-options.ts';
import { type EnteringOptions, enteringWith } from './entering.ts';
import type { OpMemories, OpMemory } from './op-memory.ts';
import { type Storage, StorageCount } from './order/storages.ts';

export interface CountOptions extends EnteringOptions {
  /** Values that remain in the scope after the run. */
  readonly keep: readonly ValueId[];
  /** Storages of values that are already in the scope (saved by forward). */
  readonly carried?: ReadonlyMap<ValueId, Storage>;
  readonly memory: Pick<MemoryOptions, 'freeAtLastUse' | 'reuse'>;
}

/** The bytes of a program in its order, after its last op. */
interface InOrder {
  readonly count: StorageCount;
  /** Whether the value's data is read, kept, or an output. */
  readonly isRead: (id: ValueId) => boolean;
}

/** Called for each op in order. `reuses`: per output, the dying operand whose memory it reuses, or null. */
type EachOp = (
  op: ProgramOp,
  dying: readonly ValueId[],
  reuses: readonly (ValueId | null)[],
  isRead: (id: ValueId) => boolean,
) => void;

/** Counts the bytes of a program op by op, in its given order. */
export function countInOrder(
  program: Program,
  options: CountOptions,
  memories: OpMemories,
  each?: EachOp,
): InOrder {
  const { values, inputs, ops } = program;
  const { freeAtLastUse, reuse } = options.memory;
  const uses = ops.map((op) => memories.of(op));
  const lastUse = lastUses(uses, values.length);
  const staying = new Uint8Array(values.length);
  for (const id of options.keep) staying[id] = 1;
  for (const id of program.outputs) staying[id] = 1;
  const isRead = (id: ValueId) => lastUse[id]! >= 0 || staying[id] === 1;
  const count = new StorageCount(values.length);
  for (const [id, storage] of copied(options.carried)) count.carry(id, storage);
  const bringing = enteringWith(program, options);
  for (const id of inputs) {
    if (!isRead(id)) continue;
    const { bytes, exclusive } = bringing(id);
    count.enter(id, bytes, exclusive);
  }
  for (let index = 0; index < ops.length; index++) {
    const op = ops[index]!;
    const use = uses[index]!;
    const dying = freeAtLastUse ? dyingAt(op, use, index) : none;
    let reuses: readonly (ValueId | null)[];
    if (op.op.kernel.kind === 'control') {
      // A result may be one of the operands, so neither may be overwritten while the other is live.
      for (const id of op.inputs) count.expose(id);
      for (const id of op.outputs) count.enter(id, bytesOf(values, id));
      reuses = op.outputs.map(() => null);
    } else {
      reuses = allocateOutputs(op, use, reuse ? dying : none, count);
      count.transient(use.scratch);
    }
    for (const id of dying) count.free(id);
    each?.(op, dying, reuses, isRead);
  }
  return { count, isRead };

  /** Returns the values without a use after this op, including its unused outputs. */
  function dyingAt({ outputs }: ProgramOp, { reads }: OpMemory, index: number): readonly ValueId[] {
    let dying: ValueId[] | undefined;
    for (const id of reads) {
      if (lastUse[id] === index && staying[id] === 0) {
        dying ??= [];
        dying.push(id);
      }
    }
    for (const id of outputs) {
      if (lastUse[id]! < 0 && staying[id] === 0) {
        dying ??= [];
        dying.push(id);
      }
    }
    return dying ?? none;
  }
}

const none: readonly ValueId[] = [];
const nothingTaken = [null];

/** Returns the index of the last op that reads each value's data; −1 if none does. */
function lastUses(uses: readonly OpMemory[], values: number): Int32Array {
  const last = new Int32Array(values).fill(-1);
  uses.forEach(({ reads }, index) => {
    for (const id of reads) last[id] = index;
  });
  return last;
}

/** Allocates each output, or lets it reuse a dying operand's memory. Returns these operands, or null. */
function allocateOutputs(
  { op, inputs, outputs }: ProgramOp,
  { bytes, takes }: OpMemory,
  dying: readonly ValueId[],
  count: StorageCount,
): readonly (ValueId | null)[] {
  if (op.kernel.kind === 'view') {
    count.share(outputs[0]!, inputs[0]!);
    return nothingTaken;
  }
  const reuses: (ValueId | null)[] = [];
  for (let result = 0; result < outputs.length; result++) {
    const needed = bytes[result]!;
    const taken = takenOf(takes[result]!, dying, needed, count);
    if (taken === null) count.allocate(outputs[result]!, needed);
    else count.share(outputs[result]!, taken);
    reuses.push(taken);
  }
  return reuses;
}

/** Returns the first of these operands that dies and whose memory has no other owner. */
function takenOf(
  takes: readonly ValueId[],
  dying: readonly ValueId[],
  needed: number,
  count: StorageCount,
): ValueId | null {
  for (const id of takes) if (dying.includes(id) && isFree(id, needed, count)) return id;
  return null;
}

/** Whether a dying operand's memory has no other owner and exactly the output's size. */
function isFree(id: ValueId, needed: number, count: StorageCount): boolean {
  const storage = count.of(id);
  invariant(storage !== undefined, `%${id} is read but not in the scope`);
  return storage.exclusive && storage.owners === 1 && storage.bytes === needed;
}

/** Copies the map, since counting changes owners. */
function copied(carried: ReadonlyMap<ValueId, Storage> = new Map()): ReadonlyMap<ValueId, Storage> {
  const copies = new Map<Storage, Storage>();
  for (const storage of carried.values()) copies.set(storage, { ...storage });
  return new Map([...carried].map(([id, storage]) => [id, copies.get(storage)!]));
}
