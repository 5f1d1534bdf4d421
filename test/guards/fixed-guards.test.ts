/** Guards of hot entries on what frozen objects hold: one on which object it is, and right when another one comes. */

import { describe, expect, it } from 'vitest';
import { withoutFixed } from '../../src/guards/fixed-guards.ts';
import { GuardSet } from '../../src/guards/guard.ts';
import { noGrad, type Tensor, tensor, toStatic, zeros } from '../../src/index.ts';
import { importOnnx } from '../../src/onnx/index.ts';
import { smallVad } from '../onnx/small-vad.ts';

interface Settings {
  readonly layers: readonly { readonly scale: number; readonly shift: readonly number[] }[];
}

const layers = (first: number) =>
  Array.from({ length: 40 }, (_, i) => ({ scale: i + first, shift: [1, i] }));

function deeplyFrozen<T extends object>(value: T): T {
  for (const each of Object.values(value)) {
    if (typeof each === 'object' && each !== null) deeplyFrozen(each as object);
  }
  return Object.freeze(value);
}

function apply(x: Tensor, settings: Settings): number {
  let y = x;
  for (const { scale, shift } of settings.layers) {
    y = y.mul(scale / 8).add(shift[0]! - shift[1]! * 0.5);
  }
  return y.sum().itemSync() as number;
}

/** How many guards are left of how many, in each set that became hot while `body` ran. */
function counted(body: () => void): (readonly [left: number | null, of: number])[] {
  const found = new Map<GuardSet, readonly [number | null, number]>();
  const { holds } = GuardSet.prototype;
  GuardSet.prototype.holds = function (frames) {
    const isHit = holds.call(this, frames);
    if (isHit && !found.has(this)) {
      found.set(this, [withoutFixed(this.guards, frames)?.length ?? null, this.guards.length]);
    }
    return isHit;
  };
  try {
    body();
  } finally {
    GuardSet.prototype.holds = holds;
  }
  return [...found.values()];
}

const x = tensor([1, 2]);
const hotAfter = 200;

