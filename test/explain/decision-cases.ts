/** Functions with each kind of decision, and what `explain()` says of these. */

import {
  cond,
  keepLoop,
  stack,
  type Tensor,
  tensorSpec,
  whileLoop,
  zeros,
} from '../../src/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a user's function may be given.
export type Run = (x: Tensor, given: any) => unknown;

interface Case {
  readonly run: Run;
  /** Of one program; none: it is no program. */
  readonly full?: readonly string[];
  /** Where that says something else. */
  readonly auto?: readonly string[];
  readonly options?: object;
}

const sum = (x: Tensor) => x.sum().itemSync();
const branch = (values: string) =>
  `branch: a cond: both branches produce mergeable values; merges ${values}`;
const loop = (values: string, why = 'its number of iterations is data-dependent') =>
  `loop: a while: ${why}; carries ${values}`;
const check = 'check: an assert: one branch only throws';
const call = (names: string) =>
  `call: a program of its own for each set of shapes: the shapes are data-dependent of ${names}`;
const always =
  'condition: always true: it is a tensor, and objects are true; itemSync() reads its value';
const broken = (why: string) => `decision: a graph break: ${why}`;
const unrolled = (why: string) =>
  `loop: unrolled, each exit a branch: as a loop of the program, ${why}`;
const read =
  'read: a graph break: The values of a tensor are read, so everything before it must have run.';
const [one, two, three] = ['1 value', '2 values', '3 values'] as const;

