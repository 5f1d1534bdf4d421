import { mayOverwrite, operandUse } from '../../../runtime/device/kernel-op.ts';
import { isContiguousMeta } from '../../../runtime/device/tensor-meta.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { bytesOf, scratchBytesOf } from '../../../runtime/program/value-bytes.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import { sameShape } from '../../../runtime/spec/shape.ts';
import type { ControlMemory } from '../control/control-memory.ts';
import { AccessOrder } from './accesses.ts';
import { handedOn, mayRefuse, writesInside } from './control-effects.ts';
import { movableOps } from './movable.ts';
import type { Storage } from './storages.ts';

/** The ops whose order is searched by number, 0 to n − 1 in the order of the source; an order is a permutation. */
export type OpIndex = number;
/** One piece of memory: a value with all its views. */
export type StorageIndex = number;

/**
 * The constraints on an order of the ops, and the numbers that decide its peak. Numbers in flat arrays: orders are
 * tried out many times.
 */
export interface MemoryGraph {
  readonly size: number;
  readonly before: readonly (readonly OpIndex[])[];
  readonly after: readonly (readonly OpIndex[])[];
  /** The storages that each op reads, writes or makes, each once. */
  readonly touches: readonly (readonly StorageIndex[])[];
  readonly makes: readonly (readonly StorageIndex[])[];
  /** The operands whose memory each op's output may take, if they die with it. */
  readonly reusable: readonly (readonly StorageIndex[])[];
  /** Bytes that the op's kernel takes while it runs. */
  readonly scratch: Float64Array;
  /** Bytes of each storage; 0 for memory of the caller. */
  readonly bytes: Float64Array;
  /** 1 for each storage that stays when the program ends. */
  readonly pinned: Uint8Array;
  /** The op that makes each storage; −1: it is there from the start. */
  readonly maker: Int32Array;
  /** The ops that touch each storage. */
  readonly touchers: readonly (readonly OpIndex[])[];
  /** Bytes of storages that are there from the start and that the program may free. */
  readonly liveAtStart: number;
}

/** An input's contribution to the program's memory: bytes, 0 for memory of the caller. */
export interface Entering {
  readonly bytes: number;
  /** It has no other owner. */
  readonly exclusive: boolean;
}

export interface GraphOptions {
  readonly keep: readonly ValueId[];
  readonly carried: ReadonlyMap<ValueId, Storage>;
  readonly entering: (input: ValueId) => Entering;
  readonly reuse: boolean;
  /** The memory use of control ops on the path considered. */
  readonly control?: ReadonlyMap<ProgramOp, ControlMemory>;
  /** Counts the least memory of control ops in any order; otherwise as it was seen. */
  readonly least?: boolean;
}

/**
 * Order that must hold: a value is defined before it is used; of one memory, reads and writes in place
 * stay as they are; an op that may refuse its values comes before every later write to the caller's
 * memory, and refusals stay in their order.
 */
export function memoryGraph(
  program: Program,
  options: GraphOptions,
  moving = movableOps(program),
): MemoryGraph {
  return new GraphBuilder(program, options, moving).build();
}

class GraphBuilder {
  readonly #program: Program;
  readonly #moving: readonly ProgramOp[];
  readonly #options: GraphOptions;
  readonly #bytes: number[] = [];
  readonly #exclusive: boolean[] = [];
  readonly #maker: number[] = [];
  readonly #storageOf = new Map<ValueId, StorageIndex>();
  readonly #carriedStorage = new Map<Storage, StorageIndex>();
  /** The ops that must have run for a value to be there: its maker, or those of the operands of a view. */
  readonly #definedBy = new Map<ValueId, readonly OpIndex[]>();
  readonly #accesses = new AccessOrder();

  constructor(program: Program, options: GraphOptions, moving: readonly ProgramOp[]) {
    this.#program = program;
    this.#moving = moving;
    this.#options = options;
  }

