import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import { operandUse } from '../../../runtime/device/kernel-op.ts';
import { aliasOp } from '../../../runtime/program/alias-op.ts';
import { ValueGroups } from '../../../runtime/program/memory-groups.ts';
import { nameGradientOp } from '../../../runtime/program/optional-gradients.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { ViewBases } from '../../../runtime/program/view-bases.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';

/** The latest facts: most passes change nothing, and the next pass reads the facts of the same program. */
let latest: WeakRef<ProgramFacts> | undefined;

/** Facts about a straight-line program, for rewriting rules. Ops are identified by their index. */
export class ProgramFacts {
  readonly program: Program;
  /** For each value, the op that computes it; −1 for inputs. */
  readonly #definedBy: Int32Array;
  /** For each value, the value whose memory it views. */
  readonly #rootOf: Int32Array;
  /** For each memory, the ops that read its data through any view, in program order. */
  readonly #readers = new Map<ValueId, number[]>();
  /** For each memory, the ops that write it, or may do so. */
  readonly #writers = new Map<ValueId, number[]>();
  readonly #groups: ValueGroups;
  readonly #views: ViewBases;

  static of(program: Program): ProgramFacts {
    const known = latest?.deref();
    if (known?.program === program) return known;
    const facts = new ProgramFacts(program);
    latest = new WeakRef(facts);
    return facts;
  }

  private constructor(program: Program) {
    this.program = program;
    this.#definedBy = new Int32Array(program.values.length).fill(-1);
    this.#rootOf = Int32Array.from(program.values.keys());
    program.ops.forEach((each, index) => {
      const { op, inputs, outputs } = each;
      inputs.forEach((id, i) => {
        if (operandUse(op, i) === 'data' && op.kernel.kind !== 'view') this.#read(id, index);
      });
      for (const id of outputs) {
        this.#definedBy[id] = index;
        if (op.kernel.kind === 'view') this.#rootOf[id] = this.rootOf(inputs[0]!);
      }
    });
    this.#groups = new ValueGroups(program.ops, 'memory');
    this.#views = new ViewBases(program.ops);
    program.ops.forEach((op, index) => {
      for (const operand of writtenOperands(op)) {
        const memory = this.#groups.of(op.inputs[operand]!);
        getOrInsert(this.#writers, memory, () => []).push(index);
      }
    });
  }

  /** The value whose memory this one views. */
  rootOf(id: ValueId): ValueId {
    return this.#rootOf[id] as ValueId;
  }

  /** Whether a view between the value and its memory has no gradient history. */
  isApart(id: ValueId): boolean {
    const definition = this.definitionOf(id);
    if (definition?.op.kernel.kind !== 'view') return false;
    const { op, recordsGrad, inputs } = definition;
    return op === aliasOp || !recordsGrad || this.isApart(inputs[0]!);
  }

  /**
   * Returns the value that this one views and that exists whenever it does: its memory, or a contribution to a gradient
   * that flows to several names. Other values in the same memory may be missing when this one isn't.
   */
  presentRootOf(id: ValueId): ValueId {
    const definition = this.definitionOf(id);
    const isView = definition?.op.kernel.kind === 'view' && definition.op !== nameGradientOp;
    return isView ? this.presentRootOf(definition.inputs[0]!) : id;
  }

  /** Returns the value that this one is a view of, as gradients flow. */
  baseOf(id: ValueId): ValueId {
    return this.#views.baseOf(id);
  }

  /** Returns the op that computes the value; undefined for inputs. */
  definitionOf(id: ValueId): ProgramOp | undefined {
    const index = this.definitionIndex(id);
    return index < 0 ? undefined : this.program.ops[index];
  }

  definitionIndex(id: ValueId): number {
    return this.#definedBy[id]!;
  }

  /** Returns the index of the last op that reads the value's memory; −1 if none does. */
  lastReadOfMemory(id: ValueId): number {
    return this.#readers.get(this.rootOf(id))?.at(-1) ?? -1;
  }

  /** Returns the ops that read the value's memory, including its own views. */
  readersOfMemory(id: ValueId): readonly number[] {
    return this.#readers.get(this.rootOf(id)) ?? [];
  }

  /**
   * Returns the representative of the value's memory: the same for values that may share memory, through views or
   * control ops that forward an operand.
   */
  memoryOf(id: ValueId): ValueId {
    return this.#groups.of(id);
  }

  /** Whether an op writes the value's memory in place. */
  isWritten(id: ValueId): boolean {
    return this.#writers.has(this.#groups.of(id));
  }

  /** Returns the number of ops before `index` that write the value's memory. */
  versionAt(id: ValueId, index: number): number {
    const writers = this.#writers.get(this.#groups.of(id)) ?? [];
    return writers.filter((writer) => writer < index).length;
  }

  #read(id: ValueId, index: number): void {
    const root = this.rootOf(id);
    getOrInsert(this.#readers, root, () => []).push(index);
  }
}
