/**
 * A number or tensor that some programs of a function change and others read is one variable of the saved program,
 * wherever it is and along whichever paths the programs reach it.
 */

import { expect, it } from 'vitest';
import { load, nn, noGrad, optim, save, type Tensor, tensor, toStatic } from '../../src/index.ts';

type Step = (x: Tensor) => Tensor;

const weight = tensor([0.5, -3]);

/** Another program at every third count. */
const next = (x: Tensor, n: number, is = n): Tensor =>
  n % 3 === 0 ? x.mul(weight).add(is) : x.sub(is);

class Counter {
  static #all = 0;
  #n = 0;
  #late = 0;
  #state = { n: 0 };
  #pair: readonly number[] = [0, 1];
  #tensor = tensor([1, 1]);

  get n() {
    return this.#n;
  }
  get #accessor() {
    return this.#n;
  }
  set #accessor(n: number) {
    this.#n = n;
  }
  get state() {
    return this.#state;
  }
  get late() {
    return this.#late;
  }
  increment() {
    return ++this.#n;
  }
  ofItself(x: Tensor) {
    this.#n++;
    return next(x, this.#n);
  }
  ofMethods(x: Tensor) {
    this.increment();
    return next(x, this.n, this.#n);
  }
  ofAccessors(x: Tensor) {
    this.#accessor++;
    return next(x, this.n, this.#accessor);
  }
  ofState(x: Tensor) {
    this.#state.n++;
    return next(x, this.state.n, this.#state.n);
  }
  ofPair(x: Tensor) {
    this.#pair = [this.#pair[0]! + 1, this.#pair[1]! * -1];
    return next(x, this.#pair[0]!, this.#pair[1]);
  }
  ofOneProgram(x: Tensor) {
    if (this.increment() % 3 !== 0) return x.add(this.late);
    this.#late += 10;
    return x.mul(weight);
  }
  ofTensor(x: Tensor) {
    if (this.increment() % 3 === 0) return this.#tensor.mul(2);
    this.#tensor = this.#tensor.mul(0.5).add(x);
    return this.#tensor.sub(x);
  }
  static ofAll(x: Tensor) {
    Counter.#all++;
    return next(x, Counter.#all);
  }
  static reset() {
    Counter.#all = 0;
  }
}

class Late extends Counter {
  #n = 50;
  incrementOwn() {
    return ++this.#n;
  }
}

function linear(weight: number[]): nn.Linear {
  const layer = new nn.Linear(2, 2, { bias: false });
  noGrad(() => layer.weight.copy_(tensor(weight).reshape([2, 2])));
  return layer;
}

/** `zeroGrad` looks for parameters among all tensors of a module. */
class Keeping extends nn.Module {
  weight = nn.parameter(tensor([2, 3]));
  last: Tensor | null = null;
  override forward(x: Tensor): Tensor {
    this.last = x.mul(this.weight);
    return this.last.square();
  }
}

function trained(model: nn.Module & { forward(x: Tensor): Tensor }): Step {
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.01, momentum: 0.9 });
  return (x) => {
    model.zeroGrad();
    const y = model.forward(x);
    y.sum().backward();
    optimizer.step();
    return y.detach();
  };
}

const steps: Readonly<Record<string, () => Step>> = {
  'a private field': () => {
    const counter = new Counter();
    return (x) => counter.ofItself(x);
  },
  'a private field of several methods': () => {
    const counter = new Counter();
    return (x) => counter.ofMethods(x);
  },
  'a private field behind private accessors': () => {
    const counter = new Counter();
    return (x) => counter.ofAccessors(x);
  },
  'an object in a private field': () => {
    const counter = new Counter();
    return (x) => counter.ofState(x);
  },
  'an array that is replaced in a private field': () => {
    const counter = new Counter();
    return (x) => counter.ofPair(x);
  },
  'a private field that one program writes, and others read': () => {
    const counter = new Counter();
    return (x) => counter.ofOneProgram(x);
  },
  'a tensor in a private field': () => {
    const counter = new Counter();
    return (x) => counter.ofTensor(x);
  },
  'private fields of one name in two classes of an object': () => {
    const counter = new Late();
    return (x) => {
      const n = counter.increment();
      return n % 3 === 0 ? x.mul(counter.incrementOwn()) : x.add(n);
    };
  },
  'a private field of two objects': () => {
    const [one, other] = [new Counter(), new Late()];
    return (x) => {
      const n = one.increment();
      return n % 3 === 0 ? x.mul(other.increment()) : x.add(n);
    };
  },
  'a private static field': () => {
    Counter.reset();
    return (x) => Counter.ofAll(x);
  },
  'a variable of several functions': () => {
    let n = 0;
    const increment = () => {
      n++;
    };
    const read = () => n;
    return (x) => {
      increment();
      return next(x, read(), n);
    };
  },
  'a tensor in a variable of several functions': () => {
    let [state, n] = [tensor([1, 1]), 0];
    const push = (x: Tensor) => {
      state = state.mul(0.5).add(x);
    };
    const read = () => state;
    return (x) => {
      if (++n % 3 === 0) return read().mul(2);
      push(x);
      return state.add(x);
    };
  },
  'a property of an object on several paths': () => {
    const counter = { n: 0 };
    const [holder, list, map] = [{ counter }, [counter], new Map([['counter', counter]])];
    return (x) => {
      holder.counter.n++;
      return next(x, list[0]!.n, map.get('counter')!.n);
    };
  },
  'two properties that hold one tensor from time to time': () => {
    const state = { a: tensor([1, 2]), b: tensor([3, 4]), n: 0 };
    return (x) => {
      if (state.n++ % 3 === 0) state.a = state.b;
      else state.a = state.a.mul(3);
      return state.a.add(state.b).mul(x);
    };
  },
  'two properties that get one new tensor': () => {
    const state = { a: tensor([1, 2]), b: tensor([3, 4]), n: 0 };
    return (x) => {
      if (state.n++ % 3 === 0) state.a = state.b = state.a.mul(0.5).sub(x);
      else state.a = state.a.mul(-1.5);
      return state.a.add(state.b);
    };
  },
  'the last result in a module that is trained': () => trained(new Keeping()),
  'a normalized weight in a module that is trained': () =>
    trained(nn.utils.weightNorm(linear([1, -2, 0.5, 3]))),
  'an element of an array, from both ends': () => {
    const counts = [7, 0];
    return (x) => {
      counts[1] = counts[1]! + 1;
      return next(x, counts.at(-1)!, counts[1]);
    };
  },
};

it.each(Object.entries(steps))('%s', async (_, make) => {
  const x = tensor([1.5, 2]);
  const run = (step: Step, times: number) =>
    Array.from({ length: times }, () => [...step(x).dataSync()]);
  const expected = run(make(), 16);
  const captured = toStatic(make(), { fullGraph: true });
  expect(run(captured, 7)).toEqual(expected.slice(0, 7));
  const { translations } = captured.stats();
  const loaded = (await load(await save(captured))) as unknown as Step;
  expect(run(loaded, 9)).toEqual(expected.slice(7));
  expect(run(captured, 9)).toEqual(expected.slice(7));
  expect(captured.stats().translations).toBe(translations);
});
