/** The reduction of elementwise losses. */

import { ArgumentError } from '../../errors/errors.ts';
import type { Tensor } from '../../tensor/tensor.ts';
import { mean, sum } from './reduce.ts';

export type Reduction = 'mean' | 'sum' | 'none';

export interface LossOptions {
  /** 'mean' by default; 'none' keeps the elementwise losses. */
  readonly reduction?: Reduction;
}

export function expectReduction(name: string, reduction: string): void {
  if (reduction === 'mean' || reduction === 'sum' || reduction === 'none') return;
  throw new ArgumentError({
    what: `${name}: no such reduction`,
    given: `'${reduction}'`,
    expected: "'mean', 'sum' or 'none'",
    remedy: "leave it out for 'mean'",
  });
}

export function reduced(name: string, losses: Tensor, { reduction = 'mean' }: LossOptions): Tensor {
  expectReduction(name, reduction);
  if (reduction === 'none') return losses;
  return reduction === 'sum' ? sum(losses) : mean(losses);
}
