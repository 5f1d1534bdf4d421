/** Run by tsx, whose transform knows the language's decorators. Prints what the test compares. */

import { type StaticFunction, type Tensor, tensor, toStatic } from '../../../src/index.ts';

class Base {
  shift(x: Tensor): Tensor {
    return x.add(1);
  }
}

class Scaler extends Base {
  readonly by: number;

  constructor(by: number) {
    super();
    this.by = by;
  }

  @toStatic
  scale(x: Tensor): Tensor {
    return super.shift(x).mul(this.by).relu();
  }

  eager(x: Tensor): Tensor {
    return super.shift(x).mul(this.by).relu();
  }
}

const [two, three] = [new Scaler(2), new Scaler(3)];
const pairs = [two, three, two].map((scaler) => {
  const x = tensor([1, -2, 3]);
  return [[...scaler.scale(x).dataSync()], [...scaler.eager(x).dataSync()]];
});
const stats = (two.scale as unknown as StaticFunction<() => void>).stats();
console.log(JSON.stringify({ name: two.scale.name, pairs, stats }));
