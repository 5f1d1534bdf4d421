/** Prints the least microseconds of a call: the first argument names the case, the second `captured` or `eager`. */

import { randn, type Tensor, tidy, toStatic } from '../../src/index.ts';
import { tiny } from '../works/ops.ts';

const x = randn([16]);

const cases: Record<string, () => Tensor> = {
  'one op': () => x.relu(),
  /** Three reads of values between small ops, each of which breaks the graph. */
  'three breaks': () => {
    let y = x;
    for (let i = 0; i < 3; i++) {
      const sum = y.mul(0.5).relu().sum().itemSync();
      y = y.add(sum > 1e9 ? 1 : 2);
    }
    return y;
  },
  W2: tiny().step as () => Tensor,
};

const [name, way] = process.argv.slice(2);
const body = cases[name!]!;
const f = toStatic(body);
const call =
  way === 'captured'
    ? () => f().dispose()
    : () => {
        tidy(() => {
          body();
        });
      };
const calls = 2000;
let least = Number.POSITIVE_INFINITY;
for (let round = 0; round < 100; round++) {
  const start = performance.now();
  for (let i = 0; i < calls; i++) call();
  least = Math.min(least, performance.now() - start);
}
console.log(JSON.stringify((least / calls) * 1000));
