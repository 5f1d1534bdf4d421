/**
 * A use of every function of the realm, as text: evaluated with `w`, a `RealmWorld`. A text that begins with `(`
 * is the arguments of a call, an empty one stands for `()`, `.` reads a getter; in any other `$` is the receiver.
 */

import { globalUses } from './global-uses.ts';

export interface Uses {
  /** Receivers that the trace makes, and those that existed before. */
  readonly on: readonly string[];
  readonly uses: Readonly<Record<string, string>>;
}

const same = (text: string, names: string): Record<string, string> =>
  Object.fromEntries(names.split(' ').map((name) => [name, text]));

const on = (receivers: string | readonly string[], ...uses: Record<string, string>[]): Uses => ({
  on: typeof receivers === 'string' ? [receivers] : receivers,
  uses: Object.assign({}, ...uses) as Record<string, string>,
});

const logged = '((v, k) => { w.log.push(k); return v > w.n; })';
const iterated = '(() => { const it = $; return [it.next(), it.next(), it.next()]; })()';

const arrayMethods: Record<string, string> = {
  ...same(logged, 'find findIndex findLast findLastIndex filter some every forEach map'),
  ...same('[...$.NAME()]', 'entries keys values'),
  ...same('', 'pop reverse shift toReversed toString sort toSorted toLocaleString'),
  at: '(w.n)',
  copyWithin: '(0, w.n)',
  fill: '(w.n, 1, 2)',
  includes: '(w.n)',
  indexOf: '(w.n)',
  lastIndexOf: '(w.n)',
  join: '(w.text)',
  reduce: '((a, v) => a + v, w.n)',
  reduceRight: '((a, v) => a - v)',
  slice: '(w.n)',
  with: '(0, w.n)',
  '@@iterator': '[...$]',
};

