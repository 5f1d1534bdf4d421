import type { DType } from '../../../../spec/dtype.ts';
import { threadBytes } from '../../core/heap.ts';
import { panelAAt, rowTableAt } from '../../core/scratch.ts';
import {
  type Code,
  fillMemory,
  i32,
  i32x4,
  lane,
  load,
  op,
  scratch,
  store,
} from '../assembler/code.ts';
import { type FunctionBuilder, get, type Local } from '../assembler/function-builder.ts';
import { compileWhenRead, lazily } from '../assembler/module-builder.ts';
import { type KeyFormat, keyFormats, type SortedDType, sortedAs, writeKeys } from './keys.ts';
import { writeRanks } from './ranks.ts';

const listsAt = panelAAt;
/** The bytes that vectors may write past the end of a list. */
const slack = 32;

/** The number of lists of a row: one for each word of the keys, and two of positions. */
const listsOf = (dtype: DType): number => keyFormats[sortedAs(dtype)].words + 2;

/** The bytes of a row's lists. */
export const rowBytes = (dtype: DType, size: number): number => listsOf(dtype) * (size * 4 + slack);

/** The size of the largest row whose lists fit a thread's scratch memory. */
export const longestSorted = (dtype: DType): number =>
  Math.floor(((threadBytes - listsAt) / listsOf(dtype) - slack) / 4);

/** Up to these sizes, comparing all pairs is faster than counting digits, or than keeping the first few. */
const mostByPairs = 128;
const mostByPairsOfFew = 64;

/** From this size on, fewer passes outweigh larger tables of counts. */
const leastByWideDigits = 8192;

/** From this count on, sorting everything is as fast as keeping the first ones. */
const few = 32;

/**
 * (x, values, indices, row, rows, size, count, inner, flip, space): the first `count` elements of each sorted row, and
 * their positions. Row r has the elements from r % inner + ⌊r / inner⌋ · size · inner on, `inner` apart. `flip` is −1 for
 * descending order, otherwise 0. `space` is the address of `rowBytes` of memory; 0 for the thread's scratch memory.
 */
class RowSorter {
  readonly #f: FunctionBuilder;
  readonly #format: KeyFormat;
  readonly #size: Local;
  readonly #count: Local;
  readonly #inner: Local;
  readonly #flip: Local;
  readonly #space: Local;
  /** Addresses of the row's first element and first results. */
  readonly #from: Local;
  readonly #values: Local;
  readonly #indices: Local;
  /** Addresses of each word of the keys, and of two lists of positions. */
  readonly #words: readonly Local[];
  readonly #positions: Local;
  readonly #others: Local;
  readonly #end: Local;

