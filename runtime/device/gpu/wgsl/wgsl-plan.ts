import type { Attrs } from '../../kernel-op.ts';
import type { TensorMeta } from '../../tensor-meta.ts';
import type { Groups } from '../core/command-batch.ts';
import type { Slot } from '../core/kernel-plan.ts';
import type { Bound } from './elements/buffers.ts';
import type { ElementType } from './elements/element-type.ts';
import type { WgslText } from './wgsl-text.ts';
import type { UniformValue } from './wgsl-writer.ts';

/** A tensor that a stage reads or writes; tensors in one buffer share bindings. */
export interface WgslOperand {
  readonly slot: Slot;
  readonly written: boolean;
  /** Whether elements are read; by default, if the operand isn't written. */
  readonly isRead?: boolean;
  /**
   * The traversal. Operands with the same buffer, offset and traversal are at the same element in the same thread,
   * which reads all of them before it writes; null if this isn't guaranteed.
   */
  readonly walk: string | null;
  /** The number of elements of a written operand. */
  readonly elements: number;
  readonly type: ElementType;
  /**
   * Whether a thread writes its unit of elements in order (each-element.ts), with each unit starting at a word
   * boundary if the operand does.
   */
  readonly inOrder?: boolean;
}

/** Facts known when a stage is issued: the bindings of its operands, and the op's numbers. */
export interface Issue extends Bound {
  readonly attrs: Attrs;
}

export interface WrittenStage {
  readonly text: WgslText;
  readonly uniforms: readonly UniformValue[];
  readonly groups: Groups;
}

/** One dispatch. */
export interface WgslStage {
  readonly operands: readonly WgslOperand[];
  /** Whether no element is written, so that there is nothing to do. */
  readonly isEmpty: boolean;
  /** Returns a key of the attribute values that the text depends on. */
  readonly chosenBy: (attrs: Attrs) => string;
  write(issue: Issue): WrittenStage;
}

/** An op as dispatches of our own kernels. */
export interface WgslPlan {
  /** 32-bit words of each scratch buffer. */
  readonly scratch: readonly number[];
  readonly stages: readonly WgslStage[];
}

export interface AdapterFacts {
  /** The maximum number of storage buffers per kernel. */
  readonly mostBuffers: number;
}

/** Returns the dispatches of an op for operands of these metas; null if its kernel doesn't support them. */
export type KernelPlanner = (
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
  attrs: Attrs,
  facts: AdapterFacts,
) => WgslPlan | null;

/** Returns an operand that is only read, at arbitrary elements. */
export function readOperand(slot: Slot, type: ElementType): WgslOperand {
  return { slot, written: false, walk: null, elements: 0, type };
}

/** For stages whose text depends on no attribute. */
export const chosenByNothing = (): string => '';
