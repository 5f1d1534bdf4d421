import type { Attrs } from '../../runtime/ops/core/define-op.ts';
import type { ProgramOp } from '../../runtime/program/program.ts';

/** A gradient that passes where a comparison holds, or where it doesn't, and is 0 elsewhere. */
export interface MaskRule {
  /** The comparison of each element with a constant: a bool tensor. */
  readonly test: 'gtScalar' | 'leScalar';
  readonly attrs: Attrs;
  /** The op that reads the gradient and the mask. */
  readonly gradient: 'keepWhere' | 'dropWhere';
}

const positive: MaskRule = { test: 'gtScalar', attrs: { value: 0 }, gradient: 'keepWhere' };

/** How a gradient of (dy, compared values) can read a mask; null where it can't. */
export function maskRuleOf({ op, attrs }: Pick<ProgramOp, 'op' | 'attrs'>): MaskRule | null {
  if (op.name === 'reluGrad') return positive;
  if (op.name !== 'thresholdGrad') return null;
  const { threshold } = attrs;
  // NaN passes, as it isn't at most the threshold.
  return typeof threshold === 'number'
    ? { test: 'leScalar', attrs: { value: threshold }, gradient: 'dropWhere' }
    : null;
}
