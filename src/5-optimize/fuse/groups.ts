import { exprOf, resultOf, shapeOf } from '../../../runtime/program/fused/fused-op.ts';
import { ValueGroups } from '../../../runtime/program/memory-groups.ts';
import type { Program, ProgramOp, ValueId, ValueTable } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import { isContiguousMeta } from '../../../runtime/tensor/meta.ts';
import { type Shape, sameShape, sizeOf } from '../../../runtime/tensor/shape.ts';
import { innerLength, mayShareLoop } from './inner-length.ts';

/** Numbers of ops that one fused op may do, in their order. */
export type Group = readonly number[];

export interface GroupOptions {
  /** Values that an op may find missing, and values whose ops must stay as they are. */
  readonly fixed: ReadonlySet<ValueId>;
  /** The gradients that a value is computed from: a run without some of them leaves out whole groups. */
  readonly sourcesOf: (id: ValueId) => bigint;
  /** Between two ops of a group there are only views, and ops that may be parts themselves. */
  readonly adjacent: boolean;
}

/** A kernel of more parts has more values at once than registers and scratch memory hold. */
const mostParts = 24;
const mostOperands = 24;

interface OpenGroup {
  readonly ops: number[];
  /** Values that its ops name, and those that they make. */
  readonly values: Set<ValueId>;
  readonly defined: Set<ValueId>;
  /** By memory: the value by which its ops name it; null: by several. */
  readonly touched: Map<ValueId, ValueId | null>;
  /** Memories that its ops make or write. */
  readonly made: Set<ValueId>;
  /** Elements of its innermost loop. */
  readonly length: number;
}

/**
 * Groups of at least two pointwise ops over one shape that hang together, each of which may run where its last op
 * stands: no op outside of a group reads between its first and last op what the group makes or writes, nor
 * writes what the group reads. One walk over the program.
 */
export function fusableGroups(program: Program, options: GroupOptions): Group[] {
  const finder = new GroupFinder(program, options);
  program.ops.forEach((op, index) => {
    finder.visit(op, index);
  });
  return finder.finish();
}

class GroupFinder {
  readonly groups: number[][] = [];
  readonly #program: Program;
  readonly #options: GroupOptions;
  readonly #memory: ValueGroups;
  readonly #open = new Set<OpenGroup>();
  /** Open groups by the memories that they touch. */
  readonly #touching = new Map<ValueId, Set<OpenGroup>>();

  constructor(program: Program, options: GroupOptions) {
    this.#program = program;
    this.#options = options;
    this.#memory = new ValueGroups(program.ops, 'memory');
  }

