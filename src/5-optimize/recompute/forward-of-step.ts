import type { Program } from '../../../runtime/program/program.ts';

/**
 * Returns the forward ops of a whole training step, by index: those that record gradients, and the ops between them
 * that don't, such as the update of running statistics. A step that accumulates gradients, or runs its batch in
 * slices, has forward and backward several times.
 */
export function forwardOfStep({ ops }: Program): (index: number) => boolean {
  const isForward = new Uint8Array(ops.length);
  let isInForward = false;
  for (let index = ops.length - 1; index >= 0; index--) {
    const { recordsGrad, backward } = ops[index]!;
    if (recordsGrad) isInForward = true;
    else if (backward) isInForward = false;
    if (isInForward) isForward[index] = 1;
  }
  return (index) => isForward[index] === 1;
}
