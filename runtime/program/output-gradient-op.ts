import type { OpRecord } from '../ops/define-op.ts';

/**
 * In a backward program: the complete gradient of an output that other outputs of the same program depend on.
 * Attr `outputs`: the numbers of the output. Here somebody outside may look at the gradient, or replace it.
 */
export const outputGradientOp: OpRecord = {
  name: 'outputGradient',
  operands: [{ name: 'x', use: 'data' }],
  variadic: false,
  infer: ([x]) => [x!],
  kernel: { kind: 'view', view: ([x]) => x! },
  layout: 'any',
  inPlace: false,
  vjp: undefined,
  flat: true,
};
