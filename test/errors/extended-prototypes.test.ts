/** Properties that a page puts on the prototypes of all objects and arrays change nothing. */

import { afterEach, describe, expect, it } from 'vitest';
import {
  crossEntropy,
  nn,
  optim,
  randn,
  seed,
  type Tensor,
  tensor,
  toStatic,
} from '../../src/index.ts';

const prototypes = {
  Object: Object.prototype,
  Array: Array.prototype,
  Function: Function.prototype,
};
// Not `value` or `get`: with these, no object is a property descriptor any more.
const names = ['accepts', 'name', 'dim', 'last', 'kind', 'extension'];
const cases = Object.keys(prototypes).flatMap((type) => names.map((name) => [type, name] as const));

afterEach(() => {
  for (const [type, name] of cases) {
    if (type !== 'Function' || name !== 'name')
      Reflect.deleteProperty(prototypes[type as 'Object'], name);
  }
});

function trained(options: object | null): unknown {
  seed(1);
  const model = new nn.Sequential(new nn.Linear(3, 4), new nn.LayerNorm(4), new nn.Dropout(0.5));
  const optimizer = new optim.Adam(model.parameters(), { lr: 0.1 });
  const step = (x: Tensor, y: Tensor) => {
    const parts = [model.forward(x), x.sum([1], true)].map((each) => each.mul(2));
    const loss = crossEntropy(parts[0]!, y, { reduction: 'sum' }).add(parts[1]!.mean());
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const call = options ? toStatic(step, options) : step;
  const losses = [1, 2].map(() => call(randn([2, 3]), tensor([0, 1], { dtype: 'int32' })));
  return losses.map((loss) => loss.itemSync());
}

describe.each([null, {}, { fullGraph: true }, { capture: 'auto' }] as const)('%o', (options) => {
  it.each(cases)('%s.prototype has a property %s', (type, name) => {
    const expected = trained(null);
    if (type === 'Function' && name === 'name') return;
    Object.assign(prototypes[type as 'Object'], { [name]: 1 });
    expect(trained(options)).toEqual(expected);
  });
});
