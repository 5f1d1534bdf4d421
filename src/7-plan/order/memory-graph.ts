import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { ControlMemory } from '../control/control-memory.ts';
import { AccessOrder, EarlierOps } from './accesses.ts';
import { forwardedOperands, mayRefuse } from './control-effects.ts';
import { type Lists, ListsBuilder } from './lists.ts';
import { movableOps } from './movable.ts';
import { factsOf, type OpFacts } from './op-facts.ts';
import type { Storage } from './storages.ts';

/** Index of an op to order, 0 to n − 1 in program order; an order is a permutation. */
export type OpIndex = number;
/** Index of one piece of memory: a value with all its views. */
export type StorageIndex = number;

/**
 * The constraints on an order of the ops, and the numbers that determine its peak, in flat arrays: many orders are
 * tried.
 */
export interface MemoryGraph {
  readonly size: number;
  /** The ops that must come before each op. */
  readonly before: Lists;
  readonly after: Lists;
  /** The storages that each op reads, writes or allocates, without duplicates. */
  readonly touches: Lists;
  readonly makes: Lists;
  /** The operands whose memory each op's output may reuse, if they die with it. */
  readonly reusable: Lists;
  /** Bytes that the op's kernel allocates while it runs. */
  readonly scratch: Float64Array;
  /** Bytes of each storage; 0 for memory of the caller. */
  readonly bytes: Float64Array;
  /** 1 for each storage that outlives the program. */
  readonly pinned: Uint8Array;
  /** The op that allocates each storage; −1 if it exists from the start. */
  readonly maker: Int32Array;
  /** The ops that touch each storage. */
  readonly touchers: Lists;
  /** Bytes of storages that exist from the start and that the program may free. */
  readonly liveAtStart: number;
}

/** An input's contribution to the program's memory: its bytes, or 0 for memory of the caller. */
export interface Entering {
  readonly bytes: number;
  /** Whether it has no other owner. */
  readonly exclusive: boolean;
}

export interface GraphOptions {
  readonly keep: readonly ValueId[];
  readonly carried: ReadonlyMap<ValueId, Storage>;
  readonly entering: (input: ValueId) => Entering;
  readonly reuse: boolean;
  /** The memory use of control ops on the considered path. */
  readonly control?: ReadonlyMap<ProgramOp, ControlMemory>;
  /** Counts the least memory that control ops use in any order, rather than the simulated one. */
  readonly least?: boolean;
}

