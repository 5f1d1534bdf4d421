import type { ProgramBuilder } from '../../../../runtime/program/builder.ts';
import { listOps } from '../../../../runtime/program/list-ops.ts';
import type { ValueId } from '../../../../runtime/program/program.ts';
import { writtenOperands } from '../../../../runtime/program/writes.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';

/** A program under construction, as its nested programs see it. */
export interface ProgramAround {
  readonly builder: ProgramBuilder;
  /** Returns the inputs of a region; nothing for the outermost program. */
  outside(): readonly OutsideValue[];
}

/** An input of a region, and its initial value in the enclosing program. */
export interface OutsideValue {
  readonly input: ValueId;
  readonly outer: ValueId;
  readonly around: ProgramAround;
}

/** Roots of the values of one program. */
interface CopyRoots {
  /** Memory whose parts were copied. */
  readonly sources: Set<ValueId>;
  /** Copies, and lists that contain copies. */
  readonly copies: Set<ValueId>;
}

/**
 * Tensors that the program copies although eager execution has a view. An in-place write to a copy or its original
 * would not be visible through the other, so it is rejected.
 */
export class CopiedViews {
  readonly #noted = new Map<ProgramBuilder, CopyRoots>();

  /** Records that parts of the sources were copied. */
  note(builder: ProgramBuilder, sources: readonly Tensor[], copies: readonly Tensor[]): void {
    const noted = this.#notedIn(builder);
    for (const source of sources) noted.sources.add(builder.rootOf(source));
    for (const copy of copies) noted.copies.add(builder.rootOf(copy));
  }

  readonly #only = new WeakSet<Tensor>();

  /** Records that a tensor of data-dependent shape is the only one on its memory. */
  noteOnly(tensor: Tensor): void {
    this.#only.add(tensor);
  }

  /** Records that a view, branch or loop may have given these tensors' memory another name. */
  noteShared(tensors: readonly Tensor[]): void {
    for (const tensor of tensors) this.#only.delete(tensor);
  }

  isOnly(tensor: Tensor): boolean {
    return this.#only.has(tensor);
  }

  /** Whether no view of any program was copied. */
  get isEmpty(): boolean {
    return this.#noted.size === 0;
  }

  /** Whether parts of the value's memory may have been copied, here or in an enclosing program. */
  isSource(program: ProgramAround, id: ValueId): boolean {
    const { builder } = program;
    const sources = this.#noted.get(builder)?.sources ?? none;
    return (
      [...sources].some((source) => builder.memory.mayShare(source, id)) ||
      outsideOf(program, id).some(({ around, outer }) => this.isSource(around, outer))
    );
  }

  /** Whether the value may be a copy, or a list that contains one. */
  isCopy(program: ProgramAround, id: ValueId): boolean {
    const { builder } = program;
    const copies = this.#noted.get(builder)?.copies ?? none;
    const root = builder.memory.rootOf(id);
    return (
      // Later results of branches and loops may be the copy. Whatever else the copy may be preceded it; so did all
      // inputs, though the program records an input when it is first used.
      (!builder.isInput(root) &&
        [...copies].some((copy) => copy <= root && builder.memory.mayShare(copy, root))) ||
      outsideOf(program, id).some(({ around, outer }) => this.isCopy(around, outer))
    );
  }

  /** Whether an output may be a copy of memory that is visible elsewhere: of an input or another output. */
  leave(program: ProgramAround, outputs: readonly ValueId[]): boolean {
    if (this.isEmpty) return false;
    const others = outputs.filter((id) => !this.isCopy(program, id));
    if (others.length === outputs.length) return false;
    return [...program.builder.inputs, ...others].some((id) => this.isSource(program, id));
  }

  /** Throws a graph break for a write to a copied tensor or a copy, of this program or an enclosing one. */
  expectNone(program: ProgramAround, written: Tensor): void {
    this.#expectNone(program, program.builder.valueOf(written));
  }

  #expectNone(program: ProgramAround, written: ValueId): void {
    if (this.isEmpty) return;
    if (this.isCopy(program, written) || this.isSource(program, written)) throw isCopied();
  }

  /** Tracks the ops from an index on: their writes, and the lists that copies pass through. */
  track(program: ProgramAround, from: number): void {
    if (this.isEmpty) return;
    const { builder } = program;
    for (const op of builder.opsFrom(from)) {
      for (const index of writtenOperands(op)) this.#expectNone(program, op.inputs[index]!);
      if (!listOps.includes(op.op) || !op.inputs.some((id) => this.isCopy(program, id))) continue;
      for (const id of op.outputs) this.#notedIn(builder).copies.add(id);
    }
  }

  #notedIn(builder: ProgramBuilder): CopyRoots {
    const noted = this.#noted.get(builder) ?? { sources: new Set(), copies: new Set() };
    this.#noted.set(builder, noted);
    return noted;
  }
}

/** Returns the values of the enclosing program that the value may be. */
function outsideOf(program: ProgramAround, id: ValueId): OutsideValue[] {
  const { builder } = program;
  const root = builder.memory.rootOf(id);
  return program
    .outside()
    .filter(
      ({ input }) =>
        input === root || (!builder.isInput(root) && builder.memory.mayShare(input, root)),
    );
}

const none: ReadonlySet<ValueId> = new Set();

export const isCopied = (): GraphBreak =>
  new GraphBreak(
    'in-place',
    'a write to a tensor of which rows were taken at a data-dependent index, or to a strided one in a list',
  );