export const uses: Readonly<Record<string, Uses>> = {
  Object: on('Object', {
    ...same('(w.object)', 'getOwnPropertyDescriptor getOwnPropertyDescriptors'),
    ...same('(w.object)', 'getOwnPropertyNames getOwnPropertySymbols getPrototypeOf isExtensible'),
    ...same('(w.object)', 'isFrozen isSealed keys entries values'),
    ...same('({ a: w.n })', 'preventExtensions seal freeze'),
    assign: '({}, w.object, { a: w.n })',
    getOwnPropertyDescriptor: '(w.object, "a")',
    hasOwn: '(w.object, "c")',
    is: '(w.n, NaN)',
    create: '({ a: w.n })',
    defineProperties: '({}, { a: { value: w.n } })',
    defineProperty: '({}, "a", { value: w.n })',
    setPrototypeOf: '({}, { a: w.n })',
    fromEntries: '([["a", w.n]])',
  }),
  'Object.prototype': on(['{ a: w.n }', 'w.object'], {
    ...same('', 'toString toLocaleString'),
    ...same('("z", () => w.n)', '__defineGetter__ __defineSetter__'),
    ...same('("a")', 'hasOwnProperty __lookupGetter__ __lookupSetter__ propertyIsEnumerable'),
    isPrototypeOf: '({})',
    valueOf: '($).valueOf() === w.object',
  }),
  'Function.prototype': on('((a) => a + w.n)', {
    apply: '(null, [1])',
    bind: '(null, 1)()',
    call: '(null, 1)',
    toString: 'w.key.valueOf.toString()',
    '@@hasInstance': 'Function.prototype[Symbol.hasInstance].call(Map, w.map)',
  }),
  Array: on('Array', {
    isArray: '(w.numbers)',
    from: '(w.numbers, (v) => v * 2)',
    of: '(w.n, 2)',
    '@@species': '$[Symbol.species] === Array',
  }),
  'Array.prototype': on(['[3, w.n, 2]', 'w.numbers'], arrayMethods, {
    concat: '(w.words, w.n)',
    push: '(w.n)',
    unshift: '(w.n)',
    splice: '(1, 1, w.n)',
    toSpliced: '(1, 1, w.n)',
    flat: '',
    flatMap: '((v) => [v, w.n])',
  }),
  TypedArray: on('Float32Array', {
    of: '(w.n, 2)',
    from: '(w.numbers, (v) => v * 2)',
    '@@species': '$[Symbol.species] === Float32Array',
  }),
  'TypedArray.prototype': on(
    ['new Float32Array([3, w.n, 2.5])', 'w.typed'],
    Object.fromEntries(
      Object.entries(arrayMethods).filter(([name]) => !/^(pop|shift)$/.test(name)),
    ),
    same('.', 'byteLength byteOffset length'),
    {
      buffer: '$.buffer.byteLength',
      set: '([w.n], 1)',
      subarray: '(1)',
      '@@toStringTag': '$[Symbol.toStringTag]',
    },
  ),
  Number: on('Number', same('(w.n)', 'isFinite isInteger isNaN isSafeInteger'), {
    parseFloat: '(w.text)',
    parseInt: '("1" + w.n)',
  }),
  'Number.prototype': on(
    ['(w.n / 3)', '(0.1)'],
    same('(2)', 'toExponential toFixed toPrecision toString'),
    same('', 'valueOf toLocaleString'),
  ),
  'Boolean.prototype': on(['true', 'w.flag'], same('', 'toString valueOf')),
  String: on('String', same('(60 + w.n)', 'fromCharCode fromCodePoint'), {
    raw: '({ raw: w.words }, w.n)',
  }),
  'String.prototype': on(
    ['"a-b"', 'w.text'],
    same('', 'big blink bold fixed italics small strike sub sup toString valueOf isWellFormed'),
    same('', 'toWellFormed trim trimStart trimLeft trimEnd trimRight normalize'),
    same('', 'toLocaleLowerCase toLocaleUpperCase toLowerCase toUpperCase'),
    same('(w.n)', 'at charAt charCodeAt codePointAt repeat slice substr substring'),
    same('("b")', 'anchor fontcolor fontsize link concat localeCompare'),
    same('("-")', 'endsWith includes indexOf lastIndexOf startsWith split'),
    same('(6 + w.n)', 'padEnd padStart'),
    same('(w.re)', 'match search'),
    same('(/-/g, (m) => { w.log.push(m); return w.n; })', 'replace replaceAll'),
    { matchAll: '[...$.matchAll(w.re)]', '@@iterator': '[...$]' },
  ),
  Symbol: on('Symbol', { for: '(w.text)', keyFor: '(w.symbol)' }),
  'Symbol.prototype': on(['Symbol.for("s")', 'w.symbol'], same('', 'toString valueOf'), {
    description: '.',
    '@@toPrimitive': '$[Symbol.toPrimitive]("default")',
  }),
  Date: on('Date', { now: '() > 0', parse: '("2020-01-0" + w.n)', UTC: '(2020, w.n)' }),
  'Date.prototype': on(
    ['new Date(1e12 + w.n)', 'w.date'],
    same('', 'toString toDateString toTimeString toISOString toUTCString toGMTString toJSON'),
    same('', 'valueOf getTime getTimezoneOffset getYear toLocaleString toLocaleDateString'),
    same('', 'toLocaleTimeString getDate getDay getFullYear getHours getMilliseconds getMinutes'),
    same('', 'getMonth getSeconds getUTCDate getUTCDay getUTCFullYear getUTCHours'),
    same('', 'getUTCMilliseconds getUTCMinutes getUTCMonth getUTCSeconds'),
    same('(w.n)', 'setDate setHours setMilliseconds setMinutes setMonth setSeconds setTime'),
    same('(w.n)', 'setUTCDate setUTCHours setUTCMilliseconds setUTCMinutes setUTCMonth'),
    same('(2000 + w.n)', 'setUTCSeconds setFullYear setUTCFullYear setYear'),
    { '@@toPrimitive': '"" + $' },
  ),
  Promise: on('Promise', same('([])', 'all allSettled race'), same('(w.n)', 'resolve'), {
    any: '([1])',
    reject: '(w.n).catch(() => {})',
    '@@species': '$[Symbol.species] === Promise',
  }),
  'Promise.prototype': on('Promise.resolve(w.n)', same('(() => {})', 'then catch finally')),
  RegExp: on('RegExp', { escape: '(w.text)', '@@species': '$[Symbol.species] === RegExp' }),
  'RegExp.prototype': on(
    ['/([a-z])-/dgi', 'w.re', 'w.sticky'],
    same('(w.text)', 'exec test compile'),
    same(
      '.',
      'dotAll flags global hasIndices ignoreCase multiline source sticky unicode unicodeSets',
    ),
    same('$[Symbol.NAME](w.text)', '@@match @@search @@split'),
    { toString: '', '@@matchAll': '[...$[Symbol.matchAll](w.text)]' },
    { '@@replace': '$[Symbol.replace](w.text, "$1" + w.n)' },
  ),
  'Error.prototype': on(['new TypeError(w.text)', 'w.error'], { toString: '' }),
  JSON: on('JSON', {
    parse: '(w.json)',
    stringify: '([w.data, w.date, w.n, w.text])',
    rawJSON: '("1")',
    isRawJSON: '(w.object)',
  }),
  Math: on(
    'Math',
    same('(w.n / 3)', 'abs acos acosh asin asinh atan atanh ceil cbrt expm1 clz32 cos cosh exp'),
    same('(w.n / 3)', 'floor fround log log1p log2 log10 round sign sin sinh sqrt tan tanh trunc'),
    same('(w.n / 3)', 'f16round'),
    same('(w.n, 2)', 'atan2 hypot imul max min pow'),
    { random: '() < 1', sumPrecise: '(w.numbers)' },
  ),
  ArrayBuffer: on('ArrayBuffer', {
    isView: '(w.typed)',
    '@@species': '$[Symbol.species] === ArrayBuffer',
  }),
  'ArrayBuffer.prototype': on(
    ['new ArrayBuffer(8)', 'w.buffer'],
    same('.', 'byteLength maxByteLength resizable detached'),
    same('(2)', 'slice resize transfer transferToFixedLength'),
  ),
  DataView: on('DataView', {}),
  'DataView.prototype': on(
    ['new DataView(new ArrayBuffer(8))', 'w.view'],
    same('.', 'byteLength byteOffset'),
    same('(w.n, true)', 'getInt8 getUint8 getInt16 getUint16 getInt32 getUint32 getFloat32'),
    same('(0)', 'getFloat64 getBigInt64 getBigUint64 getFloat16'),
    same('(w.n, 7)', 'setInt8 setUint8 setInt16 setUint16 setInt32 setUint32 setFloat32'),
    { setFloat64: '(0, w.n)', setFloat16: '(0, w.n)', buffer: '$.buffer.byteLength' },
    same('(0, w.big)', 'setBigInt64 setBigUint64'),
  ),
  Map: on('Map', {
    groupBy: '(w.numbers, (v) => v % 2)',
    '@@species': '$[Symbol.species] === Map',
  }),
  'Map.prototype': on(
    ['new Map([["a", w.n]])', 'w.map'],
    same('("a")', 'get has delete'),
    same('[...$.NAME()]', 'entries keys values'),
    { set: '("d", w.n)', clear: '', forEach: logged, size: '.', '@@iterator': '[...$]' },
  ),
  BigInt: on('BigInt', same('(8, w.big)', 'asUintN asIntN')),
  'BigInt.prototype': on(['12n', 'w.big'], same('', 'toLocaleString toString valueOf')),
  Set: on('Set', { '@@species': '$[Symbol.species] === Set' }),
  'Set.prototype': on(
    ['new Set([1, w.n])', 'w.set'],
    same('(w.n)', 'has add delete'),
    same('[...$.NAME()]', 'entries keys values'),
    same('(new Set([w.n, 5]))', 'union intersection difference symmetricDifference'),
    same('(new Set([w.n, 5]))', 'isSubsetOf isSupersetOf isDisjointFrom'),
    { clear: '', forEach: logged, size: '.', '@@iterator': '[...$]' },
  ),
  'WeakMap.prototype': on('w.weakMap', same('(w.key)', 'delete get has'), { set: '(w.key, w.n)' }),
  'WeakSet.prototype': on('w.weakSet', same('(w.key)', 'delete has add')),
  'WeakRef.prototype': on('w.weakRef', { deref: '() === w.key' }),
  Reflect: on('Reflect', {
    apply: '(Math.max, null, [w.n, 0])',
    construct: '(Map, [])',
    defineProperty: '({}, "a", { value: w.n })',
    deleteProperty: '(w.data, "none")',
    get: '(w.object, "a")',
    getOwnPropertyDescriptor: '(w.object, "a")',
    getPrototypeOf: '(w.map) === Map.prototype',
    has: '(w.object, "c")',
    isExtensible: '(w.object)',
    ownKeys: '(w.object)',
    preventExtensions: '({ a: w.n })',
    set: '(w.data, "text", w.n)',
    setPrototypeOf: '({}, null)',
  }),
  URL: on('URL', {
    canParse: '(w.text, "http://h/")',
    parse: '(w.text, "http://h/")',
    createObjectURL: '$.createObjectURL(new Blob([])).length',
    revokeObjectURL: '("blob:x")',
  }),
  'URL.prototype': on(
    ['new URL("../p?q=" + w.n, "https://u:p@h.org:81/a/b#z")', 'w.url'],
    same('.', 'href origin protocol username password host hostname port pathname search hash'),
    same('', 'toString toJSON'),
    { searchParams: '$.searchParams.get("x")' },
  ),
  'URLSearchParams.prototype': on(
    ['new URLSearchParams("x=1&y=" + w.n)', 'w.params'],
    same('("x")', 'delete get getAll has'),
    same('("x", "7")', 'append set'),
    same('[...$.NAME()]', 'entries keys values'),
    { size: '.', sort: '', toString: '', forEach: '((v, k) => { w.log.push(v, k); })' },
    { '@@iterator': '[...$]' },
  ),
  'TextEncoder.prototype': on(['new TextEncoder()', 'w.encoder'], {
    encoding: '.',
    encode: '(w.text)',
    encodeInto: '(w.text, new Uint8Array(9))',
  }),
  'TextDecoder.prototype': on(
    ['new TextDecoder()', 'w.decoder'],
    same('.', 'encoding fatal ignoreBOM'),
    { decode: '(new Uint8Array([65, 65 + w.n]))' },
  ),
  'ArrayIterator.prototype': on('[w.n].values()', { next: iterated }),
  'MapIterator.prototype': on('w.map.keys()', { next: iterated }),
  'SetIterator.prototype': on('w.set.keys()', { next: iterated }),
  'StringIterator.prototype': on('w.text[Symbol.iterator]()', { next: iterated }),
  'RegExpStringIterator.prototype': on('w.text.matchAll(w.re)', { next: iterated }),
  'Iterator.prototype': on(
    'w.numbers.values()',
    same(logged, 'map filter flatMap some every find forEach'),
    same('(w.n)', 'take drop'),
    { reduce: '((a, v) => a + v, w.n)', toArray: '', '@@iterator': '[...$[Symbol.iterator]()]' },
  ),
  'Generator.prototype': on('(function* () { yield w.n; })()', same('()', 'next return'), {
    throw: '(() => { try { $.throw(w.n); } catch (e) { return e; } })()',
  }),
  Intl: on('Intl', {
    getCanonicalLocales: '("EN-us")',
    supportedValuesOf: '("calendar").length',
    ...same('new Intl.NAME("en").resolvedOptions().locale', 'DateTimeFormat NumberFormat Collator'),
    ...same('new Intl.NAME("en").resolvedOptions().locale', 'PluralRules RelativeTimeFormat'),
    ...same('new Intl.NAME("en").resolvedOptions().locale', 'ListFormat Segmenter DurationFormat'),
    DisplayNames: 'new Intl.DisplayNames("en", { type: "region" }).of("US")',
    Locale: 'new Intl.Locale("en-US").language',
  }),
  ...Object.fromEntries(
    ['DateTimeFormat', 'NumberFormat', 'Collator', 'PluralRules', 'RelativeTimeFormat'].map(
      (name) => [`Intl.${name}`, on(`Intl.${name}`, { supportedLocalesOf: '("en")' })] as const,
    ),
  ),
  ...Object.fromEntries(
    ['ListFormat', 'DisplayNames', 'Segmenter'].map(
      (name) => [`Intl.${name}`, on(`Intl.${name}`, { supportedLocalesOf: '("en")' })] as const,
    ),
  ),
  'Intl.DateTimeFormat.prototype': on(
    ['new Intl.DateTimeFormat("en", { timeZone: "UTC" })', 'w.dateFormat'],
    same('(1e12 * w.n)', 'format formatToParts'),
    same('(1e12, 2e12 * w.n)', 'formatRange formatRangeToParts'),
    { resolvedOptions: '().locale' },
  ),
  'Intl.NumberFormat.prototype': on(
    ['new Intl.NumberFormat("en", { style: "percent" })', 'w.numberFormat'],
    same('(w.n / 3)', 'format formatToParts'),
    same('(1, 3 * w.n)', 'formatRange formatRangeToParts'),
    { resolvedOptions: '().locale' },
  ),
  'Intl.Collator.prototype': on(['new Intl.Collator("en")', 'w.collator'], {
    compare: '(w.text, "b")',
    resolvedOptions: '().locale',
  }),
  'Intl.PluralRules.prototype': on('new Intl.PluralRules("en")', {
    select: '(w.n)',
    selectRange: '(0, w.n)',
    resolvedOptions: '().locale',
  }),
  'Intl.RelativeTimeFormat.prototype': on(
    'new Intl.RelativeTimeFormat("en")',
    same('(w.n, "day")', 'format formatToParts'),
    { resolvedOptions: '().locale' },
  ),
  'Intl.ListFormat.prototype': on(
    'new Intl.ListFormat("en")',
    same('(w.words)', 'format formatToParts'),
    { resolvedOptions: '().locale' },
  ),
  'Intl.Locale.prototype': on(
    ['new Intl.Locale("en-US")', 'w.locale'],
    same('', 'toString'),
    same('$.NAME().toString()', 'maximize minimize'),
    same('.', 'language script region baseName calendar caseFirst collation hourCycle numeric'),
    same(
      '.',
      'numberingSystem calendars collations hourCycles numberingSystems textInfo timeZones',
    ),
    same('.', 'weekInfo variants firstDayOfWeek'),
    same('', 'getCalendars getCollations getHourCycles getNumberingSystems getTextInfo'),
    same('', 'getTimeZones getWeekInfo'),
  ),
  'Intl.DisplayNames.prototype': on('new Intl.DisplayNames("en", { type: "region" })', {
    of: '("US")',
    resolvedOptions: '().locale',
  }),
  'Intl.Segmenter.prototype': on('new Intl.Segmenter("en")', {
    segment: '[...$.segment(w.text)].length',
    resolvedOptions: '().locale',
  }),
};

/** The uses of a name, one per receiver; undefined when it has none. */
export function usesOf(name: string): readonly string[] | undefined {
  if (Object.hasOwn(globalUses, name)) return [globalUses[name]!];
  const dot = name.lastIndexOf('.', name.endsWith('.') ? name.length - 2 : undefined);
  const [owner, key] = [name.slice(0, dot), name.slice(dot + 1)];
  const found = uses[owner];
  if (!found || !Object.hasOwn(found.uses, key)) return undefined;
  const use = found.uses[key]!;
  return found.on.map((receiver) => {
    if (use === '') return `(${receiver}).${key}()`;
    if (use === '.') return `(${receiver})[${JSON.stringify(key)}]`;
    if (use.startsWith('(') && !use.includes('$')) return `(${receiver}).${key}${use}`;
    const symbol = key.replace('@@', '');
    return use.replaceAll('NAME', symbol).replace(/\$(?![1{"'&])/g, () => `(${receiver})`);
  });
}
