// biome-ignore-all lint/complexity/noThisInStatic: what it is there is tested.
/** Classes that captured code defines, and branches and loops of the program around and inside of what they do. */

import { describe, expect, it } from 'vitest';
import type { Tensor } from '../../../src/index.ts';
import { expectSameAsEager, type World, weights } from '../same-as-eager.ts';

const sum = (x: Tensor) => x.sum().itemSync();

const cases: Readonly<Record<string, (x: Tensor) => unknown>> = {
  'a method with a branch that writes a field': (x) => {
    class Layer {
      scale = 2;
      run(t: Tensor): Tensor {
        if (sum(t) > 0) this.scale *= 3;
        return t.mul(this.scale);
      }
    }
    const layer = new Layer();
    return [layer.run(x), layer.run(x.neg()), layer.scale];
  },
  'private fields that a branch and a loop write': (x) => {
    class Layer {
      #scale = 2;
      #last: Tensor | null = null;
      #grow(t: Tensor): Tensor {
        let y = t.abs();
        while (sum(y) < 20) {
          y = y.mul(this.#scale);
          this.#scale += 0.5;
        }
        return y;
      }
      run(t: Tensor): Tensor {
        this.#last = sum(t) > 0 ? t.mul(2) : this.#grow(t);
        return this.#last;
      }
      get scale(): number {
        return this.#scale;
      }
    }
    const layer = new Layer();
    return [layer.run(x), layer.run(x.neg()), layer.scale];
  },
  'statics, private and not, that a branch writes': (x) => {
    class Layer {
      static calls = 0;
      static #positive = 0;
      static run(t: Tensor): Tensor {
        this.calls++;
        if (sum(t) > 0) Layer.#positive += 1;
        return t.mul(Layer.#positive);
      }
      static get positive(): number {
        return Layer.#positive;
      }
    }
    return [Layer.run(x), Layer.run(x.neg()), Layer.run(x), Layer.calls, Layer.positive];
  },
  'accessors that a branch calls': (x) => {
    class Box {
      held = x;
      sets = 0;
      get value(): Tensor {
        return this.held.add(this.sets);
      }
      set value(next: Tensor) {
        this.sets++;
        this.held = next;
      }
    }
    const box = new Box();
    if (sum(x) > 0) box.value = box.value.mul(3);
    else box.value = x;
    return [box.value, box.sets];
  },
  'a subclass whose method decides and calls the one above': (x) => {
    class Plain {
      by = 1;
      run(t: Tensor): Tensor {
        this.by++;
        return t.mul(this.by);
      }
    }
    class Gated extends Plain {
      override run(t: Tensor): Tensor {
        return sum(t) > 0 ? super.run(t).tanh() : super.run(super.run(t));
      }
    }
    const gated = new Gated();
    return [gated.run(x), gated.run(x.neg()), gated.by];
  },
  'a variable around a private method, which a branch writes': (x) => {
    let calls = 0;
    class Layer {
      #note(t: Tensor): Tensor {
        calls++;
        return t.mul(calls);
      }
      run(t: Tensor): Tensor {
        return sum(t) > 0 ? this.#note(t) : t;
      }
    }
    const layer = new Layer();
    return [layer.run(x), layer.run(x.neg()), layer.run(x), calls];
  },
  'an instance that a branch creates and uses': (x) => {
    class Scaled {
      readonly by: number;
      constructor(by: number) {
        this.by = by;
      }
      run(t: Tensor): Tensor {
        return t.mul(this.by);
      }
    }
    return sum(x) > 0 ? new Scaled(2).run(x) : new Scaled(3).run(x.neg());
  },
  'one of two instances, chosen by the data': (x) => {
    class Scaled {
      by = 2;
      run(t: Tensor): Tensor {
        this.by++;
        return t.mul(this.by);
      }
    }
    const [one, other] = [new Scaled(), new Scaled()];
    const chosen = sum(x) > 0 ? one : other;
    const y = chosen.run(x);
    return [y, one.by, other.by, chosen === one];
  },
  'a list in a private field that a loop fills': (x) => {
    class History {
      #all: Tensor[] = [];
      push(t: Tensor): this {
        this.#all.push(t);
        return this;
      }
      total(): Tensor {
        return this.#all.reduce((a, b) => a.add(b), x);
      }
    }
    const history = new History();
    let y = x.abs();
    for (let i = 0; i < 3; i++) {
      if (sum(y) > 5) break;
      history.push(y);
      y = y.mul(2);
    }
    return [history.total(), y];
  },
  'properties with symbols that a branch assigns': (x) => {
    const key = Symbol.for('scale');
    const box = {
      [key]: 2,
      get twice() {
        return this[key] * 2;
      },
    };
    if (sum(x) > 0) box[key] = 5;
    return [x.mul(box[key]), box.twice];
  },
};

describe('classes made here and branches on data', () => {
  it.each(Object.entries(cases))('%s', (_name, fn) => {
    for (const mode of [{}, { capture: 'auto' }, { fullGraph: true }] as const) {
      for (const sign of [1, -1]) {
        const make = (): World => ({
          fn,
          args: (call) => [
            weights([3])
              .abs()
              .mul(call % 2 ? sign : -sign),
          ],
        });
        const { graphs, reasons } = expectSameAsEager(make, { calls: 4, check: 2, ...mode });
        if (!('fullGraph' in mode)) continue;
        expect(graphs).toBe(1);
        expect(reasons).toEqual([]);
      }
    }
  });
});
