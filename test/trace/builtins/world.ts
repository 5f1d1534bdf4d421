/** What the cases of builtins are run on: objects that exist before the call, changed between calls. */

import type { Tensor } from '../../../src/index.ts';
import { values, weights } from '../same-as-eager.ts';

export class Point {
  x: number;
  constructor(x: number) {
    this.x = x;
  }
  get double(): number {
    return this.x * 2;
  }
}

/** An array type of the user's. */
export class Stack<T> extends Array<T> {
  peek(): T | undefined {
    return this[this.length - 1];
  }
}

/** Objects, numbers and texts that a case reads and changes. All that it leaves behind is compared. */
export interface Given {
  n: number;
  flag: boolean;
  text: string;
  empty: string;
  json: string;
  nothing: undefined;
  readonly numbers: number[];
  readonly words: string[];
  readonly holes: number[];
  readonly nested: unknown[];
  readonly object: Record<string, unknown>;
  readonly frozen: Readonly<Record<string, unknown>>;
  readonly accessor: { g: number; plain: number };
  readonly tensors: Tensor[];
  readonly map: Map<string, number>;
  readonly set: Set<number>;
  readonly typed: Float32Array;
  readonly stack: Stack<number>;
  readonly point: Point;
  readonly log: unknown[];
  readonly mark: symbol;
}

export function given(): Given {
  const log: unknown[] = [];
  const accessor = {
    plain: 1,
    get g() {
      log.push('get g');
      return this.plain * 10;
    },
    set g(value: number) {
      log.push(`set g ${value}`);
      this.plain = value;
    },
  };
  return {
    n: 2,
    flag: false,
    text: 'a-b-Cd',
    empty: '',
    json: '{"a":[1,2,{"b":null}]}',
    nothing: undefined,
    numbers: [3, 1, 2, 1],
    words: ['10', 'b', '7.5'],
    // biome-ignore lint/suspicious/noSparseArray: under test
    holes: [1, , 3] as number[],
    nested: [
      [1, 2],
      [3, [4]],
    ],
    object: { b: 1, a: 'two', 7: null },
    frozen: Object.freeze({ k: 1, l: 'm' }),
    accessor,
    tensors: [values([2], 5), weights([2], 6)],
    map: new Map([
      ['a', 1],
      ['b', 2],
    ]),
    set: new Set([1, 2, 3]),
    typed: new Float32Array([1.5, 2.5, -3]),
    stack: Stack.from([5, 6]) as Stack<number>,
    point: new Point(3),
    log,
    mark: Symbol.for('mark'),
  };
}

/** Other values in the same objects: a later call must notice them. */
export function change(w: Given): void {
  w.n = 1;
  w.flag = true;
  w.text = 'xx-y';
  w.empty = 'ab';
  w.json = '[true,"t"]';
  w.numbers.splice(0, w.numbers.length, 5, -1, 4);
  w.words.splice(0, 1, '0x10');
  w.holes[1] = 2;
  w.nested[0] = [9];
  w.object.c = 3;
  delete w.object.b;
  w.accessor.plain = 4;
  w.map.set('c', 3);
  w.set.delete(1);
  w.typed[0] = 8;
  w.stack.push(7);
  w.point.x = -1;
  w.tensors.reverse();
}

/** Run inside a captured function, between two ops. */
export type Case = (x: Tensor, w: Given) => unknown;
export type Cases = Readonly<Record<string, Case>>;

/** What the body returns, or what it throws. */
export const caught = (body: () => unknown): unknown => {
  try {
    return body();
  } catch (error) {
    return [(error as Error).name, (error as Error).message];
  }
};
