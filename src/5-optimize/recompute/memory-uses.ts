import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { ForwardFacts } from './forward-facts.ts';
import { validity } from './validity.ts';

/** The memory that an op reads, allocates and reuses for its results. */
interface Footprint {
  /** Operands whose data the op reads, without duplicates. */
  readonly reads: readonly ValueId[];
  /** Bytes of each output that allocates memory. */
  readonly bytes: readonly number[];
  /** The operands whose memory each output may reuse if the op is their last use. */
  readonly takes: readonly (readonly ValueId[])[];
  /** Bytes of scratch memory that its kernel allocates. */
  readonly scratch: number;
}

export const never = Number.POSITIVE_INFINITY;

/**
 * The uses of each memory of a program in op order. A memory is identified by the value that it was allocated for.
 * Computed once for all walks over the program.
 */
export class MemoryUses {
  readonly facts: ForwardFacts;
  /** Memories of inputs that the program may free. */
  readonly donated: readonly ValueId[];
  /** By op, the memories that it reads; views read none. */
  readonly reads: readonly (readonly ValueId[])[];
  /** By op, the memories that it allocates. */
  readonly makes: readonly (readonly ValueId[])[];
  readonly readsAndMakes: readonly (readonly ValueId[])[];
  /** By op: 1 if it is a view. */
  readonly isView: Uint8Array;
  /** By op and output, the memories of which the output may reuse one. */
  readonly takes: readonly (readonly (readonly ValueId[])[])[];
  /** By op. */
  readonly scratch: Float64Array;
  /** By op of forward: its arithmetic. */
  readonly work: Float64Array;
  /** By memory. */
  readonly bytes: Float64Array;
  /** By memory: the op that allocates it; −1 for an input. */
  readonly maker: Int32Array;
  /** By memory: the ops that read it. */
  readonly readers: readonly (readonly number[])[];
  /** By memory: memories that can be recomputed from it. */
  readonly dependents: readonly (readonly ValueId[])[];
  /** By memory: the last op of forward that needs it, if backward can recompute it; otherwise `never`. */
  readonly evictableAfter: Float64Array;
  /** By memory: 1 if the caller receives it. */
  readonly isOutput: Uint8Array;
  /** Whether values inside fused ops take no memory. */
  readonly #isFused: boolean;

  constructor(
    facts: ForwardFacts,
    footprintOf: (op: ProgramOp) => Footprint,
    donated: Iterable<ValueId> = [],
    inner?: (root: ValueId) => boolean,
  ) {
    const { ops, values } = facts.program;
    const once = (ids: readonly ValueId[]) => [...new Set(ids.map((id) => facts.rootOf(id)))];
    const isView = ({ op }: ProgramOp) => op.kernel.kind === 'view';
    const footprints = ops.map(footprintOf);
    this.facts = facts;
    this.#isFused = inner !== undefined;
    this.donated = [...donated];
    this.reads = ops.map((op, i) => (isView(op) ? [] : once(footprints[i]!.reads)));
    this.makes = ops.map((op) => (isView(op) ? [] : op.outputs));
    this.readsAndMakes = this.reads.map((ids, i) => [...ids, ...this.makes[i]!]);
    this.isView = Uint8Array.from(ops, (op) => Number(isView(op)));
    this.takes = footprints.map(({ takes }) => takes.map(once));
    this.scratch = Float64Array.from(footprints, ({ scratch }) => scratch);
    this.work = new Float64Array(ops.length);
    this.bytes = Float64Array.from(values, (_, id) => facts.bytesOf(id as ValueId));
    this.maker = new Int32Array(values.length).fill(-1);
    this.isOutput = Uint8Array.from(values, (_, id) => Number(facts.isReturned(id as ValueId)));
    const readers: number[][] = values.map(() => []);
    ops.forEach((_, index) => {
      this.makes[index]!.forEach((id, i) => {
        this.bytes[id] = inner?.(id) ? 0 : footprints[index]!.bytes[i]!;
        this.maker[id] = index;
      });
      for (const id of this.reads[index]!) readers[id]!.push(index);
    });
    this.readers = readers;
    const dependents: ValueId[][] = values.map(() => []);
    this.dependents = dependents;
    this.evictableAfter = new Float64Array(values.length).fill(never);
    const until = validity(facts, new Set());
    for (const index of facts.forward) {
      this.work[index] = facts.workOfOp(index);
      for (const id of this.makes[index]!) {
        if (!facts.canRecompute(id)) continue;
        for (const operand of this.reads[index]!) dependents[operand]!.push(id);
        const lastRead = readers[id]!.at(-1) ?? index;
        if (lastRead < until[id]!) this.evictableAfter[id] = index;
      }
    }
    for (const index of facts.forward) {
      // A view keeps the memory live until its own last use.
      const held = isView(ops[index]!) ? once(ops[index]!.outputs) : this.reads[index]!;
      for (const id of held) if (this.evictableAfter[id]! < index) this.evictableAfter[id] = index;
    }
  }

  /** The most bytes that a single op needs for its operands and scratch memory. */
  get mostOfAnOp(): number {
    let most = 0;
    this.reads.forEach((ids, index) => {
      const defined = ids.filter((id) => this.maker[id] !== -1);
      const sum = defined.reduce((before, id) => before + this.bytes[id]!, this.scratch[index]!);
      most = Math.max(most, sum);
    });
    return most;
  }

  /**
   * A lower bound of the peak in any order of the ops, whichever of them run twice, excluding pre-existing memory: the
   * memory that the caller receives, or that one op needs. Ops that run twice may be fused with others; then no op has
   * these operands.
   */
  get atLeast(): number {
    const { bytes, isOutput, maker } = this;
    let returnedBytes = 0;
    for (let id = 0; id < bytes.length; id++) {
      if (isOutput[id] === 1 && maker[id] !== -1) returnedBytes += bytes[id]!;
    }
    return this.#isFused ? returnedBytes : Math.max(returnedBytes, this.mostOfAnOp);
  }
}
