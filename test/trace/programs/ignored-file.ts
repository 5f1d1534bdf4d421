import type { Tensor } from '../../../src/index.ts';

export function subOne(x: Tensor): Tensor {
  return x.sub(1);
}
