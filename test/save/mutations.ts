/** Files of `save` taken apart, and structural changes to the JSON in them. */

import fc from 'fast-check';
import { crc32 } from '../../runtime/save/file/crc32.ts';

export interface FileParts {
  readonly header: object;
  readonly data: Uint8Array;
}

export function partsOf(file: Uint8Array): FileParts {
  const begin = 24 + Number(new DataView(file.buffer, file.byteOffset).getBigUint64(16, true));
  const header = JSON.parse(new TextDecoder().decode(file.subarray(24, begin))) as object;
  return { header, data: file.subarray(begin) };
}

/** A file with this text as its header, and a checksum that fits. */
export function fileOf(header: string, data: Uint8Array): Uint8Array {
  const text = new TextEncoder().encode(header);
  const begin = Math.ceil((24 + text.length) / 64) * 64;
  const bytes = new Uint8Array(begin + data.length).fill(0x20, 24, begin);
  bytes.set(new TextEncoder().encode('tostatic'));
  bytes.set(text, 24);
  bytes.set(data, begin);
  const view = new DataView(bytes.buffer);
  view.setUint32(8, 2, true);
  view.setBigUint64(16, BigInt(begin - 24), true);
  return summed(bytes);
}

/** The bytes with a checksum that fits them. */
export function summed(bytes: Uint8Array): Uint8Array {
  new DataView(bytes.buffer).setUint32(12, crc32(bytes.subarray(16)), true);
  return bytes;
}

interface Spot {
  readonly holder: unknown[] | Record<string, unknown>;
  readonly key: string;
}

/** Every place in a document, in order. */
function* spotsIn(value: unknown): Generator<Spot> {
  if (typeof value !== 'object' || value === null) return;
  for (const key of Object.keys(value)) {
    yield { holder: value as Spot['holder'], key };
    yield* spotsIn(Reflect.get(value, key));
  }
}

export function countSpots(document: object): number {
  return [...spotsIn(document)].length;
}

/** What a node may become: every type of JSON, numbers at the limits, and words that mean something in a file. */
const others: readonly unknown[] = [
  ...[null, true, false, -1, 0, 1, 2, 0.5, 64, 2 ** 31, 2 ** 53, 1e300, '', 'x', '__proto__'],
  ...['cond', 'while', 'matmul', 'float64', 'number', 'push', 'constructor', '*', '%'],
  ...[[], {}, [[]], [0], [0, 0], [-1], ['x'], ['state', 0], ['argument', 0], ['argument', 1, 'x']],
  ...[{ size: 9 }, ['/', 1, 0], { number: 'NaN' }, { undefined: true }, { bigint: '12' }],
  ...[{ place: ['argument', 0, '__proto__'] }, { place: ['argument', 0] }, { constant: 'x' }],
  ...[{ scalar: 0, type: 'number' }, { output: 0 }, { made: 0 }, { tensor: 0 }, { list: [] }],
];

/** One change, in place. `where` and `which` choose; the same numbers choose the same again. */
export interface Mutation {
  readonly kind: 'delete' | 'duplicate' | 'retype' | 'nudge' | 'swap' | 'graft';
  readonly where: number;
  readonly which: number;
}

/** Chooses among `spots` places. */
export function mutationOf(spots: number): fc.Arbitrary<Mutation> {
  return fc.record({
    kind: fc.constantFrom('delete', 'duplicate', 'retype', 'retype', 'nudge', 'swap', 'graft'),
    where: fc.nat(spots - 1),
    which: fc.nat(spots - 1),
  });
}

/** A changed copy of the document. */
export function mutate(document: object, { kind, where, which }: Mutation): object {
  const copy = structuredClone(document);
  const spots = [...spotsIn(copy)];
  const { holder, key } = spots[where]!;
  const value: unknown = Reflect.get(holder, key);
  const put = (to: Spot, item: unknown) => Reflect.set(to.holder, to.key, item);
  switch (kind) {
    case 'delete':
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete holder[key];
      break;
    case 'duplicate':
      if (Array.isArray(holder)) holder.splice(Number(key), 0, structuredClone(value));
      else {
        const keys = Object.keys(holder);
        holder[keys[which % keys.length]!] = structuredClone(value);
      }
      break;
    case 'retype':
      put(spots[where]!, structuredClone(others[which % others.length]));
      break;
    case 'nudge':
      put(spots[where]!, typeof value === 'number' ? value + ((which % 5) - 2) : [value]);
      break;
    case 'swap': {
      const other: unknown = Reflect.get(spots[which]!.holder, spots[which]!.key);
      put(spots[where]!, structuredClone(other));
      put(spots[which]!, structuredClone(value));
      break;
    }
    case 'graft': {
      // A part of the same name from elsewhere: it has the right form and the wrong place.
      const alike = spots.filter((spot) => spot.key === key);
      const other = alike[which % alike.length]!;
      put(spots[where]!, structuredClone(Reflect.get(other.holder, other.key)));
      break;
    }
  }
  return copy;
}