export const cases: Readonly<Record<string, Case>> = {
  if: {
    run: (x) => {
      let y = x;
      if (sum(x) > 0) y = y.mul(2);
      return y;
    },
    full: [branch(one)],
  },
  '? :': { run: (x) => (sum(x) > 0 ? x.mul(2) : x.exp()), full: [branch(one)] },
  '&& in a condition': {
    run: (x) => (sum(x) > 0 && sum(x) < 5 ? x : x.neg()),
    full: [branch(one), branch(one)],
  },
  '|| as a value': { run: (x) => x.mul(sum(x) || 7), full: [branch(one)] },
  '??': {
    run: (x) => {
      let y: Tensor | undefined;
      if (sum(x) > 0) y = x.mul(2);
      return y ?? x;
    },
    full: [branch(two), branch(one)],
  },
  'an early return': {
    run: (x) => {
      if (sum(x) > 0) return x.mul(2);
      return x;
    },
    full: [branch(one)],
  },
  switch: {
    run: (x) => {
      switch (sum(x)) {
        case 3:
          return x.mul(2);
        default:
          return x;
      }
    },
    full: [branch(one)],
  },
  while: {
    run: (x) => {
      let y = x;
      while (sum(y) < 20) y = y.mul(2);
      return y;
    },
    full: [loop(one)],
  },
  'do while': {
    run: (x) => {
      let y = x;
      do y = y.mul(2);
      while (sum(y) < 20);
      return y;
    },
    full: [loop(three), branch(one)],
  },
  for: {
    run: (x) => {
      let y = x;
      for (let i = 0; i < sum(x); i++) y = y.mul(2);
      return y;
    },
    full: [loop(two)],
  },
  'for of': {
    run: (x) => {
      let y = x;
      for (const k of [1, 2, 3]) {
        y = y.mul(k);
        if (sum(y) > 0) break;
      }
      return y;
    },
    full: [branch(one), unrolled('a loop of the program changes an iteration')],
  },
  break: {
    run: (x) => {
      let y = x;
      while (sum(y) < 20) {
        y = y.mul(2);
        if (y.max().itemSync() > 9) break;
        y = y.add(1);
      }
      return y;
    },
    full: [loop(three), branch(two), branch(two)],
  },
  continue: {
    run: (x) => {
      let y = x;
      while (sum(y) < 20) {
        y = y.mul(2);
        if (y.max().itemSync() > 9) continue;
        y = y.add(1);
      }
      return y;
    },
    full: [loop(one), branch(one)],
  },
  'a label': {
    run: (x) => {
      let y = x;
      outer: while (sum(y) < 20) {
        while (y.max().itemSync() < 5) {
          y = y.mul(2);
          if (y.min().itemSync() > 3) continue outer;
        }
        y = y.mul(3);
      }
      return y;
    },
    full: [loop(one), loop(three), branch(two), branch(one), branch(one)],
  },
  'try and finally': {
    run: (x) => {
      let y = x;
      try {
        if (sum(x) > 0) y = y.mul(2);
      } finally {
        y = y.add(1);
      }
      return y;
    },
    full: [branch(one)],
  },
  'a throw that is caught': {
    run: (x) => {
      let y = x;
      try {
        if (sum(x) > 0) throw new Error('positive');
        y = y.mul(2);
      } catch {
        y = y.add(1);
      }
      return y;
    },
    full: [branch(two), branch(one)],
  },
  'a throw that leaves': {
    run: (x) => {
      if (x.isnan().any().itemSync()) throw new Error('no number');
      return x.mul(2);
    },
    full: [check],
  },
  'an error of the language': {
    run: (x) => {
      let y: Tensor | undefined;
      if (sum(x) > 0) y = x.mul(2);
      return y!.add(1);
    },
    full: [branch(two), check],
  },
  'console.log': {
    run: (x) => {
      console.log(sum(x));
      return x.mul(2);
    },
    full: ['console: a print: it is written in the order of the run'],
    // A call like any other native one, and nothing decided.
    auto: [],
  },
  'a loop whose iterations leave several shapes': {
    run: (x) => {
      let y = x;
      for (let i = 0; i < 2; i++) {
        if (sum(y) > 1000) break;
        y = y.reshape([1, ...y.shape]);
      }
      return y.sum();
    },
    full: [
      branch(three),
      branch(one),
      unrolled('reshape of data-dependent shape says: reshape: the number of elements differs'),
    ],
  },
  'keepLoop()': {
    run: (x) => {
      let y = x;
      for (let i = 0; i < 3; i++) {
        keepLoop();
        y = y.mul(2);
      }
      return y;
    },
    full: [loop(two, 'keepLoop() asks for it')],
  },
  unrollLimit: {
    run: (x) => {
      let y = x;
      for (let i = 0; i < 9; i++) y = y.mul(2);
      return y;
    },
    options: { unrollLimit: 4 },
    full: [loop(two, 'it has more iterations than unrollLimit (4)')],
    auto: [],
  },
  'a size that inputSpec leaves open': {
    run: (x) => {
      let y = x;
      for (let i = 0; i < x.shape[0]!; i++) y = y.mul(2);
      return y;
    },
    options: { inputSpec: [tensorSpec(['n'])] },
    full: [loop(two, 'a dynamic size decides its number of iterations')],
    auto: [],
  },
  'a list': {
    run: (x) => {
      const all: Tensor[] = [];
      let y = x;
      while (sum(y) < 20) {
        y = y.mul(2);
        all.push(y);
      }
      return all;
    },
    full: [loop(`${three}, 1 list among them`)],
  },
  'a Map': {
    run: (x) => {
      const map = new Map<string, Tensor>();
      if (sum(x) > 0) map.set('a', x.mul(2));
      return map.get('a') ?? x;
    },
    full: [branch(two), branch(two), branch(one)],
  },
  'a Set': {
    run: (x) => {
      const set = new Set([1]);
      if (sum(x) > 0) set.delete(1);
      return x.mul(set.has(1) ? 2 : 3);
    },
    full: [branch(one), branch(one)],
  },
  'a pre-existing array': {
    run: (x, { list }) => {
      if (sum(x) > 0) list.push(x.max().itemSync());
      return x.mul(2);
    },
    full: [branch(two)],
  },
  'calls with open shapes': {
    run: (x) =>
      zeros([Math.trunc(sum(x)), 2])
        .add(1)
        .sum(),
    full: [call('zeros(), add(), sum()')],
  },
  'stack() of a list': {
    run: (x) => {
      const all = [x];
      let y = x;
      while (sum(y) < 20) {
        y = y.mul(2);
        all.push(y);
      }
      return stack(all).sum();
    },
    full: [loop(`${three}, 1 list among them`), call('stack(), sum()')],
  },
  'an index of the program': {
    run: (x) => x.mul([1, 2, 3][x.argmax().itemSync()]!),
    full: [branch(two), branch(one), check],
  },
  'cond()': {
    run: (x) =>
      cond(
        x.sum().gt(0),
        () => x.mul(2),
        () => x,
      ),
    full: [branch(one)],
  },
  'whileLoop()': {
    run: (x) =>
      whileLoop(
        (y: Tensor) => y.sum().lt(20),
        (y: Tensor): [Tensor] => [y.mul(2)],
        [x] as [Tensor],
      )[0],
    full: [loop(one)],
  },
  'ways of several shapes': {
    run: (x) => (sum(x) > 0 ? x.mul(2) : x.sum()),
    full: [branch('3 values')],
  },
  'a pre-existing Map': {
    run: (x, { map }) => {
      if (sum(x) > 0) map.set('a', 1);
      return x;
    },
    full: [branch(one)],
  },
  'a comparison of tensors': {
    run: (x) => (x.sum().gt(10) ? x.mul(2) : x),
    full: [always],
  },
  'a comparison of tensors, negated, in a loop': {
    run: (x) => {
      let y = x;
      for (let i = 0; i < 3; i++) if (!y.sum().lt(0).any()) y = y.mul(2);
      return y;
    },
    full: [always],
  },
  'tensors that are tested for being there': {
    run: (x) => {
      const [mask, whole] = [x.gt(0), x.sum()];
      return mask && whole && !x.eq(0) ? x : null;
    },
    full: [],
  },
  'text of a number': {
    run: (x) => (`${sum(x)}`.length > 3 ? x : x.neg()),
    auto: [broken('text of a data-dependent number (…) is asked for length')],
  },
  'a native call': {
    run: (x) => x.mul(structuredClone({ a: sum(x) }).a),
    auto: [read],
  },
};
