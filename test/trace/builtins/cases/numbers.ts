/* biome-ignore-all lint: what is tested is odd code */
/** Numbers, Math, BigInt and Date, in captured code. */

import { type Cases, caught } from '../world.ts';

export const numbers: Cases = {
  number: (_x, w) => [
    Number(w.words[0]),
    Number('x'),
    Number(null),
    Number(true),
    Number(undefined),
    Number([5] as never),
    Number([] as never),
    Number({} as never),
    Number(''),
    Number(4n),
  ],
  statics: (_x, w) => [
    Number.isInteger(w.n),
    Number.isFinite(w.n),
    Number.isNaN(NaN),
    Number.isSafeInteger(2 ** 53),
    Number.parseFloat('1.5a'),
    Number.parseInt('12', 3),
    Number.EPSILON,
    Number.MAX_SAFE_INTEGER,
  ],
  globals: (_x, w) => [
    isNaN(w.words[1] as never),
    isFinite('3' as never),
    parseInt('0x1f'),
    parseFloat('.5'),
  ],
  isIntegerOfObjects: (_x, w) => [
    Number.isInteger(w.object as never),
    Number.isNaN([] as never),
    Number.isFinite(w.tensors[0] as never),
    isNaN({} as never),
  ],
  math: (_x, w) => [
    Math.max(...w.numbers),
    Math.min(),
    Math.hypot(3, 4),
    Math.sign(-w.n),
    Math.trunc(1.5),
    Math.cbrt(8),
    Math.clz32(1),
    Math.fround(1.1),
    Math.imul(3, 4),
    Math.log2(8),
    Math.atan2(1, w.n),
    Math.PI,
  ],
  mathOfStrings: (_x, w) => [
    Math.max('3' as never, w.n),
    Math.abs('-2' as never),
    Math.max(null as never, -1),
    Math.round('x' as never),
    Math.max([4] as never),
  ],
  mathObject: (_x, w) =>
    Math.max(
      {
        valueOf() {
          w.log.push('v');
          return 3;
        },
      } as never,
      1,
    ),
  bitwise: (_x, w) => [w.n | 4, w.n & 3, w.n ^ 1, ~w.n, w.n << 2, -w.n >>> 28, -w.n >> 1],
  boolean: (_x, w) => [Boolean(w.n), Boolean(''), Boolean(w.object), !!w.empty],
  boxedObjects: () => [
    new Number(3).valueOf(),
    Object(4) instanceof Number,
    new Boolean(false) ? 1 : 2,
  ],
  boxed: (_x, w) => [(w.n as number).valueOf(), true.toString()],
  date: () => [Date.UTC(2020, 1, 2), Date.parse('2020-01-01T00:00:00Z')],
  mathRandom: () => Math.random() < 2,
  bigints: () => [
    BigInt('12'),
    BigInt.asIntN(4, 9n),
    12n.toString(2),
    Number(12n),
    3n > 2,
    caught(() => BigInt(1.5)),
    caught(() => (1n as never as number) + 1),
  ],
  unaryOfObjects: (_x, w) => [
    +([] as never),
    -(['2'] as never),
    +(w.words as never),
    +({} as never),
    ([] as unknown as string) + ({} as unknown as string),
    typeof -w.words,
  ],
  increments: (_x, w) => {
    let s = '5' as never as number;
    s++;
    w.n++;
    w.n -= 2;
    return [s, w.n];
  },
};
