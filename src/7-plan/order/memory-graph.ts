import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { ControlMemory } from '../control/control-memory.ts';
import { AccessOrder, EarlierOps } from './accesses.ts';
import { handedOn } from './control-effects.ts';
import { movableOps } from './movable.ts';
import { factsOf } from './op-facts.ts';
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
  /** By value. */
  readonly #storageOf: Int32Array;
  readonly #carriedStorage = new Map<Storage, StorageIndex>();
  /** The ops that must have run for a value to be there: its maker, or those of the operands of a view. */
  readonly #definedBy: (readonly OpIndex[] | undefined)[];
  readonly #accesses = new AccessOrder();
  readonly #earlier: EarlierOps;

  constructor(program: Program, options: GraphOptions, moving: readonly ProgramOp[]) {
    this.#program = program;
    this.#moving = moving;
    this.#options = options;
    this.#storageOf = new Int32Array(program.values.length).fill(-1);
    this.#definedBy = program.values.map(() => undefined);
    this.#earlier = new EarlierOps(moving.length);
  }

  build(): MemoryGraph {
    const { inputs, outputs } = this.#program;
    const ops = this.#moving;
    const { carried, entering, keep } = this.#options;
    for (const [id, storage] of carried) {
      const known = this.#carriedStorage.get(storage);
      const index = known ?? this.#newStorage(storage.bytes, storage.exclusive, -1);
      this.#carriedStorage.set(storage, index);
      this.#storageOf[id] = index;
    }
    for (const id of inputs) {
      const { bytes, exclusive } = entering(id);
      this.#storageOf[id] = this.#newStorage(bytes, exclusive, -1);
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
      for (const held of [id, ...this.#heldBy(id)]) pinned[this.#storageOf[held]!] = 1;
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
    const [base] = inputs;
    const definers = (id: ValueId) => this.#definedBy[id] ?? none;
    this.#definedBy[view!] =
      inputs.length === 1 ? definers(base!) : [...new Set(inputs.flatMap(definers))];
    this.#storageOf[view!] = this.#storageOf[base!]!;
  }

  /** The ops that must come before it. */
  #addOp(op: ProgramOp, index: OpIndex): OpIndex[] {
    const earlier = this.#earlier;
    earlier.startWith(index);
    for (const id of op.inputs) {
      for (const definer of this.#definedBy[id] ?? none) earlier.add(definer);
    }
    const { data, isWritten, mayRefuse } = factsOf(op, this.#program.values);
    for (let i = 0; i < data.length; i++) {
      const storage = this.#storageOf[data[i]!]!;
      if (isWritten[i]) this.#accesses.write(storage, index, earlier);
      else this.#accesses.read(storage, index, earlier);
    }
    // What a tape holds is read when it is walked back.
    for (const id of this.#undone(op)?.inputs ?? none) {
      this.#accesses.read(this.#storageOf[id]!, index, earlier);
    }
    if (mayRefuse) this.#accesses.refuse(index, earlier);
    this.#define(op, index);
    return earlier.list;
  }

  #define(op: ProgramOp, index: OpIndex): void {
    const { inputs, outputs } = op;
    const { kind } = op.op.kernel;
    const made = this.#options.control?.get(op)?.made;
    const own = factsOf(op, this.#program.values).bytes;
    const definers = [index];
    outputs.forEach((id, i) => {
      this.#definedBy[id] = definers;
      this.#storageOf[id] =
        kind === 'view'
          ? this.#storageOf[inputs[0]!]!
          : this.#newStorage(made?.[i] ?? own[i]!, kind !== 'control', index);
    });
    if (kind !== 'control') return;
    for (const from of handedOn(op)) {
      for (const id of outputs) {
        this.#accesses.join(this.#storageOf[id]!, this.#storageOf[from]!);
      }
    }
  }

  /** The op whose tape this one walks back, where it is in this program. */
  #undone({ op, inputs }: ProgramOp): ProgramOp | undefined {
    if (op.kernel.kind !== 'control' || !op.kernel.form.endsWith('Backward')) return undefined;
    return this.#makerOf(inputs[0]!);
  }

  #makerOf(tape: ValueId): ProgramOp | undefined {
    const [maker] = this.#definedBy[tape] ?? none;
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
    if (!control) return factsOf(op, this.#program.values).scratch;
    return this.#options.least ? control.leastScratch : control.scratch;
  }

  #touchesOf(op: ProgramOp): StorageIndex[] {
    const held = this.#undone(op) ? this.#heldBy(op.inputs[0]!) : none;
    const storages: StorageIndex[] = [];
    for (const id of factsOf(op, this.#program.values).touched) this.#note(id, storages);
    for (const id of held) this.#note(id, storages);
    return storages;
  }

  /** Few storages: looked for one by one. */
  #note(id: ValueId, storages: StorageIndex[]): void {
    const storage = this.#storageOf[id]!;
    if (!storages.includes(storage)) storages.push(storage);
  }

  #madeBy({ outputs }: ProgramOp, index: OpIndex): StorageIndex[] {
    const storages: StorageIndex[] = [];
    for (const id of outputs) {
      if (this.#maker[this.#storageOf[id]!] === index) this.#note(id, storages);
    }
    return storages;
  }

  #reusableBy(op: ProgramOp, pinned: Uint8Array): StorageIndex[] {
    const { overwritten, bytes } = factsOf(op, this.#program.values);
    const storages: StorageIndex[] = [];
    for (const id of overwritten) {
      const storage = this.#storageOf[id]!;
      const isWhole = this.#bytes[storage] === bytes[0];
      if (isWhole && this.#exclusive[storage] && !pinned[storage]) this.#note(id, storages);
    }
    return storages;
  }
}

const none: readonly never[] = [];