  /** Ends the groups that are open at the end of the program. */
  finish(): Group[] {
    for (const group of [...this.#open]) this.#close(group);
    return this.groups.filter(({ length }) => length > 1);
  }

  visit(op: ProgramOp, index: number): void {
    if (!isFusable(op, this.#program.values, this.#options.fixed)) {
      this.#passOutside(op);
      return;
    }
    let group = this.#groupOf(op, index);
    for (const other of this.#conflicting(op)) {
      const merged = this.#merged(other, group);
      if (merged) {
        this.#take(other);
        group = merged;
      } else this.#close(other);
    }
    this.#add(group);
  }

  /** Groups that must run before an op outside of them end here. */
  #passOutside(op: ProgramOp): void {
    const { kernel } = op.op;
    const isView = kernel.kind === 'view';
    const isBarrier = kernel.kind === 'control' || op.op.effect || op.op.mayRefuse;
    const ending =
      isBarrier || (this.#options.adjacent && !isView) ? [...this.#open] : this.#conflicting(op);
    for (const group of ending) this.#close(group);
  }

  /** Open groups that write what the op touches, or touch what it writes, in their order. */
  #conflicting(op: ProgramOp): OpenGroup[] {
    const written = new Set(writtenOperands(op).map((i) => this.#memory.of(op.inputs[i]!)));
    const isView = op.op.kernel.kind === 'view';
    const read = op.before === undefined ? op.inputs : [...op.inputs, op.before];
    const found = new Set<OpenGroup>();
    for (const id of read) {
      const memory = this.#memory.of(id);
      for (const group of this.#touching.get(memory) ?? []) {
        // A view reads no data: it only needs the memory to be there.
        const isTouched = isView ? group.defined.has(id) : group.made.has(memory);
        if (isTouched || written.has(memory)) found.add(group);
      }
    }
    return [...found].sort((a, b) => a.ops[0]! - b.ops[0]!);
  }

  #groupOf(op: ProgramOp, index: number): OpenGroup {
    const touched = new Map<ValueId, ValueId | null>();
    const made = new Set<ValueId>();
    const values = new Set([...op.inputs, ...op.outputs]);
    const defined = new Set(op.outputs);
    for (const id of values) touch(touched, this.#memory.of(id), id);
    for (const id of op.outputs) made.add(this.#memory.of(id));
    for (const i of writtenOperands(op)) made.add(this.#memory.of(op.inputs[i]!));
    const length = this.#lengthOf(index, values);
    return { ops: [index], values, defined, touched, made, length };
  }

  /** Both as one group; null where that can't be. */
  #merged(earlier: OpenGroup, later: OpenGroup): OpenGroup | null {
    const ops = [...earlier.ops, ...later.ops].sort((a, b) => a - b);
    const values = new Set([...earlier.values, ...later.values]);
    const defined = new Set([...earlier.defined, ...later.defined]);
    if (ops.length > mostParts || values.size - defined.size > mostOperands) return null;
    if (!this.#areAlike(earlier.ops[0]!, later.ops[0]!)) return null;
    const touched = new Map(earlier.touched);
    for (const [memory, id] of later.touched) touch(touched, memory, id);
    const made = new Set([...earlier.made, ...later.made]);
    // Elements of what is written must be those that are read, one by one.
    for (const memory of made) if (touched.get(memory) === null) return null;
    const operands = [...values].filter((id) => !defined.has(id));
    const length = this.#lengthOf(ops[0]!, operands);
    const size = sizeOf(this.#shapeOf(ops[0]!));
    if (!mayShareLoop(size, length, earlier.length, later.length)) return null;
    return { ops, values, defined, touched, made, length };
  }

  #add(group: OpenGroup): void {
    this.#open.add(group);
    for (const memory of group.touched.keys()) {
      const groups = this.#touching.get(memory);
      if (groups) groups.add(group);
      else this.#touching.set(memory, new Set([group]));
    }
  }

  #take(group: OpenGroup): void {
    this.#open.delete(group);
    for (const memory of group.touched.keys()) this.#touching.get(memory)?.delete(group);
  }

  #close(group: OpenGroup): void {
    this.#take(group);
    this.groups.push(group.ops);
  }

  /** The values that ops make are contiguous. */
  #lengthOf(op: number, operands: Iterable<ValueId>): number {
    const metas = Array.from(operands, (id) => this.#program.values[id]!);
    return innerLength(this.#shapeOf(op), metas);
  }

  #shapeOf(op: number): Shape {
    const { ops, values } = this.#program;
    return shapeOf(ops[op]!, values);
  }

  #areAlike(a: number, b: number): boolean {
    const { ops, values } = this.#program;
    const [one, other] = [ops[a]!, ops[b]!];
    const [made, alike] = [resultOf(one), resultOf(other)];
    if (values[made]!.device !== values[alike]!.device) return false;
    const { sourcesOf } = this.#options;
    return sourcesOf(made) === sourcesOf(alike) && sameShape(this.#shapeOf(a), this.#shapeOf(b));
  }
}

/** Notes by which value a memory is named; null: by several. */
function touch(touched: Map<ValueId, ValueId | null>, memory: ValueId, id: ValueId | null): void {
  const known = touched.get(memory);
  touched.set(memory, known === undefined || known === id ? id : null);
}

/** Whether the op may be a part of a fused one. */
function isFusable(given: ProgramOp, values: ValueTable, fixed: ReadonlySet<ValueId>): boolean {
  const { op, inputs, outputs, before, call, regions } = given;
  if (!exprOf(op) || before !== undefined || call || regions) return false;
  if (outputs.length !== (op.inPlace ? 0 : 1)) return false;
  const { device } = values[resultOf(given)]!;
  const isPlain = (id: ValueId) => values[id]!.device === device && !fixed.has(id);
  if (!device.fusesPointwise || ![...inputs, ...outputs].every(isPlain)) return false;
  return op.inPlace || isContiguousMeta(values[outputs[0]!]!);
}
