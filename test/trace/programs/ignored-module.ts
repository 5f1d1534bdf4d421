import type { Tensor } from '../../../src/index.ts';

export function addOne(x: Tensor): Tensor {
  return x.add(1);
}

export class Doubler {
  double(x: Tensor): Tensor {
    return x.mul(2);
  }
}
