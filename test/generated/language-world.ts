/** What surrounds every program; `log` is given. */
const environment = `
  const t = (x) => { if (log.length < 120) log.push(typeof x === 'function' ? 'f' : x); return x; };
  const kind = (error) => error instanceof Error ? error.constructor.name : error;
  const it = (n) => ({
    [Symbol.iterator]() {
      t('open');
      let i = 0;
      return {
        next() { t('next'); return i < n ? { value: i++, done: false } : { value: 'end', done: true }; },
        return(value) { t('return'); return { value, done: true }; },
      };
    },
  });
  const drive = (g, values) => {
    const seen = [];
    try {
      seen.push(g.next().value);
      for (const value of values) seen.push(g.next(value));
      seen.push(g.throw(new RangeError('thrown in')));
      seen.push(g.return('returned'));
    } catch (error) { seen.push(kind(error)); }
    return t(seen.length);
  };
  const bad = (way) => ({
    [Symbol.iterator]: () => ({
      get next() { t('get next'); let i = 0; return () => { if (way === 1 && i) throw t('bad next'); return way === 2 && i ? 5 : { get done() { t('done'); return i++ > 1; }, get value() { t('value'); if (way === 3) throw t('bad value'); return i; } }; }; },
      get return() { t('get return'); if (way === 4) return undefined; return () => { t('bad return'); if (way === 5) throw 'R'; return way === 6 ? 1 : { get done() { t('r done'); return true; }, value: 'r' }; }; },
      get throw() { t('get throw'); if (way === 0) return undefined; return (x) => { if (way === 1) throw x; return { done: way > 3, value: x }; }; },
    }),
  });
  const steps = (g, ways) => {
    const seen = [];
    for (const way of ways) {
      try { const { value, done } = g[way](t(way)); seen.push(typeof value === 'function' ? 'f' : value, done); } catch (error) { seen.push(kind(error)); }
    }
    return t(seen.length);
  };
  const prim = (x, y) => ({ [Symbol.toPrimitive](hint) { t(hint); if (y) throw new RangeError('prim'); return x; } });
  const called = (x) => { t(x.name); t(x.length); return x; };
  const f = (...all) => t(all.length);
  const tag = (strings, ...values) => t(strings.raw.join('|') + values.length);
  const boom = (x) => { if (t(x)) throw new RangeError('boom'); return x; };
  const later = async (x) => { await null; t('later'); await null; return x; };
  const handled = (promise) => { promise.catch(() => {}); return promise; };
  const fails = (x) => handled((async () => { await null; if (x) throw new RangeError('late'); return x; })());
  const drain = async (g, way) => {
    try {
      t((await g.next(1)).done);
      t((await (way ? g.return(later(2)) : g.throw(new RangeError('in')))).done);
      for await (const x of g) t(x);
    } catch (error) { t(kind(error)); }
  };
  const watch = (object) => new Proxy(object, new Proxy({}, { get: (_, trap) => (...args) => {
    t(trap + (typeof args[1] === 'string' ? args[1] : ''));
    return Reflect[trap](...args);
  } }));
  class Base { constructor(x) { this.value = x; } }
  const o = () => ({ get p() { return t('p'); }, set p(v) { t(typeof v); }, q: 2, 1: (x) => t(x), m(x) { return t(x); } });
  const w = () => watch({ p: 1, n: null, a: [1, 2], q: { r: 1 } });
  const calls = [() => [1, 2, 3, [4, 5], o(), w()], () => [0, 'x', null, [], o(), w()]];`;

/** The names that programs use. */
export const surroundings = [
  't',
  'kind',
  'it',
  'drive',
  'bad',
  'steps',
  'prim',
  'called',
  'f',
  'tag',
  'boom',
  'later',
  'fails',
  'drain',
  'Base',
] as const;

/** A world that no program has touched: its names, its log, and the argument lists that a program is called with. */
export const makeWorld = new Function(
  `"use strict"; const log = []; ${environment} return { names: { ${surroundings} }, log, calls };`,
) as () => {
  readonly names: Readonly<Record<string, unknown>>;
  readonly log: readonly unknown[];
  readonly calls: readonly (() => unknown[])[];
};
