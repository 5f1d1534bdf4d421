import { type Code, i32, i32x4, lane, load, op, shuffle, store } from '../assembler/code.ts';
import { type FunctionBuilder, get, type Local } from '../assembler/function-builder.ts';

interface Ranked {
  /** The addresses of the words' lists, evenly spaced; each list ends with four of the largest possible keys. */
  readonly words: readonly Local[];
  /** The address of the results, with room for a vector. */
  readonly ranks: Local;
  /** The end of the first word's list. */
  readonly end: Local;
}

/** a < b, as lanes of all ones. */
function less(a: readonly Code[], b: readonly Code[]): Code {
  const low = op('i32x4.lt_u', a[0]!, b[0]!);
  if (a.length === 1) return low;
  const isSame = op('i32x4.eq', a[1]!, b[1]!);
  return op('v128.or', op('i32x4.lt_u', a[1]!, b[1]!), op('v128.and', isSame, low));
}

const four = [0, 1, 2, 3];

/**
 * Writes for each key how many keys precede it; equal keys are ordered by position. Compares each key with all others,
 * four at a time, so that no branch depends on the keys.
 */
export function writeRanks(f: FunctionBuilder, { words, ranks, end }: Ranked): void {
  const wordLocals = words.map(() => f.local('v128'));
  const keys = wordLocals.map(get);
  const rank = f.local('v128');
  const at = f.local('i32', get(words[0]!));
  const other = f.local('i32');
  const to = f.local('i32', get(ranks));
  const apart = f.local('i32', op('i32.sub', get(words.at(-1)!), get(words[0]!)));
  const address = (word: number, first: Local): Code =>
    word === 0 ? get(first) : op('i32.add', get(first), get(apart));
  const upTo = (last: Local, body: (keys: readonly Code[]) => void): void =>
    f.while(op('i32.lt_u', get(other), get(last)), () => {
      for (const k of four) {
        body(words.map((_, i) => load('v128.load32_splat', address(i, other), k * 4)));
      }
      f.add(other, 16);
    });
  f.while(op('i32.lt_u', get(at), get(end)), () => {
    wordLocals.forEach((local, i) => {
      f.set(local, load('v128.load', address(i, at)));
    });
    const position = op('i32.shr_u', op('i32.sub', get(at), get(words[0]!)), i32(2));
    f.set(rank, op('i32x4.splat', position));
    f.set(other, get(words[0]!));
    upTo(at, (earlier) => f.set(rank, op('i32x4.add', get(rank), less(keys, earlier))));
    for (const k of four) {
      const same = wordLocals.map((local) => shuffle(get(local), get(local), [k, k, k, k]));
      const laterLanes = four.reduce(
        (mask, i) => lane('i32x4.replace_lane', i, mask, i32(i > k ? -1 : 0)),
        i32x4(0),
      );
      const isLater = f.constant(laterLanes);
      const before = op('i32x4.sub', less(keys, same), isLater);
      const after = op('i32x4.neg', less(same, keys));
      f.set(rank, op('i32x4.add', get(rank), op('v128.bitselect', before, after, isLater)));
    }
    f.set(other, op('i32.add', get(at), i32(16)));
    upTo(end, (later) => f.set(rank, op('i32x4.sub', get(rank), less(later, keys))));
    f.emit(store('v128.store', get(to), get(rank)));
    f.add(to, 16);
    f.add(at, 16);
  });
}
