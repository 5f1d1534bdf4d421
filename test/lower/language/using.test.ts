import { sameAsNative, sameByBytecode } from './differential.ts';

/** A resource that notes when it is disposed of, and may throw then. */
const resource = `
  const open = (name, fails) => { log('open', name); return { name, [Symbol.dispose]() { log('close', this.name); if (fails) throw new Error('closing ' + name); } }; };
  const told = (e) => e.name === 'SuppressedError' ? [e.name, e.message, told(e.error), told(e.suppressed)] : e instanceof Error ? [e.name, e.name === 'TypeError' ? '' : e.message] : e;`;

sameAsNative(
  'using',
  {
    'last in, first out': `${resource}
      { using a = open('a'); using b = open('b'), c = open('c'); log('body', a.name, b.name, c.name); } log('behind');`,
    'every exit': `${resource}
      const run = (how) => { l: for (let i = 0; i < 2; i++) { using a = open('a' + i); try { using b = open('b'); if (how === 'return') return log('value', 'r'); if (how === 'break') break l; if (how === 'continue') continue; if (how === 'throw') throw 't'; } catch (e) { log('caught', e); } finally { log('finally'); } log('end', i); } return 'over'; };
      for (const how of ['none', 'return', 'break', 'continue', 'throw']) log(how, run(how));`,
    'errors of disposing': `${resource}
      for (const body of [false, true]) for (const first of [false, true]) for (const second of [false, true]) try {
        using a = open('a', first); using b = open('b', second); if (body) throw new Error('body'); log('done');
      } catch (e) { log(body, first, second, told(e)); }`,
    'an error of disposing replaces a return': `${resource}
      const f = () => { using a = open('a', true); return 1; }; try { return f(); } catch (e) { return told(e); }`,
    'null, undefined and what has no method': `${resource}
      { using a = null, b = undefined; log(a, b); }
      for (const value of [1, 'text', true, Symbol.iterator, {}, { [Symbol.dispose]: 3 }, () => 1]) try { using a = open('a'); using b = value; log('never'); } catch (e) { log(told(e)); }`,
    'an error in a later value': `${resource}
      const fail = () => { throw new Error('open'); }; try { using a = open('a'), b = fail(), c = open('c'); } catch (e) { log(told(e)); }`,
    'the method is looked up once, before the body': `${resource}
      { using a = watch('a', open('a')); a[Symbol.dispose] = () => log('replaced'); log('body'); }`,
    'elements of a loop': `${resource}
      for (using x of [open('x'), null, open('y')]) { log('body', x?.name); if (x?.name === 'y') break; }
      for (using x of spy('s', [open('p'), open('q', true), open('r')])) log(x.name);`,
    'elements that are no resources close the iterator': `${resource}
      try { for (using x of spy('s', [open('x'), 1, 2])) log(x.name); } catch (e) { log(told(e)); }`,
    'closures keep their variable': `${resource}
      const fs = []; for (using x of [open('x'), open('y')]) fs.push(() => x.name); { using z = open('z'); fs.push(() => z.name); } return fs.map((f) => f());`,
    'shadowing, early uses and constants': `${resource}
      const a = 1; { try { log(a); using a = open('a'); } catch (e) { log(e.name); } } { using a = open('b'); { using a = open('c'); log(a.name); } log(a.name); } return a;`,
    'switches, labels and functions': `${resource}
      function f(x) { using a = open(x); switch (x) { case 'q': { using b = open('b'); return g(); } default: return 'd'; } function g() { return a.name; } }
      k: { using a = open('k'); if (a) break k; log('never'); } return [f('q'), f('r')];`,
    generators: `${resource}
      function* g() { using a = open('a'); const x = yield 1; using b = open('b'); try { yield x; } finally { log('finally'); } return 3; }
      const it = g(); const all = [it.next(), it.next(5), it.next()]; const early = g(); all.push(early.next(), early.return('r'), early.next());
      const thrown = g(); thrown.next(); try { thrown.throw(new Error('t')); } catch (e) { log(told(e)); } return all;`,
    'names of anonymous functions': `
      const f = () => { using a = Object.assign(function () {}, { [Symbol.dispose]() { log('close', this.name); } }); return a.name; }; log(f());`,
  },
  { isNew: true },
);

sameAsNative(
  'using in async functions',
  {
    'across waiting': `${resource}
      using a = open('a'); await turn(1); { using b = open('b'); log(await Promise.resolve(2)); } for await (using x of [open('x'), open('y')]) { log(x.name); await null; } return 'r';`,
    'with errors': `${resource}
      try { using a = open('a', true); await Promise.reject(new Error('body')); } catch (e) { log(told(e)); }`,
  },
  { isNew: true, async: true },
);

const counter = "i = { n: 0, [Symbol.dispose]() { log('i', this.n); } }";
const rounds =
  "i.n < 3; i.n++) { if (i.n === 1) continue l; if (i.n === 2) break l; log('round', i.n, a.name); }";
sameByBytecode(
  'using in the head of a loop is using around the loop',
  `${resource} l: for (using a = open('a'), ${counter}; ${rounds} log('behind');`,
  `${resource} { using a = open('a'), ${counter}; l: for (; ${rounds} } log('behind');`,
);
