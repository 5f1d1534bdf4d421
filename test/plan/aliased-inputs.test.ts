/** An order for memory relies on inputs that are no views of each other; calls where they are keep the source's order. */

import { describe, expect, it } from 'vitest';
import { noGrad, type Tensor, toStatic } from '../../src/index.ts';
import { data } from '../run-program/memory-counter.ts';

/** `late` can be made after `wide` is gone, if the write to `target` is none to `source`. */
function body(target: Tensor, source: Tensor, x: Tensor): Tensor {
  return noGrad(() => {
    const late = source.mul(2);
    target.fill_(7);
    const wide = x.exp().matmul(x).tanh();
    const narrow = wide.sum(0);
    return late.add(narrow);
  });
}

describe('plan/aliased inputs', () => {
  it('two inputs of one memory are read and written in the order of the source', () => {
    const fn = toStatic(body);
    const x = data([16, 16], { salt: 2 });
    for (let call = 0; call < 4; call++) {
      const results = [fn, body].map((run) => {
        const [base, other] = [data([8, 16]), data([8, 16], { salt: 1 })];
        const source = call % 2 ? base.detach() : other.detach();
        const result = run(base, source, x);
        const values = [...result.dataSync(), ...base.dataSync(), ...other.dataSync()];
        for (const each of [base, other, source, result]) each.dispose();
        return values;
      });
      expect(results[0]).toEqual(results[1]);
    }
    expect(fn.programs()[0]!.stages!.planned.forward.reordered).toBe(true);
    expect(fn.stats().fallbacks).toEqual([]);
    x.dispose();
  });
});