  constructor(f: FunctionBuilder, format: KeyFormat) {
    const [x, values, indices, row, rows, size, count, inner, flip, space] = f.params(10);
    this.#f = f;
    this.#format = format;
    [this.#size, this.#count, this.#inner, this.#flip] = [size, count, inner, flip];
    this.#space = space;
    [this.#from, this.#values, this.#indices] = f.locals('i32', 3);
    this.#words = f.locals('i32', format.words);
    [this.#positions, this.#others, this.#end] = f.locals('i32', 3);
    const outer = f.local('i32');
    const first = f.local('i32');
    const element = (index: Code): Code => op('i32.shl', index, i32(format.shift));
    f.countDown(rows, 1, () => {
      f.set(outer, op('i32.div_u', get(row), get(inner)));
      f.set(first, op('i32.rem_u', get(row), get(inner)));
      f.set(outer, op('i32.mul', get(outer), get(inner)));
      const start = (length: Local): Code =>
        op('i32.add', get(first), op('i32.mul', get(outer), get(length)));
      f.set(this.#from, op('i32.add', get(x), element(start(size))));
      f.set(this.#values, op('i32.add', get(values), element(start(count))));
      f.set(this.#indices, op('i32.add', get(indices), op('i32.shl', start(count), i32(2))));
      this.#row();
      f.add(row, 1);
    });
  }

  #row(): void {
    const f = this.#f;
    const format = this.#format;
    const bytes = f.local('i32', op('i32.shl', get(this.#size), i32(2)));
    const apart = op('i32.and', op('i32.add', get(bytes), i32(slack)), i32(-16));
    const lists = [...this.#words, this.#positions, this.#others];
    f.set(lists[0]!, op('select', get(this.#space), scratch(listsAt), get(this.#space)));
    lists.slice(1).forEach((list, i) => {
      f.set(list, op('i32.add', get(lists[i]!), apart));
    });
    f.set(this.#end, op('i32.add', get(this.#words[0]!), get(bytes)));
    writeKeys(f, format, {
      elements: this.#from,
      apart: op('i32.shl', get(this.#inner), i32(format.shift)),
      size: this.#size,
      flip: this.#flip,
      words: this.#words,
      unused: this.#positions,
    });
    const isFew = op('i32.lt_u', get(this.#count), i32(few));
    const keepsFew = this.#words.length === 1;
    const mostPairs = keepsFew
      ? op('select', i32(mostByPairsOfFew), i32(mostByPairs), isFew)
      : i32(mostByPairs);
    f.if(
      op('i32.le_u', get(this.#size), mostPairs),
      () => {
        writeRanks(f, { words: this.#words, ranks: this.#positions, end: this.#end });
        this.#scatterRanks();
      },
      () => {
        if (!keepsFew) return this.#byDigits();
        f.if(
          isFew,
          () => this.#firstFew(),
          () => this.#byDigits(),
        );
      },
    );
  }

  /** Writes each element whose rank is below `count` to the position of its rank. */
  #scatterRanks(): void {
    const f = this.#f;
    const { shift, move } = this.#format;
    const rankAt = f.local('i32', get(this.#positions));
    const from = f.local('i32', get(this.#from));
    const [position, rank] = [f.local('i32', i32(0)), f.local('i32')];
    f.while(op('i32.lt_u', get(position), get(this.#size)), () => {
      f.set(rank, load('i32.load', get(rankAt)));
      f.if(op('i32.lt_u', get(rank), get(this.#count)), () => {
        f.set(rank, op('i32.mul', get(rank), get(this.#inner)));
        const to = (start: Local, by: number): Code =>
          op('i32.add', get(start), op('i32.shl', get(rank), i32(by)));
        f.emit(store('i32.store', to(this.#indices, 2), get(position)));
        f.emit(move(to(this.#values, shift), get(from)));
      });
      f.add(rankAt, 4);
      f.add(from, op('i32.shl', get(this.#inner), i32(shift)));
      f.add(position, 1);
    });
  }

  /** Keeps the first `count` keys sorted, in the memory of the row's first keys, which are already inserted. */
  #firstFew(): void {
    const f = this.#f;
    const [kept, positions] = [this.#words[0]!, this.#positions];
    const [at, last, key, slot, place] = f.locals('i32', 5);
    const most = f.local('v128');
    const insert = (): void => {
      f.set(key, load('i32.load', get(at)));
      f.while(
        // For the first slot, this loads the word before the list, which is compared but not used.
        op(
          'i32.and',
          op('i32.gt_u', get(slot), get(kept)),
          op('i32.gt_u', load('i32.load', op('i32.sub', get(slot), i32(4))), get(key)),
        ),
        () => {
          f.set(place, op('i32.add', get(positions), op('i32.sub', get(slot), get(kept))));
          f.emit(store('i32.store', get(slot), load('i32.load', op('i32.sub', get(slot), i32(4)))));
          f.emit(
            store('i32.store', get(place), load('i32.load', op('i32.sub', get(place), i32(4)))),
          );
          f.add(slot, -4);
        },
      );
      f.set(place, op('i32.add', get(positions), op('i32.sub', get(slot), get(kept))));
      f.emit(store('i32.store', get(slot), get(key)));
      const position = op('i32.shr_u', op('i32.sub', get(at), get(kept)), i32(2));
      f.emit(store('i32.store', get(place), position));
    };
    f.set(at, get(kept));
    f.set(last, op('i32.add', get(kept), op('i32.shl', get(this.#count), i32(2))));
    f.while(op('i32.lt_u', get(at), get(last)), () => {
      f.set(slot, get(at));
      insert();
      f.add(at, 4);
    });
    f.add(last, -4);
    f.set(most, load('v128.load32_splat', get(last)));
    const next = f.local('i32');
    f.while(op('i32.lt_u', get(at), get(this.#end)), () => {
      f.set(next, op('i32.add', get(at), i32(16)));
      const isLess = op('i32x4.lt_u', load('v128.load', get(at)), get(most));
      f.if(op('i8x16.all_true', op('i32x4.eq', isLess, i32x4(0))), () => f.set(at, get(next)));
      // Keys past the end are the largest, and never inserted.
      f.while(op('i32.lt_u', get(at), get(next)), () => {
        const isBefore = op('i32.lt_u', load('i32.load', get(at)), load('i32.load', get(last)));
        f.if(isBefore, () => {
          f.set(slot, get(last));
          insert();
        });
        f.add(at, 4);
      });
      f.set(most, load('v128.load32_splat', get(last)));
    });
    this.#writeFirst();
  }

  /** A radix sort of positions, by the lowest digit of the lowest word first. */
  #byDigits(): void {
    const f = this.#f;
    const counts = f.local('i32', scratch(rowTableAt));
    const isWide = op('i32.ge_u', get(this.#size), i32(leastByWideDigits));
    const bits = f.local('i32', op('select', i32(11), i32(8), isWide));
    const tableBytes = f.local('i32', op('i32.shl', i32(4), get(bits)));
    this.#writePositions();
    for (const word of this.#words) {
      f.emit(fillMemory(get(counts), i32(0), i32(3 * 4 * 2048)));
      f.if(
        isWide,
        () => this.#countDigits(word, counts, 11),
        () => this.#countDigits(word, counts, 8),
      );
      const table = f.local('i32', get(counts));
      const shift = f.local('i32', i32(0));
      f.while(op('i32.lt_u', get(shift), i32(32)), () => {
        const slot = this.#slot(table, load('i32.load', get(word)), shift, tableBytes);
        // All keys may have the same digit.
        f.if(op('i32.ne', load('i32.load', slot), get(this.#size)), () => {
          this.#toStarts(table, tableBytes);
          this.#distribute(word, table, shift, tableBytes);
        });
        f.add(table, get(tableBytes));
        f.add(shift, get(bits));
      });
    }
    this.#writeFirst();
  }

  /** The address of a key's count. */
  #slot(table: Local, key: Code, shift: Local, tableBytes: Local): Code {
    const digit = op('i32.shl', op('i32.shr_u', key, get(shift)), i32(2));
    const mask = op('i32.sub', get(tableBytes), i32(1));
    return op('i32.add', get(table), op('i32.and', digit, mask));
  }

  #writePositions(): void {
    const f = this.#f;
    const at = f.local('i32', get(this.#positions));
    const numbers = [1, 2, 3].reduce(
      (vector, i) => lane('i32x4.replace_lane', i, vector, i32(i)),
      i32x4(0),
    );
    const positions = f.local('v128', numbers);
    const left = f.local('i32', op('i32.add', get(this.#size), i32(3)));
    f.countDown(left, 4, () => {
      f.emit(store('v128.store', get(at), get(positions)));
      f.set(positions, op('i32x4.add', get(positions), f.constant(i32x4(4))));
      f.add(at, 16);
    });
  }

  /** Counts all digits in one loop: consecutive keys often share a digit and would wait for its counter. */
  #countDigits(word: Local, counts: Local, bits: 8 | 11): void {
    const f = this.#f;
    const at = f.local('i32', get(word));
    const left = f.local('i32', get(this.#size));
    const [key, slot] = f.locals('i32', 2);
    f.countDown(left, 1, () => {
      f.set(key, load('i32.load', get(at)));
      for (let shift = 0, table = 0; shift < 32; shift += bits, table += 4 << bits) {
        const digit = shift > 2 ? op('i32.shr_u', get(key), i32(shift - 2)) : null;
        const scaled = digit ?? op('i32.shl', get(key), i32(2));
        const own = op('i32.and', scaled, i32((4 << bits) - 4));
        f.set(slot, op('i32.add', get(counts), own));
        const count = op('i32.add', load('i32.load', get(slot), table), i32(1));
        f.emit(store('i32.store', get(slot), count, table));
      }
      f.add(at, 4);
    });
  }

  /** Replaces the counts by where the keys of each digit start, in bytes. */
  #toStarts(table: Local, tableBytes: Local): void {
    const f = this.#f;
    const at = f.local('i32', get(table));
    const end = f.local('i32', op('i32.add', get(table), get(tableBytes)));
    const start = f.local('i32', i32(0));
    const count = f.local('i32');
    f.while(op('i32.lt_u', get(at), get(end)), () => {
      f.set(count, load('i32.load', get(at)));
      f.emit(store('i32.store', get(at), get(start)));
      f.add(start, op('i32.shl', get(count), i32(2)));
      f.add(at, 4);
    });
  }

  /** Moves positions to the other list by one digit. */
  #distribute(word: Local, table: Local, shift: Local, tableBytes: Local): void {
    const f = this.#f;
    const at = f.local('i32', get(this.#positions));
    const left = f.local('i32', get(this.#size));
    const [position, slot, to] = f.locals('i32', 3);
    f.countDown(left, 1, () => {
      f.set(position, load('i32.load', get(at)));
      const key = op('i32.add', get(word), op('i32.shl', get(position), i32(2)));
      f.set(slot, this.#slot(table, load('i32.load', key), shift, tableBytes));
      f.set(to, load('i32.load', get(slot)));
      f.emit(store('i32.store', get(slot), op('i32.add', get(to), i32(4))));
      f.emit(store('i32.store', op('i32.add', get(this.#others), get(to)), get(position)));
      f.add(at, 4);
    });
    f.set(to, get(this.#positions));
    f.set(this.#positions, get(this.#others));
    f.set(this.#others, get(to));
  }

  /** Writes the elements at the first positions. */
  #writeFirst(): void {
    const f = this.#f;
    const { shift, move } = this.#format;
    const at = f.local('i32', get(this.#positions));
    const left = f.local('i32', get(this.#count));
    const position = f.local('i32');
    f.countDown(left, 1, () => {
      f.set(position, load('i32.load', get(at)));
      f.emit(store('i32.store', get(this.#indices), get(position)));
      const index = op('i32.mul', get(position), get(this.#inner));
      const from = op('i32.add', get(this.#from), op('i32.shl', index, i32(shift)));
      f.emit(move(get(this.#values), from));
      f.add(this.#indices, op('i32.shl', get(this.#inner), i32(2)));
      f.add(this.#values, op('i32.shl', get(this.#inner), i32(shift)));
      f.add(at, 4);
    });
  }
}

const sorting =
  (dtype: SortedDType) =>
  (f: FunctionBuilder): void => {
    new RowSorter(f, keyFormats[dtype]);
  };

export const orderKernels = lazily(() =>
  compileWhenRead([
    { float32: sorting('float32') },
    { float64: sorting('float64') },
    { int32: sorting('int32') },
    { uint8: sorting('uint8') },
  ]),
);