/**
 * Builds the constraints: a value is defined before it is used; reads and in-place writes of one memory keep their
 * order; an op that may throw on its values comes before every later write to the caller's memory; and ops that may
 * throw keep their order.
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
  readonly #storageOf: Int32Array;
  readonly #carriedStorage = new Map<Storage, StorageIndex>();
  /** For each value, the op that must have run for it to exist; −1: none; −2 − i: all of `#definers[i]`. */
  readonly #definer: Int32Array;
  /** The definers of views with several operands. */
  readonly #definers: (readonly OpIndex[])[] = [];
  readonly #accesses = new AccessOrder();
  readonly #before = new ListsBuilder();
  readonly #earlier: EarlierOps;
  readonly #touches = new ListsBuilder();
  readonly #makes = new ListsBuilder();
  readonly #facts: OpFacts[] = [];

  constructor(program: Program, options: GraphOptions, moving: readonly ProgramOp[]) {
    this.#program = program;
    this.#moving = moving;
    this.#options = options;
    this.#storageOf = new Int32Array(program.values.length).fill(-1);
    this.#definer = new Int32Array(program.values.length).fill(-1);
    this.#earlier = new EarlierOps(moving.length, (op) => this.#before.add(op));
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
    this.#addOps();
    const before = this.#before.build();
    const touches = this.#touches.build();
    const pinned = new Uint8Array(this.#bytes.length);
    for (const id of [...outputs, ...keep]) {
      for (const held of [id, ...this.#heldBy(id)]) pinned[this.#storageOf[held]!] = 1;
    }
    return {
      size: ops.length,
      before,
      after: before.inverse(ops.length),
      touches,
      makes: this.#makes.build(),
      reusable: this.#reusable(pinned),
      scratch: Float64Array.from(ops, (op, index) => this.#scratchOf(op, index)),
      bytes: Float64Array.from(this.#bytes),
      pinned,
      maker: Int32Array.from(this.#maker),
      touchers: touches.inverse(this.#bytes.length),
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

  #addOps(): void {
    let index = 0;
    for (const op of this.#program.ops) {
      if (op === this.#moving[index]) this.#addOp(op, index++);
      else this.#addView(op);
    }
  }

  #addView({ inputs, outputs: [view] }: ProgramOp): void {
    const [base] = inputs;
    this.#definer[view!] = inputs.length === 1 ? this.#definer[base!]! : this.#definerOfAll(inputs);
    this.#storageOf[view!] = this.#storageOf[base!]!;
  }

  #definerOfAll(ids: readonly ValueId[]): number {
    return -1 - this.#definers.push([...new Set(ids.flatMap((id) => this.#definersOf(id)))]);
  }

  #definersOf(id: ValueId): readonly OpIndex[] {
    const definer = this.#definer[id]!;
    if (definer >= 0) return [definer];
    return definer === -1 ? none : this.#definers[-2 - definer]!;
  }

  /** Adds the op and the ops that must come before it. */
  #addOp(op: ProgramOp, index: OpIndex): void {
    const earlier = this.#earlier;
    earlier.startWith(index);
    for (const id of op.inputs) {
      const definer = this.#definer[id]!;
      if (definer >= 0) earlier.add(definer);
      else if (definer < -1) for (const each of this.#definers[-2 - definer]!) earlier.add(each);
    }
    const facts = factsOf(op, this.#program.values);
    this.#facts.push(facts);
    const { data, isWritten } = facts;
    for (let i = 0; i < data.length; i++) {
      const storage = this.#storageOf[op.inputs[data[i]!]!]!;
      if (isWritten[i]) this.#accesses.write(storage, index, earlier);
      else this.#accesses.read(storage, index, earlier);
    }
    const undone = this.#undone(op);
    // Backward reads the values that a tape keeps when it walks the tape.
    for (const id of undone?.inputs ?? none) {
      this.#accesses.read(this.#storageOf[id]!, index, earlier);
    }
    if (mayRefuse(op)) this.#accesses.refuse(index, earlier);
    const first = op.again === undefined ? -1 : this.#definer[op.again]!;
    if (first >= 0) earlier.add(first);
    this.#before.endList();
    this.#define(op, index, facts);
    for (const at of data) this.#touches.addOnce(this.#storageOf[op.inputs[at]!]!);
    for (const id of op.outputs) this.#touches.addOnce(this.#storageOf[id]!);
    if (undone) {
      for (const id of this.#heldBy(op.inputs[0]!)) this.#touches.addOnce(this.#storageOf[id]!);
    }
    this.#touches.endList();
  }

  #define(op: ProgramOp, index: OpIndex, { bytes }: OpFacts): void {
    const { inputs, outputs } = op;
    const { kind } = op.op.kernel;
    const made = this.#options.control?.get(op)?.made;
    for (let i = 0; i < outputs.length; i++) {
      const id = outputs[i]!;
      this.#definer[id] = index;
      if (kind === 'view') {
        this.#storageOf[id] = this.#storageOf[inputs[0]!]!;
        continue;
      }
      const storage = this.#newStorage(made?.[i] ?? bytes[i]!, kind !== 'control', index);
      this.#storageOf[id] = storage;
      this.#makes.add(storage);
    }
    this.#makes.endList();
    if (kind !== 'control') return;
    for (const from of forwardedOperands(op)) {
      for (const id of outputs) this.#accesses.join(this.#storageOf[id]!, this.#storageOf[from]!);
    }
  }

  /** Returns the op whose tape this op walks, if it is in this program. */
  #undone({ op, inputs }: ProgramOp): ProgramOp | undefined {
    if (op.kernel.kind !== 'control' || !op.kernel.form.endsWith('Backward')) return undefined;
    return this.#makerOf(inputs[0]!);
  }

  #makerOf(tape: ValueId): ProgramOp | undefined {
    const [maker] = this.#definersOf(tape);
    return maker === undefined ? undefined : this.#moving[maker];
  }

  /** Returns the values that a tape keeps besides those that its op computed. */
  #heldBy(tape: ValueId): readonly ValueId[] {
    if (!this.#options.control) return none;
    const maker = this.#makerOf(tape);
    if (!maker || maker.outputs.at(-1) !== tape) return none;
    const { held = [] } = this.#options.control.get(maker) ?? {};
    return held.map((i) => maker.inputs[i]!);
  }

  #scratchOf(op: ProgramOp, index: OpIndex): number {
    const control = this.#options.control?.get(op);
    if (!control) return this.#facts[index]!.scratch;
    return this.#options.least ? control.leastScratch : control.scratch;
  }

  #reusable(pinned: Uint8Array): Lists {
    const lists = new ListsBuilder();
    for (let op = 0; op < this.#facts.length; op++) {
      const { overwritten, bytes } = this.#facts[op]!;
      for (const at of this.#options.reuse ? overwritten : none) {
        const storage = this.#storageOf[this.#moving[op]!.inputs[at]!]!;
        const isWhole = this.#bytes[storage] === bytes[0];
        if (isWhole && this.#exclusive[storage] && !pinned[storage]) lists.addOnce(storage);
      }
      lists.endList();
    }
    return lists.build();
  }
}

const none: readonly never[] = [];
