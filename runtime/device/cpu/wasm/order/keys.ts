import type { DType } from '../../../../spec/dtype.ts';
import { type Code, copyMemory, i32, i32x4, load, op, shuffle, store } from '../assembler/code.ts';
import { type FunctionBuilder, get, type Local } from '../assembler/function-builder.ts';

/** The dtypes that have their own keys. */
export type SortedDType = 'float32' | 'float64' | 'int32' | 'uint8';

/**
 * Keys of elements: one or two words whose unsigned order is that of the elements. NaN is the largest, and −0 equals 0.
 */
export interface KeyFormat {
  /** The binary logarithm of an element's bytes. */
  readonly shift: number;
  /** Words of a key. */
  readonly words: 1 | 2;
  /** Reads the bits of four elements, lowest word first. */
  readonly read: (f: FunctionBuilder, from: Local) => readonly Code[];
  /** Converts bits to words in unsigned order, lowest word first. */
  readonly keys: (f: FunctionBuilder, bits: readonly Local[]) => readonly Code[];
  readonly move: (to: Code, from: Code) => Code;
}

const signBit = -0x80000000;
const xor = (a: Code, b: Code): Code => op('v128.xor', a, b);
const or = (a: Code, b: Code): Code => op('v128.or', a, b);
const and = (a: Code, b: Code): Code => op('v128.and', a, b);

/** The sign word of −0 becomes that of 0. */
const withoutNegativeZero = (f: FunctionBuilder, bits: Local, isNegativeZero: Code): Local =>
  f.local('v128', xor(get(bits), and(isNegativeZero, f.constant(i32x4(signBit)))));

/** All ones in lanes of negative numbers. */
const signs = (bits: Local): Code => op('i32x4.shr_s', get(bits), i32(31));

const moveWord = (to: Code, from: Code): Code => store('i32.store', to, load('i32.load', from));

export const keyFormats: { readonly [D in SortedDType]: KeyFormat } = {
  float32: {
    shift: 2,
    words: 1,
    read: (_f, from) => [load('v128.load', get(from))],
    keys: (f, [bits]) => {
      const sign = f.constant(i32x4(signBit));
      const magnitude = and(get(bits!), f.constant(i32x4(0x7fffffff)));
      const isMissing = op('i32x4.gt_s', magnitude, f.constant(i32x4(0x7f800000)));
      const normalized = withoutNegativeZero(f, bits!, op('i32x4.eq', get(bits!), sign));
      return [or(xor(get(normalized), or(signs(normalized), sign)), isMissing)];
    },
    move: moveWord,
  },
  float64: {
    shift: 3,
    words: 2,
    read: (f, from) => {
      const [low, high] = [0, 16].map((at) =>
        f.local('v128', load('v128.load', get(from), at)),
      ) as [Local, Local];
      return [
        shuffle(get(low), get(high), [0, 2, 4, 6]),
        shuffle(get(low), get(high), [1, 3, 5, 7]),
      ];
    },
    keys: (f, [low, high]) => {
      const [sign, infinite] = [f.constant(i32x4(signBit)), f.constant(i32x4(0x7ff00000))];
      const none = f.constant(i32x4(0));
      const magnitude = f.local('v128', and(get(high!), f.constant(i32x4(0x7fffffff))));
      const isTail = and(op('i32x4.eq', get(magnitude), infinite), op('i32x4.ne', get(low!), none));
      const isMissing = f.local('v128', or(op('i32x4.gt_s', get(magnitude), infinite), isTail));
      const isZero = and(op('i32x4.eq', get(high!), sign), op('i32x4.eq', get(low!), none));
      const own = withoutNegativeZero(f, high!, isZero);
      return [
        or(xor(get(low!), signs(own)), get(isMissing)),
        or(xor(get(own), or(signs(own), sign)), get(isMissing)),
      ];
    },
    move: (to, from) => store('f64.store', to, load('f64.load', from)),
  },
  int32: {
    shift: 2,
    words: 1,
    read: (_f, from) => [load('v128.load', get(from))],
    keys: (f, [bits]) => [xor(get(bits!), f.constant(i32x4(signBit)))],
    move: moveWord,
  },
  uint8: {
    shift: 0,
    words: 1,
    read: (_f, from) => {
      const bytes = load('v128.load32_zero', get(from));
      return [op('i32x4.extend_low_i16x8_u', op('i16x8.extend_low_i8x16_u', bytes))];
    },
    keys: (_f, [bits]) => [get(bits!)],
    move: (to, from) => store('i32.store8', to, load('i32.load8_u', from)),
  },
};

export const sortedAs = (dtype: DType): SortedDType =>
  dtype === 'bool' ? 'uint8' : (dtype as SortedDType);

interface KeyedRow {
  /** The address of the first element. */
  readonly elements: Local;
  /** The bytes from one element to the next. */
  readonly apart: Code;
  readonly size: Local;
  /** All ones for descending order, otherwise 0. */
  readonly flip: Local;
  /** The address of each word's list. */
  readonly words: readonly Local[];
  /** The address of unused memory for the elements, and for vectors past the last one. */
  readonly unused: Local;
}

/** Writes the keys of a row, followed by four of the largest possible keys. */
export function writeKeys(f: FunctionBuilder, format: KeyFormat, row: KeyedRow): void {
  const { shift, read, keys } = format;
  const { size, words } = row;
  gather(f, format, row);
  const flip = f.local('v128', op('i32x4.splat', get(row.flip)));
  const from = f.local('i32', get(row.unused));
  const to = words.map((word) => f.local('i32', get(word)));
  const left = f.local('i32', op('i32.add', get(size), i32(3)));
  f.countDown(left, 4, () => {
    const bits = read(f, from).map((word) => f.local('v128', word));
    keys(f, bits).forEach((word, i) => {
      f.emit(store('v128.store', get(to[i]!), xor(word, get(flip))));
      f.add(to[i]!, 16);
    });
    f.add(from, 4 << shift);
  });
  for (const word of words) {
    const end = op('i32.add', get(word), op('i32.shl', get(size), i32(2)));
    f.emit(store('v128.store', end, i32x4(-1)));
  }
}

/** Copies the elements next to each other. */
function gather(f: FunctionBuilder, { shift, move }: KeyFormat, row: KeyedRow): void {
  const to = f.local('i32', get(row.unused));
  const from = f.local('i32', get(row.elements));
  const left = f.local('i32', get(row.size));
  f.if(
    op('i32.eq', row.apart, i32(1 << shift)),
    () => f.emit(copyMemory(get(to), get(from), op('i32.shl', get(left), i32(shift)))),
    () => {
      f.countDown(left, 1, () => {
        f.emit(move(get(to), get(from)));
        f.add(to, 1 << shift);
        f.add(from, row.apart);
      });
    },
  );
}
