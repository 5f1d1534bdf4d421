/** Random loops over lists that grow: any statements, of which some can be repeated for other elements and others can't. */

import { describe, expect, it } from 'vitest';
import { cat, type Tensor } from '../../../src/index.ts';
import { expectSameAsEager, values, type World, weights } from '../same-as-eager.ts';

type Body = (cache: Tensor[], x: Tensor) => unknown;

/** Random numbers that are the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed * 2654435761 + 1;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9) >>> 0;
    return (state >>> 8) % below;
  };
}

/** Statements of an iteration: `each` is the element, `a` and `b` are tensors around the loop, `n` is a number. */
const plain = [
  'a = a.add(each);',
  'b = b.mul(0.5).sub(each.mul(x));',
  '[a, b] = [b, a.maximum(each)];',
  'out.push(each.mul(x));',
  'n += 3;',
  'a = a.mul(n).div(7);',
  'b = b.add(each.mul(i));',
  '{ const c = each.tanh(); a = a.mul(c); b = b.add(c); }',
  'if (first) { a = each; first = false; } else a = a.add(each.mul(2));',
  'other = other ? other.add(b) : each;',
  '{ const f = (t) => t.add(a); b = f(b); }',
  'w = w.matmul(m);',
  'a = a.mul(0.5 ** i);',
  'if (i > 1) b = b.sub(each);',
];
const special = [
  'if (i === 2) a = a.neg();',
  'if (i % 2) a = a.neg();',
  'if (i < size - 1) b = b.neg();',
  'a = a.add(cache[0]);',
  'b = b.mul(cache.at(-1));',
  'a = a.add(cache[size - 1] ?? x);',
  'if (i > 0) out.push(each);',
  'if (each === cache[1]) b = b.neg();',
  'out.push(a, b);',
  'a = a.add(out.length);',
  'if (each.requiresGrad) a = a.neg();',
  'last = each;',
  'if (i === 4) break;',
  'if (n > 9) continue;',
  'cat([a, each]).sum();',
  'b = b.add(a.shape[1]);',
];

const heads = [
  'for (const each of cache) { const i = n;',
  'for (const [i, each] of cache.entries()) {',
  'for (const [i, each] of [...cache].entries()) {',
  'for (const each of cache.slice()) { const i = n;',
  'for (const each of cache.slice(1)) { const i = n;',
  'for (const each of [...cache, x]) { const i = n;',
  'for (let i = 0; i < cache.length; i++) { const each = cache[i];',
  'for (let i = 0; i < size; i++) { const each = cache[i];',
  'for (let i = 1; i < cache.length; i++) { const each = cache[i];',
  'for (let i = 0; i < cache.length; i += 2) { const each = cache[i];',
  'for (let i = 1; i < size; i += 3) { const each = cache[i];',
  'for (let i = 0; i <= cache.length - 2; i++) { const each = cache[i];',
  'for (let i = cache.length - 1; i >= 0; i--) { const each = cache[i];',
  'for (let i = size - 1; i > -1; i--) { const each = cache[i];',
  'for (let i = size - 2; i >= 0; i -= 2) { const each = cache[i];',
];

function bodyOf(seed: number): string {
  const next = numbers(seed);
  const statements = Array.from({ length: 1 + next(4) }, () =>
    next(6) === 0 ? special[next(special.length)]! : plain[next(plain.length)]!,
  );
  const isCall = next(5) === 0 && !statements.some((each) => /break|continue/.test(each));
  const loop = isCall
    ? `cache.forEach((each, i) => { ${statements.join('\n')} });`
    : `${heads[next(heads.length)]!} ${statements.join('\n')} }`;
  const push = 'cache.push(x.mul(2));';
  const [before, after] = next(2) ? [push, ''] : ['', push];
  return `(cache, x) => {
    const size = cache.length;
    ${before}
    ${next(4) === 0 ? 'const begin = cache[0] ?? x;' : 'const begin = x;'}
    let [a, b, n, first, other, last, w] = [begin, x.neg(), 0, true, null, null, x];
    const out = [x];
    ${loop}
    ${after}
    return [a, b, n, first, other, last, w, ${next(2) ? 'out' : 'x.mul(out.length)'}, cat(out)];
  }`;
}

function worldOf(seed: number): World {
  const cache: Tensor[] = [];
  const m = weights([3, 3]);
  const text = `return ${bodyOf(seed)}`;
  const body = new Function('cat', 'm', text)(cat, m) as Body;
  return {
    fn: (x: Tensor) => body(cache, x),
    args: (call) => {
      if (call === 5 && seed % 3 === 0) cache.push(weights([1, 3], call));
      if (call === 6 && seed % 4 === 0) cache.length = 1;
      if (call === 7 && seed % 3 === 1) cache.length = 0;
      return [values([1, 3], call)];
    },
    state: () => [cache, m],
  };
}

const count = Number(process.env.GENERATED_RUNS) || 16;

describe('a random loop over a list that grows', () => {
  let repeated = 0;
  for (let seed = 0; seed < count; seed++) {
    it(`gives what eager execution gives: ${seed}`, () => {
      const { stats } = expectSameAsEager(() => worldOf(seed), {
        calls: 9,
        fullGraph: seed % 3 === 2,
      });
      if (stats.translations < 7) repeated++;
    });
  }

  it('most of them have one translation for several lengths', () => {
    expect(repeated).toBeGreaterThan(count / 3);
  });
});
