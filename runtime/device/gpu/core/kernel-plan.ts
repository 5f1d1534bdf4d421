/** A kernel of ours as data: one or more gpu.js kernels, and what each one reads and writes. */
import type { StoreLayout } from './kernel-text.ts';

/** Where a stage finds a buffer. Scratch lives while the launch is issued. */
export type Slot =
  | { readonly kind: 'input'; readonly index: number }
  | { readonly kind: 'output'; readonly index: number }
  | { readonly kind: 'scratch'; readonly index: number };

/** Numbers that change from launch to launch without making another kernel. */
export type Scalar =
  | { readonly kind: 'offset'; readonly of: Slot }
  | { readonly kind: 'attr'; readonly name: string }
  /** Infinity and NaN: gpu.js has no literals for them. */
  | { readonly kind: 'number'; readonly value: number };

export interface Stage {
  readonly source: string;
  readonly threads: number;
  readonly inputs: readonly Slot[];
  /** Inputs read only at the very element that the thread writes; they may be the output itself. */
  readonly elementwise: readonly boolean[];
  readonly scalars: readonly Scalar[];
  readonly output: Slot;
  /** Where threads store, without the offset; null: at their own numbers. */
  readonly layout: StoreLayout | null;
  /** The scalar that holds the output's offset; null for scratch, which has none. */
  readonly storeOffset: string | null;
}

export interface KernelPlan {
  /** Elements of each scratch buffer. */
  readonly scratch: readonly number[];
  readonly stages: readonly Stage[];
}

export const input = (index: number): Slot => ({ kind: 'input', index });
export const output = (index: number): Slot => ({ kind: 'output', index });
export const scratch = (index: number): Slot => ({ kind: 'scratch', index });

export function sameSlot(a: Slot, b: Slot): boolean {
  return a.kind === b.kind && a.index === b.index;
}

/** A plan of one stage. */
export function singleStage(stage: Stage): KernelPlan {
  return { scratch: [], stages: [stage] };
}
