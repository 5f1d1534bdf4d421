import { operandUse } from '../../../runtime/device/kernel-op.ts';
import { aliasOp } from '../../../runtime/program/alias-op.ts';
import { ValueGroups } from '../../../runtime/program/memory-groups.ts';
import { nameGradientOp } from '../../../runtime/program/optional-gradients.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { ViewBases } from '../../../runtime/program/view-bases.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';

/** The facts about a straight-line program that rewriting rules ask for. Ops are named by their index. */
export class ProgramFacts {
  readonly program: Program;
  /** By value: the op that makes it; −1: an input. */
  readonly #definedBy: Int32Array;
  /** By value: the value whose memory it shows. */
  readonly #rootOf: Int32Array;
  /** The ops that read the data of each memory, through any view, in program order. */
  readonly #readers = new Map<ValueId, number[]>();
  /** The ops that write, or may write, each memory. */
  readonly #writers = new Map<ValueId, number[]>();
  readonly #groups: ValueGroups;
  readonly #views: ViewBases;

  constructor(program: Program) {
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
        const writers = this.#writers.get(memory);
        if (writers) writers.push(index);
        else this.#writers.set(memory, [index]);
      }
    });
  }

  /** The value whose memory this one shows. */
  rootOf(id: ValueId): ValueId {
    return this.#rootOf[id] as ValueId;
  }

  /** On the way to the value from its memory some view has no gradient history. */
  isApart(id: ValueId): boolean {
    const definition = this.definitionOf(id);
    if (definition?.op.kernel.kind !== 'view') return false;
    const { op, recordsGrad, inputs } = definition;
    return op === aliasOp || !recordsGrad || this.isApart(inputs[0]!);
  }

  /**
   * The value of which it is a view wherever that exists: its memory, or a contribution to a gradient that goes to one
   * of several names. Others in the same memory may be missing where this one is not.
   */
  presentRootOf(id: ValueId): ValueId {
    const definition = this.definitionOf(id);
    const isView = definition?.op.kernel.kind === 'view' && definition.op !== nameGradientOp;
    return isView ? this.presentRootOf(definition.inputs[0]!) : id;
  }

  /** The value that it is a view of, as gradients go. */
  baseOf(id: ValueId): ValueId {
    return this.#views.baseOf(id);
  }

  /** Undefined for inputs. */
  definitionOf(id: ValueId): ProgramOp | undefined {
    const index = this.definitionIndex(id);
    return index < 0 ? undefined : this.program.ops[index];
  }

  definitionIndex(id: ValueId): number {
    return this.#definedBy[id]!;
  }

  /** Index of the last op that reads the memory of the value; −1: none does. */
  lastReadOfMemory(id: ValueId): number {
    return this.#readers.get(this.rootOf(id))?.at(-1) ?? -1;
  }

  /** The ops that read the memory of the value, its own views included. */
  readersOfMemory(id: ValueId): readonly number[] {
    return this.#readers.get(this.rootOf(id)) ?? [];
  }

  /** Values whose memory may be one have one, through views and control ops that hand an operand on. */
  memoryOf(id: ValueId): ValueId {
    return this.#groups.of(id);
  }

  /** Some op writes the memory of the value in place. */
  isWritten(id: ValueId): boolean {
    return this.#writers.has(this.#groups.of(id));
  }

  /** How many ops before `index` have written the memory of the value. */
  versionAt(id: ValueId, index: number): number {
    const writers = this.#writers.get(this.#groups.of(id)) ?? [];
    return writers.filter((writer) => writer < index).length;
  }

  #read(id: ValueId, index: number): void {
    const root = this.rootOf(id);
    const readers = this.#readers.get(root);
    if (readers) readers.push(index);
    else this.#readers.set(root, [index]);
  }
}
