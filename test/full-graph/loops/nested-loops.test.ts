/** Loops inside of loops: what an inner one carries is found once, and not for each attempt to follow the outer ones. */

import { expect, it } from 'vitest';
import { Tracer } from '../../../src/3-trace/state/tracer.ts';
import { type Tensor, tensor, tidy, toStatic } from '../../../src/index.ts';
import { countCalls } from '../count-calls.ts';

const quickly = { fullGraph: true, memory: { order: false, slices: false } } as const;

/** As one program, and eagerly; answers how many instructions the trace took. */
function traced(f: (x: Tensor) => unknown, starts: readonly number[][]): number {
  const graph = toStatic(f, quickly);
  const instructions = countCalls(Tracer.prototype, 'tick', () => {
    for (const start of starts) {
      tidy(() => expect(plain(graph(tensor(start)))).toEqual(plain(f(tensor(start)))));
    }
  });
  expect(graph.stats()).toMatchObject({ translations: 1, breaks: [] });
  return instructions;
}

const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_key, each) => (each?.dataSync ? [...each.dataSync()] : each)));

const nest = (innermost: string, depth: number) => {
  let body = innermost;
  for (let i = 0; i < depth; i++) {
    body = `let n${i} = 0;
    while (y.sum().itemSync() < ${100 - i} && n${i} < 2) { ${body}; list.push(y.sum().itemSync()); n${i}++; }`;
  }
  return new Function(`return (x) => { let y = x; const list = []; ${body} return [list, y]; }`)();
};

function counts(innermost: string, depths: readonly number[]): number[] {
  return depths.map((depth) => traced(nest(innermost, depth), [[1, 2]]));
}

it('one more level takes as many instructions more', () => {
  const [one, two, three] = counts('y = y.mul(1.5)', [1, 2, 3]) as [number, number, number];
  expect(three - two).toBeLessThan(1.5 * (two - one));
});

it('a list that is sorted in them', () => {
  const sorted =
    'list.sort((a, b) => b - a); if (list.length > 3) list.pop(); y = y.mul(1.2).add(0.1)';
  const [one, two] = counts(sorted, [1, 2]) as [number, number];
  expect(two - one).toBeLessThan(one);
});

it('a beam search whose beams are sorted and cut to the best, iteration by iteration', () => {
  interface Beam {
    readonly score: number;
    readonly y: Tensor;
  }
  const search = (x: Tensor) => {
    let beams: Beam[] = [{ score: 0, y: x }];
    while (beams[0]!.y.sum().itemSync() < 50) {
      const next: Beam[] = [];
      for (const { score, y } of beams) {
        next.push({ score: score + y.sum().itemSync(), y: y.mul(1.5) });
        next.push({ score: score - 1, y: y.mul(2) });
      }
      next.sort((a, b) => b.score - a.score);
      beams = next.slice(0, 3);
    }
    return beams;
  };
  expect(
    traced(search, [
      [1, 2],
      [30, 40],
      [5, 0.5],
    ]),
  ).toBeLessThan(5000);
});

it('a pre-existing variable that gets the value it has, on some of their paths', () => {
  let word = 'before';
  const search = (x: Tensor, stops: boolean) => {
    let y = x;
    outer: for (let i = 0; i < 2; i++) {
      for (let j = 0; j < 2; j++) {
        if (i + j === 0) word = 'after';
        else if (i + j === 1) {
          if (stops) break;
        } else if (x.sum().itemSync() > 1) break outer;
        else y = x.add(1);
      }
    }
    return y;
  };
  const graph = toStatic(search, { fullGraph: true, strict: true, dynamic: true });
  for (const stops of [true, true, false]) {
    for (const start of [0, 5]) {
      const result = plain(graph(tensor([start]), stops));
      expect(result).toEqual(plain(search(tensor([start]), stops)));
      expect(word).toBe('after');
    }
  }
});
