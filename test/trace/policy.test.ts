import { afterEach, describe, expect, it } from 'vitest';
import {
  breakGraph,
  CaptureError,
  enableToStatic,
  nn,
  notToStatic,
  ones,
  type Tensor,
  toStatic,
} from '../../src/index.ts';

describe('trace/policy', () => {
  afterEach(() => enableToStatic(true));

  it('breakGraph() ends the graph in captured code and does nothing elsewhere', () => {
    const fn = (x: Tensor) => {
      const y = x.mul(2);
      breakGraph();
      return y.add(1);
    };
    const f = toStatic(fn);
    expect([...f(ones([2])).dataSync()]).toEqual([...fn(ones([2])).dataSync()]);
    expect(f.stats()).toMatchObject({ graphs: 2, breaks: [{ reason: 'forced' }] });
  });

  it('a function marked with notToStatic() runs natively, the graph goes on after it', () => {
    const seen: number[] = [];
    const inner = notToStatic((x: Tensor) => {
      seen.push(x.size);
      return x.add(1);
    });
    const f = toStatic((x: Tensor) => inner(x.mul(2)).mul(3));
    expect([...f(ones([2])).dataSync()]).toEqual([9, 9]);
    expect(seen).toEqual([2]);
    expect(f.stats()).toMatchObject({ graphs: 2, breaks: [{ reason: 'not-to-static' }] });
  });

  it('toStatic() of a marked function runs it as it is, with a record, or refuses', () => {
    const marked = notToStatic((x: Tensor) => x.add(1));
    const f = toStatic(marked);
    expect(f(ones([1])).itemSync()).toBe(2);
    expect(f.stats()).toMatchObject({
      graphs: 0,
      fallbacks: [{ why: expect.stringContaining('notToStatic') }],
    });
    expect(() => toStatic(marked, { fallback: 'error' })(ones([1]))).toThrow(CaptureError);
  });

  it('enableToStatic(false) runs everything as ordinary JavaScript', () => {
    const model = toStatic(new nn.Linear(2, 2));
    const f = toStatic((x: Tensor) => model.forward(x).mul(2));
    enableToStatic(false);
    const plain = [...f(ones([1, 2])).dataSync()];
    expect(f.stats()).toMatchObject({ calls: 1, translations: 0, graphs: 0 });
    enableToStatic(true);
    expect([...f(ones([1, 2])).dataSync()]).toEqual(plain);
    expect(f.stats().graphs).toBe(1);
  });
});
