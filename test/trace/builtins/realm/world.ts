/** What uses of the realm's functions are run on: objects that exist before the call. */

export interface RealmWorld {
  n: number;
  text: string;
  flag: boolean;
  json: string;
  big: bigint;
  readonly numbers: number[];
  readonly words: string[];
  readonly object: Record<string, unknown>;
  readonly data: Record<string, unknown>;
  readonly map: Map<string, number>;
  readonly set: Set<number>;
  readonly key: object;
  readonly weakMap: WeakMap<object, number>;
  readonly weakSet: WeakSet<object>;
  readonly weakRef: WeakRef<object>;
  readonly typed: Float32Array;
  readonly bigs: BigInt64Array;
  readonly buffer: ArrayBuffer;
  readonly view: DataView;
  readonly date: Date;
  readonly re: RegExp;
  readonly sticky: RegExp;
  readonly error: Error;
  readonly symbol: symbol;
  readonly url: URL;
  readonly params: URLSearchParams;
  readonly encoder: TextEncoder;
  readonly decoder: TextDecoder;
  readonly numberFormat: Intl.NumberFormat;
  readonly dateFormat: Intl.DateTimeFormat;
  readonly collator: Intl.Collator;
  readonly locale: Intl.Locale;
  readonly log: unknown[];
}

export function realmWorld(): RealmWorld {
  const key = { k: 1 };
  const buffer = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]).buffer;
  return {
    n: 1,
    text: 'a-b-c',
    flag: false,
    json: '{"a":[1,{"b":null}]}',
    big: 5n,
    numbers: [3, 1, 2],
    words: ['b', 'a'],
    object: { a: 1, b: 2 },
    data: { list: [1, 2, { deep: 'x' }], text: 't', none: null },
    map: new Map([
      ['a', 1],
      ['b', 2],
    ]),
    set: new Set([1, 2]),
    key,
    weakMap: new WeakMap([[key, 1]]),
    weakSet: new WeakSet([key]),
    weakRef: new WeakRef(key),
    typed: new Float32Array([3, -1, 2.5]),
    bigs: new BigInt64Array([3n, 1n]),
    buffer,
    view: new DataView(buffer),
    date: new Date(1_000_000_000_123),
    re: /(?<letter>[a-z])-/g,
    sticky: /a/y,
    error: new RangeError('far'),
    symbol: Symbol.for('mark'),
    url: new URL('https://me:pw@host.org:8080/a/b?x=1&y=2#h'),
    params: new URLSearchParams('x=1&y=2&x=3'),
    encoder: new TextEncoder(),
    decoder: new TextDecoder(),
    numberFormat: new Intl.NumberFormat('en', { maximumFractionDigits: 2 }),
    dateFormat: new Intl.DateTimeFormat('en', { timeZone: 'UTC' }),
    collator: new Intl.Collator('en'),
    locale: new Intl.Locale('en-Latn-US'),
    log: [],
  };
}

/** Other values in the same objects. */
export function changeWorld(w: RealmWorld): void {
  w.n = 2;
  w.text = 'q-a-zz';
  w.flag = true;
  w.json = '[7]';
  w.big = -9n;
  w.numbers.splice(0, w.numbers.length, 9, 8, 7, 6);
  w.words.push('c');
  w.object.c = 3;
  w.data.text = 'u';
  w.map.set('c', 3);
  w.set.add(7);
  w.typed[0] = 8;
  w.bigs[1] = 11n;
  // What was called may have transferred the bytes.
  if (w.view.buffer.byteLength > 0) w.view.setUint8(0, 200);
  w.date.setTime(86_400_000);
  w.re.lastIndex = 0;
  w.sticky.lastIndex = 0;
  w.url.hash = '#i';
  w.params.append('z', '9');
}
