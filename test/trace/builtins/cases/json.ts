/* biome-ignore-all lint: what is tested is odd code */
/** JSON, in captured code. */

import { type Cases, caught, Point } from '../world.ts';

export const json: Cases = {
  stringify: (_x, w) => [
    JSON.stringify(w.object),
    JSON.stringify([1, 'a', null, undefined, NaN]),
    JSON.stringify({ a: undefined, b: { c: [w.n] } }),
    JSON.stringify('q"'),
    JSON.stringify(undefined),
    JSON.stringify(w.n),
    JSON.stringify(null),
  ],
  stringifyShape: (x) => JSON.stringify({ shape: x.shape, dtype: x.dtype }),
  stringifyIndent: (_x, w) => [
    JSON.stringify(w.nested, null, 2),
    JSON.stringify({ a: [w.n] }, undefined, '\t'),
  ],
  stringifyKeys: (_x, w) => JSON.stringify(w.object, ['a']),
  stringifyReplacer: (_x, w) =>
    JSON.stringify({ a: w.n, b: 2 }, (k, v) => {
      w.log.push(k);
      return typeof v === 'number' ? v + 1 : (v as unknown);
    }),
  stringifyToJSON: (_x, w) =>
    JSON.stringify({
      a: {
        toJSON() {
          w.log.push('j');
          return w.n;
        },
      },
    }),
  stringifyDate: () => JSON.stringify(new Date(0)),
  stringifyGetter: (_x, w) => JSON.stringify(w.accessor),
  stringifyInstance: (_x, w) => [
    JSON.stringify(w.point),
    JSON.stringify(new Point(w.n)),
    JSON.stringify(w.map),
    JSON.stringify(w.stack),
  ],
  stringifyCycle: (_x, w) =>
    caught(() => {
      const o: Record<string, unknown> = { n: w.n };
      o.o = o;
      return JSON.stringify(o).length;
    }) instanceof Array,
  stringifyBigInt: () => caught(() => JSON.stringify(1n)),
  parse: (_x, w) => [
    JSON.parse('{"a":[1,2]}'),
    JSON.parse(w.json),
    JSON.parse('null'),
    caught(() => JSON.parse('{') as unknown),
  ],
  parseReviver: (_x, w) =>
    JSON.parse(w.json, (k, v: unknown) => {
      w.log.push(k);
      return v;
    }),
  clone: (_x, w) => JSON.parse(JSON.stringify(w.nested)),
};
