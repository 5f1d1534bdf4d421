/* biome-ignore-all lint: what is tested is odd code */
/** Strings and regular expressions, in captured code. */

import { type Cases, caught } from '../world.ts';

const outerRegExp = /-/;

export const strings: Cases = {
  basics: (_x, w) => [
    w.text.length,
    w.text[0],
    w.text.at(-1),
    w.text.charAt(1),
    w.text.charCodeAt(0),
    w.text.codePointAt(1),
    w.text.slice(1, -1),
    w.text.substring(2),
    w.text.substr(1, 2),
  ],
  search: (_x, w) => [
    w.text.indexOf('-'),
    w.text.lastIndexOf('-'),
    w.text.includes('b'),
    w.text.startsWith('a'),
    w.text.endsWith('d'),
    w.text.search(/[A-Z]/),
    w.text.localeCompare('b'),
  ],
  shape: (_x, w) => [
    w.text.toUpperCase(),
    w.text.toLowerCase(),
    ` ${w.text} `.trim(),
    w.text.padStart(8, '*'),
    w.text.padEnd(8),
    w.text.repeat(w.n),
    w.text.normalize(),
    w.text.concat('x', 'y'),
    w.text.trimEnd(),
    w.text.trimStart(),
  ],
  split: (_x, w) => [
    w.text.split('-'),
    w.text.split(''),
    w.text.split(/-/),
    w.text.split('-', 1),
    [...w.text],
  ],
  replace: (_x, w) => [
    w.text.replace('-', '+'),
    w.text.replaceAll('-', '+'),
    w.text.replace(/-/g, '+'),
    w.text.replace(/(\w)-/, '$1:'),
    w.text.replaceAll(/-/g, '_'),
  ],
  replaceCallback: (_x, w) => [
    w.text.replace('-', (m) => m + m),
    w.text.replace(/[a-z]/g, (m, i) => {
      w.log.push(i);
      return m.toUpperCase();
    }),
  ],
  match: (_x, w) => [
    w.text.match(/[a-z]/g),
    w.text.match(/zz/),
    [...w.text.matchAll(/[a-z]/g)].length,
  ],
  matchGroups: (_x, w) => {
    const m = w.text.match(/(?<first>\w)-/);
    return [m?.[0], m?.[1], m?.index, m?.groups?.first];
  },
  regexpMethods: (_x, w) => [
    /-/.test(w.text),
    /(\w)-/.exec(w.text)?.[1],
    /a/gi.flags,
    /a/.source,
    /a/g.global,
    String(/a/),
  ],
  regexpSticky: (_x, w) => {
    const r = /\w/g;
    const out: unknown[] = [];
    for (let m = r.exec(w.text); m; m = r.exec(w.text)) out.push(m[0], r.lastIndex);
    return out;
  },
  regexpOuter: (_x, w) => [
    outerRegExp.test(w.text),
    w.text.replace(outerRegExp, '#'),
    w.text.split(outerRegExp),
  ],
  fromCode: () => [
    String.fromCharCode(65, 66),
    String.fromCodePoint(128512),
    'a' < 'b',
    [...'a😀b'].length,
  ],
  iterator: (_x, w) => {
    const it = w.text[Symbol.iterator]();
    return [it.next(), it.next(), [...it]];
  },
  conversions: (_x, w) => [
    String(w.n),
    String(null),
    String(undefined),
    String(true),
    `${w.n}`,
    w.n + '',
    String([1, [2]]),
    String({}),
    `${{ toString: () => 'q' }}`,
  ],
  userToString: (_x, w) => {
    const o = {
      toString() {
        w.log.push('ts');
        return 't';
      },
    };
    return [`${o}`, o + '', String(o)];
  },
  userToPrimitive: (_x, w) => {
    const o = {
      [Symbol.toPrimitive](hint: string) {
        w.log.push(hint);
        return 3;
      },
    };
    return [+(o as never), `${o}`, (o as never as number) * 2];
  },
  userValueOf: (_x, w) => {
    const o = {
      valueOf() {
        w.log.push('v');
        return 5;
      },
    };
    return [(o as never as number) + 1, (o as never as number) < 6, (o as never) == 5];
  },
  numberFormat: (_x, w) => [
    w.n.toFixed(2),
    (255).toString(16),
    (1e21).toLocaleString('en'),
    w.n.toLocaleString(),
    (0.1).toPrecision(3),
    (12).toExponential(),
  ],
  compare: (_x, w) => [
    w.text < 'b',
    w.text === 'a-b-Cd',
    w.words.includes('b'),
    w.words.indexOf('b'),
  ],
  intl: (_x, w) => new Intl.NumberFormat('en').format(w.n),
  encode: (_x, w) => [
    encodeURIComponent(w.text),
    decodeURIComponent('%20'),
    encodeURI('a b'),
    escape('a b'),
  ],
  newString: () => [new String('a').length, typeof new String('a'), Object('a') instanceof String],
  throwing: (_x, w) => [caught(() => w.text.repeat(-1)), caught(() => 'a'.normalize('x' as never))],
};
