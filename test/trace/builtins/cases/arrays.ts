/* biome-ignore-all lint: what is tested is odd code */
/** Arrays and their methods, in captured code. */

import { type Cases, caught, Point, Stack } from '../world.ts';

export const arrays: Cases = {
  mapNumber: (_x, w) => [w.words.map(Number), ['1', '2'].map(Number)],
  mapString: (_x, w) => w.numbers.map(String),
  mapBoolean: (_x, w) => [w.numbers.map(Boolean), w.tensors.map(Boolean)],
  filterBoolean: (_x, w) => [
    w.holes.filter(Boolean),
    [0, 1, '', 'a', null].filter(Boolean),
    w.tensors.filter(Boolean),
  ],
  mapParseFloat: (_x, w) => w.words.map(parseFloat),
  mapParseInt: (_x, w) => w.words.map(parseInt as never),
  mapMath: (_x, w) => [
    w.numbers.map(Math.abs),
    w.numbers.map(Math.sqrt),
    w.numbers.map(Math.round),
  ],
  someInteger: (_x, w) => [
    w.numbers.some(Number.isInteger),
    w.numbers.every(Number.isInteger),
    w.words.some(Number.isNaN as never),
  ],
  reduceMax: (_x, w) => [
    w.numbers.reduce(Math.max as never),
    w.numbers.reduce((a, b) => Math.max(a, b), 0),
  ],
  mapSymbol: (_x, w) => w.words.map((s) => s.toUpperCase()),
  mapBound: (_x, w) => w.words.map(w.text.concat.bind(w.text) as never),
  mapJSON: (_x, w) => w.nested.map(JSON.stringify as never),
  mapObjectKeys: (_x, w) => [w.object, { q: 1 }].map(Object.keys),
  mapArrayOf: (_x, w) => w.numbers.map(Array.of),
  isArrayMap: (_x, w) => w.nested.map(Array.isArray),
  flatMapOf: (_x, w) => w.numbers.flatMap(Array.of as never),
  mapSelf: (_x, w) =>
    w.numbers.map(
      function (this: { k: number }, v) {
        return v * this.k;
      },
      { k: 2 },
    ),
  mapHoles: (_x, w) => w.holes.map((v) => v * 2),
  mapThrows: (_x, w) =>
    caught(() =>
      w.numbers.map((v, i) => {
        w.log.push(i);
        if (v === 2) throw new RangeError('two');
        return v;
      }),
    ),
  mapNotCallable: (_x, w) => caught(() => w.numbers.map(undefined as never)),
  mapMutates: (_x, w) =>
    w.numbers.map((v, i, all) => {
      if (i === 0) all.push(8);
      return v + all.length;
    }),
  mapPops: (_x, w) =>
    w.numbers.map((v, i, all) => {
      if (i === 0) all.pop();
      return v;
    }),
  mapTensors: (x, w) => w.tensors.map((t) => t.mul(x)),
  mapStack: (_x, w) => w.stack.map((v) => v * 2),
  filterStack: (_x, w) => w.stack.filter((v) => v > 5),
  spreadStack: (_x, w) => [...w.stack, w.stack.length, w.stack[0]],
  forOfStack: (_x, w) => {
    let s = 0;
    for (const v of w.stack) s += v;
    return s;
  },
  stackPeek: (x, w) => x.mul(w.stack.peek()!),
  stackPush: (_x, w) => w.stack.push(1),
  stackReduce: (_x, w) => w.stack.reduce((a, b) => a + b, 0),
  stackJoin: (_x, w) => w.stack.join('-'),
  stackSlice: (_x, w) => w.stack.slice(1),
  stackIndexOf: (_x, w) => [w.stack.indexOf(6), w.stack.includes(5), w.stack.at(-1)],
  arrayLikeText: () => Array.prototype.slice.call('abc' as never, 1),
  arrayLikeCall: (_x, w) => [
    Array.prototype.map.call({ length: 2, 0: w.n, 1: 3 }, (v) => (v as number) * 2),
    Array.prototype.slice.call({ length: 2, 1: 'b' } as never, 1),
  ],
  toSorted: (_x, w) => [
    w.numbers.toSorted(),
    w.numbers.toSorted((a, b) => b - a),
    w.words.toSorted(),
    w.holes.toSorted(),
  ],
  toReversed: (_x, w) => [w.numbers.toReversed(), w.holes.toReversed()],
  toSpliced: (_x, w) => [
    w.numbers.toSpliced(1, 1),
    w.numbers.toSpliced(-1, 0, 9, 8),
    w.holes.toSpliced(0, 1),
    w.numbers.toSpliced(1),
    [1, 2].toSpliced(...([] as never as [number, number])),
  ],
  with: (_x, w) => [
    w.numbers.with(0, 9),
    w.numbers.with(-1, 9),
    caught(() => w.numbers.with(10, 1)),
    w.holes.with(0, 2),
  ],
  lastIndexOf: (_x, w) => [
    w.numbers.lastIndexOf(1),
    w.numbers.lastIndexOf(1, -2),
    w.numbers.lastIndexOf(99),
    w.holes.lastIndexOf(undefined as never),
    w.tensors.lastIndexOf(w.tensors[0]!),
    w.numbers.lastIndexOf(1, undefined as never),
  ],
  copyWithin: (_x, w) => [
    [1, 2, 3, 4, 5].copyWithin(0, 3),
    w.numbers.copyWithin(1, 0, 2),
    [1, , 3].copyWithin(0, 1),
  ],
  reverseHoles: (_x, w) => w.holes.reverse(),
  reverse: (_x, w) => w.numbers.reverse(),
  sliceHoles: (_x, w) => w.holes.slice(0, 2),
  concatHoles: (_x, w) => w.holes.concat([4], 5 as never),
  concatSpreadable: (_x, w) =>
    ([1] as unknown[]).concat(
      { length: 1, 0: 2, [Symbol.isConcatSpreadable]: true } as never,
      w.object,
    ),
  concatStack: (_x, w) => [0].concat(w.stack),
  flatHoles: (_x, w) => [w.holes.flat(), w.nested.flat(), w.nested.flat(Infinity)],
  sortHoles: (_x, w) => w.holes.sort(),
  sortNumbers: (_x, w) => w.numbers.sort(),
  sortCompare: (_x, w) =>
    w.numbers.sort((a, b) => {
      w.log.push([a, b]);
      return a - b;
    }),
  sortLong: (_x, w) =>
    Array.from({ length: 80 }, (_, i) => (i * 37) % 80).sort((a, b) => a - b + w.n * 0),
  sortTensors: (_x, w) => w.tensors.sort((a, b) => a.shape.length - b.shape.length),
  spliceHoles: (_x, w) => [w.holes.splice(0, 1), w.holes],
  splice: (_x, w) => [w.numbers.splice(1, 2, 7), w.numbers],
  shiftHoles: (_x, w) => [w.holes.shift(), w.holes],
  unshiftHoles: (_x, w) => [w.holes.unshift(0), w.holes],
  popHoles: (_x, w) => [w.holes.pop(), w.holes],
  pushHoles: (_x, w) => [w.holes.push(5), w.holes],
  fillHoles: (_x, w) => [w.holes.fill(0), new Array(3).fill(w.n), w.numbers.fill(1, 1, 2)],
  joinHoles: (_x, w) => [w.holes.join('+'), w.nested.join(';'), [null, undefined, true].join()],
  joinObjects: (_x, w) => [[w.object, [1, [2]]].join(), [w.point].join()],
  entries: (_x, w) => [[...w.numbers.entries()], [...w.words.keys()], [...w.holes.values()]],
  iteratorNext: (_x, w) => {
    const it = w.numbers.values();
    return [it.next(), it.next(), [...it]];
  },
  iteratorOverHoles: (_x, w) => [...w.holes.entries()],
  fromString: (_x, w) => [Array.from(w.text), Array.from(w.empty), Array.from('abc', (c) => c + c)],
  fromSet: (_x, w) => [
    Array.from(w.set),
    Array.from(w.map),
    Array.from(w.map.keys()),
    Array.from(w.set, (v) => v * 2),
  ],
  fromLength: (_x, w) => [
    Array.from({ length: w.n }),
    Array.from({ length: 3 }, (_, i) => i * w.n),
    Array.from({ length: 2, 0: 'a' }),
  ],
  fromTyped: (_x, w) => [Array.from(w.typed), [...w.typed], Array.from(w.typed, (v) => v * 2)],
  fromNumber: () => [Array.from(3 as never), Array.from({ a: 1 } as never)],
  fromHoles: (_x, w) => Array.from(w.holes),
  fromNull: () => caught(() => Array.from(null as never)),
  arrayOf: (_x, w) => [Array.of(w.n, 2), Array.of(7)],
  newArray: (_x, w) => [new Array(w.n), new Array(2, 3), Array(2), new Array('a')],
  newArrayBad: () => caught(() => new Array(-1)),
  keysHoles: (_x, w) => [[...w.holes.keys()], Object.keys(w.holes), Object.values(w.holes)],
  findHoles: (_x, w) => [
    w.holes.find((v) => v === undefined),
    w.holes.findIndex((v) => v === undefined),
    w.holes.findLast((v) => v > 0),
    w.holes.findLastIndex((v) => !v),
  ],
  reduceEmpty: () => caught(() => ([] as number[]).reduce((a, b) => a + b)),
  reduceRight: (_x, w) => w.words.reduceRight((a, b) => a + b),
  includesNaN: (_x, w) => [
    [NaN].includes(NaN),
    [NaN].indexOf(NaN),
    w.holes.includes(undefined as never),
    w.numbers.includes(1, 2),
    w.numbers.indexOf(1, -2),
    w.numbers.includes(3, -1),
  ],
  lengthWrite: (_x, w) => {
    w.numbers.length = 1;
    const a = [1, 2, 3];
    a.length = 1;
    return a;
  },
  everyEmpty: () => [[].every(() => false), [].some(() => true)],
  indexBad: (_x, w) => [w.numbers[-1], w.numbers['1' as never], w.numbers[1.5], w.numbers[100]],
  toText: (_x, w) => [w.numbers.toString(), w.numbers.toLocaleString(), [].toString()],
  speciesConstructor: (_x, w) => [
    w.numbers.constructor === Array,
    [1].constructor === Array,
    w.stack.constructor === Stack,
    w.point.constructor === Point,
  ],
  instanceofArray: (_x, w) => [
    w.numbers instanceof Array,
    [1] instanceof Array,
    w.stack instanceof Stack,
    w.stack instanceof Array,
    [] instanceof Object,
  ],
  groupBy: (_x, w) => {
    const groups: Record<string, number[]> = {};
    for (const v of w.numbers) (groups[v % 2 ? 'odd' : 'even'] ??= []).push(v);
    return groups;
  },
  arrayKeysSpread: (_x, w) => [...Array(w.n).keys()],
  arrayFillMap: (_x, w) =>
    Array(3)
      .fill(0)
      .map((_, i) => i * w.n),
  nestedDestructure: (_x, w) => {
    const [[a], [, [b]]] = w.nested as [[number], [number, [number]]];
    return [a, b];
  },
  atOut: (_x, w) => [w.numbers.at(-1), w.numbers.at(99), w.numbers.at(0)],
  frozenPush: (_x, w) =>
    caught(() => {
      'use strict';
      (Object.freeze([1]) as number[]).push(w.n);
    }),
};