describe('guards on frozen objects', () => {
  it('are one for each tree of them', () => {
    const settings = deeplyFrozen({ layers: layers(1) });
    const f = toStatic((y: Tensor) => apply(y, settings));
    const [[left, all]] = counted(() => {
      for (let i = 0; i < 3; i++) f(x);
    }) as [readonly [number, number]];
    expect(all).toBeGreaterThan(100);
    expect(left).toBeLessThan(40);
  });

  it('ask what objects inherit of their prototype, once for all of them', () => {
    class Layer {
      readonly scale: number;
      readonly places: readonly number[];
      constructor(scale: number) {
        this.scale = scale;
        this.places = Object.freeze([scale, 2]);
        Object.freeze(this);
      }
      factor(): number {
        return this.places.map((place) => place * this.scale).reduce((a, b) => a + b, 0);
      }
    }
    const all = Object.freeze(Array.from({ length: 30 }, (_, i) => new Layer(i + 1)));
    const bare = (i: number) => Object.freeze(Object.assign(Object.create(null), { shift: i }));
    const shifts = Object.freeze(Array.from({ length: 30 }, (_, i) => bare(i) as Shift));
    interface Shift {
      readonly shift: number;
      readonly absent?: number;
    }
    const fn = (y: Tensor) => {
      let z = y;
      for (const [i, layer] of all.entries()) {
        const { shift, absent = 1 } = shifts[i]!;
        z = z.mul(layer.factor() / 1024).add('places' in layer ? shift * absent : 0);
        if ((layer as unknown) instanceof tensorClass) z = z.neg();
      }
      return z.sum().itemSync() as number;
    };
    const tensorClass = x.constructor as new () => Tensor;
    const f = toStatic(fn);
    const [[left, of]] = counted(() => {
      for (let i = 0; i < 3; i++) f(x);
    }) as [readonly [number, number]];
    expect(of).toBeGreaterThan(300);
    expect(left).toBeLessThan(60);
    for (let i = 0; i < hotAfter + 5; i++) expect(f(x)).toBe(fn(x));
    // What they inherit may become another thing.
    const { factor } = Layer.prototype;
    Layer.prototype.factor = function () {
      return factor.call(this) * 2;
    };
    expect(f(x)).toBe(fn(x));
    Layer.prototype.factor = factor;
    expect(f(x)).toBe(fn(x));
    let reads = 0;
    Object.defineProperty(Layer.prototype, 'factor', {
      configurable: true,
      get() {
        reads++;
        return factor;
      },
    });
    const expected = fn(x);
    reads = 0;
    expect(f(x)).toBe(expected);
    expect(reads).toBe(30);
  });

  it('are few for an imported model, whose nodes and attributes are frozen', async () => {
    const vad = await importOnnx(smallVad());
    const f = toStatic((chunk: Tensor, state: Tensor) => vad.forward(chunk, state, 16000), {
      fullGraph: true,
    });
    const [[left, all]] = counted(() => {
      for (let i = 0; i < 3; i++) noGrad(() => f(zeros([1, 576]), zeros([2, 1, 128])));
    }) as [readonly [number, number]];
    expect(all).toBeGreaterThan(600);
    expect(left).toBeLessThan(100);
  });

  it('stay where objects may change', () => {
    const settings = { layers: layers(1) };
    const f = toStatic((y: Tensor) => apply(y, settings));
    const [[left]] = counted(() => {
      for (let i = 0; i < 3; i++) f(x);
    }) as [readonly [number | null, number]];
    expect(left).toBe(null);
  });

  it('fail for other objects, which the whole guards then accept or not', () => {
    const box: { settings: Settings } = { settings: deeplyFrozen({ layers: layers(1) }) };
    const f = toStatic((y: Tensor) => apply(y, box.settings));
    const expected = apply(x, box.settings);
    for (let i = 0; i < hotAfter + 5; i++) expect(f(x)).toBe(expected);
    // The same values in other objects need no other entry.
    box.settings = deeplyFrozen({ layers: layers(1) });
    for (let i = 0; i < 3; i++) expect(f(x)).toBe(expected);
    expect(f.stats().graphs).toBe(1);
    box.settings = { layers: layers(1) };
    expect(f(x)).toBe(expected);
    // Other values do.
    box.settings = deeplyFrozen({ layers: layers(2) });
    expect(f(x)).toBe(apply(x, box.settings));
    box.settings = { layers: layers(1) };
    Object.assign(box.settings.layers[3]!, { scale: 100 });
    expect(f(x)).toBe(apply(x, box.settings));
  });

  it('are asked again of what a frozen object holds, if that may change', () => {
    const inner = { scale: 3 };
    const frozen = Object.freeze({ inner, others: deeplyFrozen(layers(1)), list: [1, 2] });
    const f = toStatic((y: Tensor) => {
      const factor = apply(y, { layers: frozen.others });
      return (
        factor * 0 +
        (y.mul(inner.scale).sum().itemSync() as number) * frozen.inner.scale +
        frozen.list.length
      );
    });
    const expected = (scale: number, length: number) => 3 * scale * scale + length;
    for (let i = 0; i < hotAfter + 5; i++) expect(f(x)).toBe(expected(3, 2));
    inner.scale = 5;
    expect(f(x)).toBe(expected(5, 2));
    frozen.list.push(3);
    expect(f(x)).toBe(expected(5, 3));
    inner.scale = 3;
    frozen.list.pop();
    expect(f(x)).toBe(expected(3, 2));
  });

  it('run no getter and no Proxy', () => {
    let reads = 0;
    const hidden = Object.freeze({
      get scale() {
        reads++;
        return 2;
      },
      layers: deeplyFrozen(layers(1)),
    });
    const proxied = new Proxy(deeplyFrozen({ layers: layers(1) }), {
      get(target, key, receiver) {
        reads++;
        return Reflect.get(target, key, receiver) as unknown;
      },
    });
    const f = toStatic((y: Tensor) => apply(y, { layers: hidden.layers }) * hidden.scale);
    const g = toStatic((y: Tensor) => apply(y, proxied));
    for (let i = 0; i < hotAfter + 5; i++) {
      reads = 0;
      f(x);
      expect(reads).toBe(1);
      g(x);
      expect(reads).toBe(2);
    }
  });
});
