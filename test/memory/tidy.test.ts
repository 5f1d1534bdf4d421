import { describe, expect, it } from 'vitest';
import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import { keep, tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, type Tensor, tensor } from '../ops/eager.ts';

const make = () => tensor([1, 2, 3]);

describe('tidy', () => {
  it('disposes what was made inside and not returned', () => {
    const before = allocated();
    let inner: Tensor | undefined;
    using result = tidy(() => {
      inner = make();
      return inner.add(1);
    });
    expect(inner!.disposed).toBe(true);
    expect(result.disposed).toBe(false);
    expect(allocated() - before).toBe(64);
  });

  it('leaves pre-existing tensors alone', () => {
    using outside = make();
    tidy(() => outside.add(1));
    expect([...outside.dataSync()]).toEqual([1, 2, 3]);
    expect(tidy(() => outside)).toBe(outside);
    expect(outside.disposed).toBe(false);
  });

  it('tracks a frozen tensor like any other', async () => {
    const before = allocated();
    const outside = Object.freeze(make());
    // A microtask leaves the recent tensors to the garbage collector.
    await Promise.resolve();
    const inside = tidy(() => Object.freeze(outside.add(1)));
    tidy(() => {
      Object.freeze(inside.mul(2));
    });
    expect(allocated() - before).toBe(128);
    outside.dispose();
    inside.dispose();
    expect(allocated()).toBe(before);
  });

  it('finds results in arrays and plain objects, also cyclic ones', () => {
    const result = tidy(() => {
      const nested = { list: [make(), [make()]], map: { deep: make() }, self: null as unknown };
      nested.self = nested;
      make();
      return nested;
    });
    const all = [result.list[0] as Tensor, (result.list[1] as Tensor[])[0]!, result.map.deep];
    expect(all.every(({ disposed }) => !disposed)).toBe(true);
    for (const one of all) one.dispose();
  });

  it('hands results of an inner tidy to the outer one', () => {
    const before = allocated();
    tidy(() => {
      const inner = tidy(() => make().add(make()));
      expect(inner.disposed).toBe(false);
      expect(allocated() - before).toBe(64);
    });
    expect(allocated()).toBe(before);
  });

  it('disposes gradients with their leaves, and keeps them with theirs', () => {
    const before = allocated();
    const outside = make().requiresGrad_();
    let gone: Tensor | null = null;
    const returned = tidy(() => {
      const leaf = make().requiresGrad_();
      const result = make().requiresGrad_();
      const kept = keep(make()).requiresGrad_();
      for (let time = 0; time < 2; time++) {
        tidy(() => leaf.mul(result).mul(kept).mul(outside).sum().backward());
      }
      gone = leaf.grad;
      expect([...leaf.grad!.dataSync()]).toEqual([2, 16, 54]);
      return [result, kept];
    });
    expect(gone!.disposed).toBe(true);
    for (const leaf of [outside, ...returned]) {
      expect([...leaf.grad!.dataSync()]).toEqual([2, 16, 54]);
      leaf.grad!.dispose();
      leaf.dispose();
    }
    expect(allocated()).toBe(before);
  });

  it('after an exception disposes everything, inner and outer', () => {
    const before = allocated();
    const seen: Tensor[] = [];
    expect(() =>
      tidy(() => {
        seen.push(make());
        tidy(() => {
          seen.push(make());
          throw new Error('inside');
        });
      }),
    ).toThrow('inside');
    expect(seen.every(({ disposed }) => disposed)).toBe(true);
    expect(allocated()).toBe(before);
    // The tracking ends with the tidy.
    using later = make();
    tidy(() => null);
    expect(later.disposed).toBe(false);
  });

  it('an exception that is caught inside disposes only the inner part', () => {
    using result = tidy(() => {
      const kept = make();
      try {
        tidy(() => {
          make();
          throw new Error('inside');
        });
      } catch {
        return kept.add(1);
      }
      return kept;
    });
    expect([...result.dataSync()]).toEqual([2, 3, 4]);
  });

  it('keep and gradients outlive every tidy around', () => {
    let kept: Tensor | undefined;
    using x = tensor([2], { requiresGrad: true });
    tidy(() =>
      tidy(() => {
        kept = keep(make());
        x.mul(x).backward();
      }),
    );
    expect(kept!.disposed).toBe(false);
    expect(x.grad!.itemSync()).toBe(4);
    kept!.dispose();
    x.grad!.dispose();
  });

  it('a gradient that is accumulated inside keeps its memory', () => {
    using x = tensor([2], { requiresGrad: true });
    for (let i = 0; i < 3; i++) tidy(() => x.mul(3).backward());
    expect(x.grad!.itemSync()).toBe(9);
    x.grad!.dispose();
  });

  it('a graph that leads out of it stays differentiable', () => {
    using x = tensor([1, 2], { requiresGrad: true });
    using loss = tidy(() => x.exp().mul(2).sum());
    loss.backward();
    expect(x.grad!.dataSync()[0]).toBeCloseTo(2 * Math.E, 5);
    x.grad!.dispose();
  });

  it('in-place results are their targets', () => {
    using x = make();
    expect(noGrad(() => tidy(() => x.add_(1)))).toBe(x);
    expect(x.disposed).toBe(false);
  });

  it('async functions are refused, and leave nothing behind', () => {
    const before = allocated();
    expect(() => tidy(async () => make())).toThrow('tidy: the function is async');
    expect(allocated()).toBe(before);
  });
});

describe('dispose', () => {
  it('twice is harmless; other handles of the holder live on', () => {
    const before = allocated();
    const x = make();
    const view = x.reshape([3, 1]);
    x.dispose();
    x.dispose();
    expect([...view.dataSync()]).toEqual([1, 2, 3]);
    expect(() => x.add(1)).toThrow('add: the tensor has been disposed');
    view[Symbol.dispose]();
    expect(allocated()).toBe(before);
  });

  it('using ends with the block', () => {
    const before = allocated();
    {
      using x = make();
      using y = x.add(1);
      expect(y.dataSync()[0]).toBe(2);
    }
    expect(allocated()).toBe(before);
  });
});