  build(): MemoryGraph {
    const { inputs, outputs } = this.#program;
    const ops = this.#moving;
    const { carried, entering, keep } = this.#options;
    for (const [id, storage] of carried) {
      const known = this.#carriedStorage.get(storage);
      const index = known ?? this.#newStorage(storage.bytes, storage.exclusive, -1);
      this.#carriedStorage.set(storage, index);
      this.#storageOf.set(id, index);
    }
    for (const id of inputs) {
      const { bytes, exclusive } = entering(id);
      this.#storageOf.set(id, this.#newStorage(bytes, exclusive, -1));
    }
    const liveAtStart = this.#bytes.reduce((sum, bytes) => sum + bytes, 0);
    const before = this.#addOps();
    const after: OpIndex[][] = ops.map(() => []);
    before.forEach((earlier, index) => {
      for (const op of earlier) after[op]!.push(index);
    });
    const touches = ops.map((op) => this.#touchesOf(op));
    const touchers: OpIndex[][] = this.#bytes.map(() => []);
    touches.forEach((storages, op) => {
      for (const storage of storages) touchers[storage]!.push(op);
    });
    const pinned = new Uint8Array(this.#bytes.length);
    for (const id of [...outputs, ...keep]) {
      for (const held of [id, ...this.#heldBy(id)]) pinned[this.#storageOf.get(held)!] = 1;
    }
    return {
      size: ops.length,
      before,
      after,
      touches,
      makes: ops.map((op, index) => this.#madeBy(op, index)),
      reusable: ops.map((op) => (this.#options.reuse ? this.#reusableBy(op, pinned) : [])),
      scratch: Float64Array.from(ops, (op) => this.#scratchOf(op)),
      bytes: Float64Array.from(this.#bytes),
      pinned,
      maker: Int32Array.from(this.#maker),
      touchers,
      liveAtStart,
    };
  }

  #newStorage(bytes: number, exclusive: boolean, maker: OpIndex): StorageIndex {
    this.#exclusive.push(exclusive);
    this.#maker.push(maker);
    const storage = this.#bytes.push(bytes) - 1;
    this.#accesses.add(storage, maker === -1);
    return storage;
  }

  /** Returns for each op that moves the ops that must come before it. */
  #addOps(): OpIndex[][] {
    const before: OpIndex[][] = [];
    for (const op of this.#program.ops) {
      if (op === this.#moving[before.length]) before.push(this.#addOp(op, before.length));
      else this.#addView(op);
    }
    return before;
  }

  #addView({ inputs, outputs: [view] }: ProgramOp): void {
    const definers = inputs.flatMap((id) => this.#definedBy.get(id) ?? []);
    this.#definedBy.set(view!, [...new Set(definers)]);
    this.#storageOf.set(view!, this.#storageOf.get(inputs[0]!)!);
  }

  /** The ops that must come before it. */
  #addOp(op: ProgramOp, index: OpIndex): OpIndex[] {
    const earlier = new Set<OpIndex>();
    const { inputs } = op;
    for (const id of inputs) {
      for (const definer of this.#definedBy.get(id) ?? []) earlier.add(definer);
    }
    const writes = writesInside(op);
    const written = writtenOperands(op);
    inputs.forEach((id, i) => {
      if (operandUse(op.op, i) !== 'data') return;
      const storage = this.#storageOf.get(id)!;
      if (writes || written.includes(i)) this.#accesses.write(storage, index, earlier);
      else this.#accesses.read(storage, index, earlier);
    });
    // What a tape holds is read when it is walked back.
    for (const id of this.#undone(op)?.inputs ?? []) {
      this.#accesses.read(this.#storageOf.get(id)!, index, earlier);
    }
    if (mayRefuse(op)) this.#accesses.refuse(index, earlier);
    this.#define(op, index);
    earlier.delete(index);
    return [...earlier];
  }

  #define(op: ProgramOp, index: OpIndex): void {
    const { inputs, outputs } = op;
    const { kind } = op.op.kernel;
    const made = this.#options.control?.get(op)?.made;
    outputs.forEach((id, i) => {
      this.#definedBy.set(id, [index]);
      const bytes = made?.[i] ?? this.#bytesOf(id);
      const storage =
        kind === 'view'
          ? this.#storageOf.get(inputs[0]!)!
          : this.#newStorage(bytes, kind !== 'control', index);
      this.#storageOf.set(id, storage);
    });
    for (const from of handedOn(op)) {
      for (const id of outputs) {
        this.#accesses.join(this.#storageOf.get(id)!, this.#storageOf.get(from)!);
      }
    }
  }

  /** The op whose tape this one walks back, where it is in this program. */
  #undone({ op, inputs }: ProgramOp): ProgramOp | undefined {
    if (op.kernel.kind !== 'control' || !op.kernel.form.endsWith('Backward')) return undefined;
    return this.#makerOf(inputs[0]!);
  }

  #makerOf(tape: ValueId): ProgramOp | undefined {
    const [maker] = this.#definedBy.get(tape) ?? [];
    return maker === undefined ? undefined : this.#moving[maker];
  }

  /** Returns the values that a tape holds beside those that its op has made. */
  #heldBy(tape: ValueId): ValueId[] {
    const maker = this.#makerOf(tape);
    if (!maker || maker.outputs.at(-1) !== tape) return [];
    const { held = [] } = this.#options.control?.get(maker) ?? {};
    return held.map((i) => maker.inputs[i]!);
  }

  #scratchOf(op: ProgramOp): number {
    const control = this.#options.control?.get(op);
    if (!control) return scratchBytesOf(this.#program.values, op);
    return this.#options.least ? control.leastScratch : control.scratch;
  }

  #touchesOf(op: ProgramOp): StorageIndex[] {
    const { inputs, outputs } = op;
    const data = inputs.filter((_, i) => operandUse(op.op, i) === 'data');
    const held = this.#undone(op) ? this.#heldBy(inputs[0]!) : [];
    const values = [...data, ...outputs, ...held];
    return [...new Set(values.map((id) => this.#storageOf.get(id)!))];
  }

  #madeBy({ outputs }: ProgramOp, index: OpIndex): StorageIndex[] {
    const storages = new Set(outputs.map((id) => this.#storageOf.get(id)!));
    return [...storages].filter((storage) => this.#maker[storage] === index);
  }

  /** As the planner decides, but for what depends on the order. */
  #reusableBy({ op, inputs, outputs }: ProgramOp, pinned: Uint8Array): StorageIndex[] {
    if (op.inPlace || op.kernel.kind === 'view' || outputs.length !== 1) return [];
    const { values } = this.#program;
    const [output] = outputs;
    const { shape, dtype, device } = values[output!]!;
    const bytes = this.#bytesOf(output!);
    const storages = inputs.filter((id, i) => {
      if (!mayOverwrite(op, i, device, 0)) return false;
      const storage = this.#storageOf.get(id)!;
      const meta = values[id]!;
      return (
        this.#exclusive[storage] &&
        !pinned[storage] &&
        this.#bytes[storage] === bytes &&
        bytes > 0 &&
        meta.offset === 0 &&
        device.elementBytes(meta.dtype) === device.elementBytes(dtype) &&
        sameShape(meta.shape, shape) &&
        isContiguousMeta(meta)
      );
    });
    return [...new Set(storages.map((id) => this.#storageOf.get(id)!))];
  }

  #bytesOf(id: ValueId): number {
    return bytesOf(this.#program.values, id);
  }
}
