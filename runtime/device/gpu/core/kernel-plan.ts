/** An op's kernel as data: one or more gpu.js kernels, and what each reads and writes. */
import type { StoreLayout } from './kernel-text.ts';

/** The location of a stage's buffer. Scratch exists while the launch is issued. */
export type Slot =
  | { readonly kind: 'input'; readonly index: number }
  | { readonly kind: 'output'; readonly index: number }
  | { readonly kind: 'scratch'; readonly index: number };

/** Numbers that may change between launches without another kernel. */
export type Scalar =
  | { readonly kind: 'offset'; readonly of: Slot }
  | { readonly kind: 'attr'; readonly name: string }
  /** Infinity and NaN, for which gpu.js has no literals. */
  | { readonly kind: 'number'; readonly value: number };

export interface Stage {
  readonly source: string;
  readonly threads: number;
  readonly inputs: readonly Slot[];
  /** Inputs read only at the element that the thread writes, so that they may be the output itself. */
  readonly elementwise: readonly boolean[];
  readonly scalars: readonly Scalar[];
  readonly output: Slot;
  /** Where threads store, excluding the offset; null for their own index. */
  readonly layout: StoreLayout | null;
  /** The scalar with the output's offset; null for scratch, which has none. */
  readonly storeOffset: string | null;
}

export interface KernelPlan {
  /** The number of elements of each scratch buffer. */
  readonly scratch: readonly number[];
  readonly stages: readonly Stage[];
}

export const input = (index: number): Slot => ({ kind: 'input', index });
export const output = (index: number): Slot => ({ kind: 'output', index });
export const scratch = (index: number): Slot => ({ kind: 'scratch', index });

export function sameSlot(a: Slot, b: Slot): boolean {
  return a.kind === b.kind && a.index === b.index;
}

export function singleStage(stage: Stage): KernelPlan {
  return { scratch: [], stages: [stage] };
}
