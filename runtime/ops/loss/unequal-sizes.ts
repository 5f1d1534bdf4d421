import { formatPosition, userPosition } from '../../errors/position.ts';
import { sameShape } from '../../spec/shape.ts';
import type { Tensor } from '../../tensor/tensor.ts';

/** The pairs of ranks for which each loss has warned, so that a repeated step warns once. */
const told = new Set<string>();

/** Whether losses are called at sizes that the compiler has chosen. */
let areSamples = false;

/**
 * Calls `body` without warnings of losses: their sizes are samples, which may differ where those of real calls agree.
 */
export function atSampleSizes<T>(body: () => T): T {
  const before = areSamples;
  areSamples = true;
  try {
    return body();
  } finally {
    areSamples = before;
  }
}

/** Like PyTorch, warns of a target that is broadcast: scores [n, 1] and targets [n] have n × n differences. */
export function warnOfSizes(name: string, { shape }: Tensor, target: Tensor): void {
  if (areSamples || sameShape(shape, target.shape)) return;
  const key = `${name} ${shape.length} ${target.shape.length}`;
  if (told.has(key)) return;
  told.add(key);
  const at = userPosition();
  console.warn(
    `tostatic: ${name} of an input [${shape}] and a target [${target.shape}]${at ? ` (${formatPosition(at)})` : ''}: ` +
      'the smaller one is repeated, which is rarely meant. Reshape one of them: target.reshapeAs(input)',
  );
}
