import type { ProgramBuilder } from '../../../../runtime/program/builder.ts';
import type { ValueId } from '../../../../runtime/program/program.ts';
import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../../traces/graph-break.ts';
import type { TensorVariable } from '../../variables/variable.ts';

/**
 * Where eager execution has a view and the program a copy, a write in place to one of them would not be
 * seen through the other: it is rejected.
 */
export class CopiedViews {
  #hasElements = false;
  readonly #roots = new WeakMap<ProgramBuilder, Set<ValueId>>();

  note(builder: ProgramBuilder, tensors: readonly Tensor[]): void {
    const roots = this.#roots.get(builder) ?? new Set();
    for (const tensor of tensors) roots.add(builder.rootOf(tensor));
    this.#roots.set(builder, roots);
  }

  /** Notes that these tensors have a list of views; reads of one pass through branches and loops, too. */
  noteElements(builder: ProgramBuilder, tensors: readonly Tensor[]): void {
    this.note(builder, tensors);
    this.#hasElements = true;
  }

  /** Throws a break for a tensor that may be such a view. */
  expectNoElement({ mayBeKnown }: TensorVariable): void {
    if (this.#hasElements && mayBeKnown) throw isCopied();
  }

  /** Throws a break for a tensor whose memory is in two places. */
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
