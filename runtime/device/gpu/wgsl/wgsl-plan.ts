import type { Attrs } from '../../kernel-op.ts';
import type { Groups } from '../core/command-batch.ts';
import type { Slot } from '../core/kernel-plan.ts';
import type { Bound } from './elements/buffers.ts';
import type { ElementType } from './elements/element-type.ts';
import type { WgslText } from './wgsl-text.ts';
import type { UniformValue } from './wgsl-writer.ts';

/** A tensor that a stage reads or writes, through bindings that tensors of one buffer share. */
export interface WgslOperand {
  readonly slot: Slot;
  readonly written: boolean;
  /** Whether elements are read; by default those of operands that aren't written are. */
  readonly isRead?: boolean;
  /**
   * Operands of one buffer, one offset and one walk are at the same element in the same thread, which has read
   * all of them before it writes; null: no such promise.
   */
  readonly walk: string | null;
  /** Elements of a written operand. */
  readonly elements: number;
  readonly type: ElementType;
  /**
   * A thread writes its unit of elements one after the other (each-element.ts), and each unit begins with a word if the
   * operand does.
   */
  readonly inOrder?: boolean;
}

/** The facts known when a stage is issued: where its operands are bound, and the op's numbers. */
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
  /** Nothing to do: no element is written. */
  readonly isEmpty: boolean;
  /** Attributes whose values are part of the text, by what the text takes of them. */
  readonly chosenBy: (attrs: Attrs) => string;
  write(issue: Issue): WrittenStage;
}

/** An op as dispatches of our own kernels. */
export interface WgslPlan {
  /** 32-bit words of each scratch buffer. */
  readonly scratch: readonly number[];
  readonly stages: readonly WgslStage[];
}

/** An operand that is only read, with no promise of where. */
export function readOperand(slot: Slot, type: ElementType): WgslOperand {
  return { slot, written: false, walk: null, elements: 0, type };
}

/** For stages that no attribute chooses. */
export const chosenByNothing = (): string => '';
