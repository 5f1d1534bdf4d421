import type { ProgramBuilder } from '../../../../runtime/program/builder.ts';
import type { ValueId } from '../../../../runtime/program/program.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import type { TensorVariable } from '../../variables/variable.ts';

/**
 * Tensors that the program copies where eager execution has a view. An in-place write to one of them would not be
 * visible through the other, so it is rejected.
 */
export class CopiedViews {
  #hasElements = false;
  readonly #roots = new WeakMap<ProgramBuilder, Set<ValueId>>();

  note(builder: ProgramBuilder, tensors: readonly Tensor[]): void {
    const roots = this.#roots.get(builder) ?? new Set();
    for (const tensor of tensors) roots.add(builder.rootOf(tensor));
    this.#roots.set(builder, roots);
  }

  /**
   * Notes that views of these tensors are in a list. Elements read from the list may also pass through branches
   * and loops.
   */
  noteElements(builder: ProgramBuilder, tensors: readonly Tensor[]): void {
    this.note(builder, tensors);
    this.#hasElements = true;
  }

  readonly #only = new WeakSet<Tensor>();

  /** Notes that a tensor of data-dependent shape is the only one on its memory. */
  noteOnly(tensor: Tensor): void {
    this.#only.add(tensor);
  }

  /** Notes that a view, branch or loop may have given these tensors' memory another name. */
  noteShared(tensors: readonly Tensor[]): void {
    for (const tensor of tensors) this.#only.delete(tensor);
  }

  isOnly(tensor: Tensor): boolean {
    return this.#only.has(tensor);
  }

  /** Throws a graph break for a tensor that may be such a view. */
  expectNoElement({ mayBeKnown }: TensorVariable): void {
    if (this.#hasElements && mayBeKnown) throw isCopied();
  }

  /** Throws a graph break for a tensor that has been copied. */
  expectNone(builder: ProgramBuilder, written: Tensor): void {
    if (!this.#roots.get(builder)?.has(builder.rootOf(written))) return;
    throw isCopied();
  }
}

const isCopied = (): GraphBreak =>
  new GraphBreak(
    'in-place',
    'a write to a tensor of which rows were taken at a data-dependent index',
  );
