/* biome-ignore-all lint: what is tested is odd code */
/** Builtins that some of the supported engines lack, in captured code: those of this engine. */

import type { Case, Cases } from '../world.ts';

const has = (holder: unknown, name: string): boolean => name in (holder as object);
const those = (exist: boolean, cases: Cases): Cases => (exist ? cases : {});
const newer: Record<string, any> = { JSON, Promise, RegExp, Error, Math, globalThis };

/** The third parameter of a reviver is undefined, or the source of the value. */
const revived: Case = (_x, w) => {
  const parse = JSON.parse as (text: string, reviver: (...args: any[]) => unknown) => unknown;
  return [
    parse('[1.0,{"a":"x"}]', (k: string, v: unknown, context: any) => {
      w.log.push(k, context?.source);
      return v;
    }),
    parse('[2e0]', (...args) => {
      w.log.push(args.length);
      return args[1];
    }),
    parse('[3]', function () {
      w.log.push(arguments.length);
      return arguments[1];
    }),
    parse('{"a":[4]}', (_k, v) => (typeof v === 'number' ? v + w.n : v)),
  ];
};

export const cases: Cases = {
  revived,
  ...those(has(JSON, 'rawJSON'), {
    raw: (_x, w) => [
      JSON.stringify({ a: newer.JSON.rawJSON('1e1000'), b: [newer.JSON.rawJSON('"q"')] }),
      newer.JSON.isRawJSON(w.object),
    ],
  }),
  ...those(has(Promise, 'withResolvers'), {
    resolvers: (_x, w) => {
      const { promise, resolve } = newer.Promise.withResolvers();
      resolve(w.n);
      return Object.prototype.toString.call(promise);
    },
  }),
  ...those(has(Promise, 'try'), {
    tried: (_x, w) => Object.prototype.toString.call(newer.Promise.try(() => w.n)),
  }),
  ...those(has(Error, 'isError'), {
    isError: (_x, w) => [newer.Error.isError(new TypeError('t')), newer.Error.isError(w.object)],
  }),
  ...those(has(RegExp, 'escape'), { escaped: (_x, w) => newer.RegExp.escape(w.text) }),
  ...those(has(Math, 'f16round'), {
    halves: (_x, w) => [
      newer.Math.f16round(1.337 + w.n),
      [...new newer.globalThis.Float16Array([w.n, 0.1])],
    ],
  }),
  ...those(has(ArrayBuffer.prototype, 'transfer'), {
    transferred: (_x, w) => {
      const buffer = new ArrayBuffer(4) as any;
      new Uint8Array(buffer)[0] = w.n;
      const next = buffer.transfer(8);
      return [buffer.detached, next.byteLength, new Uint8Array(next)[0]];
    },
  }),
  ...those(has(globalThis, 'DisposableStack'), {
    stack: (_x, w) => {
      const stack = new newer.globalThis.DisposableStack();
      stack.defer(() => w.log.push('deferred'));
      stack.use({ [Symbol.dispose]: () => w.log.push('disposed') });
      stack.dispose();
      return stack.disposed;
    },
    suppressed: (_x, w) => {
      try {
        const error = new newer.globalThis.SuppressedError(new Error('a'), new Error('b'), 'c');
        throw error;
      } catch (error: any) {
        return [error.name, error.message, error.error.message, error.suppressed.message, w.n];
      }
    },
  }),
};
