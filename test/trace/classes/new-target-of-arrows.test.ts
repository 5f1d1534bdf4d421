/** The `new.target` of an arrow is that of the constructor around it, wherever the graph breaks. */

import { describe, expect, it } from 'vitest';
import { breakGraph, type Tensor, tensor, toStatic } from '../../../src/index.ts';

type Make = (i: number) => unknown;

class Mapped {
  readonly names: readonly unknown[];
  constructor(make: Make) {
    this.names = Array.from({ length: 2 }, (_, i) => [new.target.name, make(i)]);
  }
}
class Derived extends Mapped {
  readonly own = 1;
}
class Called {
  readonly names: readonly unknown[];
  constructor(make: Make) {
    const name = (i: number) => [make(i), new.target.name];
    this.names = [name(1), name(2)];
  }
}
class MadeBefore {
  readonly names: readonly unknown[];
  constructor(make: Make) {
    const name = () => new.target.name;
    make(1);
    this.names = [name(), name()];
  }
}
class Nested {
  readonly names: readonly unknown[];
  constructor(make: Make) {
    const outer = (i: number) => {
      const name = () => new.target.name;
      return [make(i), name()];
    };
    this.names = [outer(1), outer(2)];
  }
}
class CalledLater {
  readonly #name: () => string;
  constructor(make: Make) {
    this.#name = () => new.target.name;
    make(1);
  }
  get names(): readonly unknown[] {
    return [this.#name()];
  }
}
class Undefined {
  readonly names: readonly unknown[];
  constructor(make: Make) {
    const plain = function () {
      return (() => new.target)();
    };
    this.names = [make(1), plain()];
  }
}

const classes = { Mapped, Derived, Called, MadeBefore, Nested, CalledLater, Undefined };
const ops: Record<string, (x: Tensor, i: number) => unknown> = {
  'without a break': (x, i) => x.mul(i).shape[0],
  'with a value read': (x, i) => x.mul(i).sum().itemSync(),
  'with a break': (x, i) => {
    breakGraph();
    return x.mul(i).sum().itemSync();
  },
};

describe.each(Object.entries(classes))('%s', (_, Class) => {
  it.each(Object.entries(ops))('%s', (_name, op) => {
    const fn = (x: Tensor) => {
      const made = new Class((i) => op(x, i));
      return [made.names, x.add(1).toArraySync()];
    };
    const captured = toStatic(fn);
    for (let i = 0; i < 2; i++) expect(captured(tensor([1, 2]))).toEqual(fn(tensor([1, 2])));
    expect(captured.stats().graphs).toBeGreaterThan(0);
  });
});
