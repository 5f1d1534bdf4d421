import { imageAt } from '../../core/scratch.ts';
import { fillMemory, i32, scratch } from '../assembler/code.ts';
import { type FunctionBuilder, get, type Local } from '../assembler/function-builder.ts';
import { add, bytes, call, type GeometryWord, least, most, mul, sub, word } from './conv-code.ts';
/** Copies planes of an image into memory whose padding is already zero. */
export class Slice {
  readonly #f: FunctionBuilder;
  readonly #geometry: Local;
  readonly #top: Local;
  readonly #rows: Local;
  readonly #firstRow: Local;
  readonly #columns: Local;
  readonly #firstColumn: Local;
  readonly #to: Local;

  /** `line` is the line of the first position. */
  constructor(f: FunctionBuilder, geometry: Local) {
    this.#f = f;
    this.#geometry = geometry;
    [this.#top, this.#rows, this.#firstRow, this.#columns, this.#firstColumn, this.#to] = f.locals(
      'i32',
      6,
    );
  }

  /** Prepares for positions from `line` on. */
  setLine(line: Local): void {
    const f = this.#f;
    const wordOf = (name: GeometryWord) => word(this.#geometry, name);
    f.set(this.#top, add(wordOf('top'), mul(get(line), wordOf('strideH'))));
    f.set(this.#firstRow, most(get(this.#top), i32(0)));
    const end = least(add(get(this.#top), wordOf('sliceHeight')), wordOf('height'));
    f.set(this.#rows, most(sub(end, get(this.#firstRow)), i32(0)));
    f.set(this.#firstColumn, most(wordOf('left'), i32(0)));
    const right = least(add(wordOf('left'), wordOf('sliceWidth')), wordOf('width'));
    f.set(this.#columns, most(sub(right, get(this.#firstColumn)), i32(0)));
    const down = mul(sub(get(this.#firstRow), get(this.#top)), wordOf('sliceWidth'));
    const across = sub(get(this.#firstColumn), wordOf('left'));
    f.set(this.#to, add(scratch(imageAt), bytes(add(down, across))));
  }

  clear(channels: Local): void {
    const size = mul(get(channels), word(this.#geometry, 'slicePlane'));
    this.#f.emit(fillMemory(scratch(imageAt), i32(0), size));
  }

  /** Sets `to` to the base address of offsets in the slice, for channels starting at `first`. */
  place(to: Local, image: Local, first: Local, channels: Local): void {
    const f = this.#f;
    const wordOf = (name: GeometryWord) => word(this.#geometry, name);
    f.if(
      wordOf('isSliced'),
      () => {
        const skip = add(mul(get(this.#firstRow), wordOf('width')), get(this.#firstColumn));
        const from = add(add(get(image), mul(get(first), wordOf('plane'))), bytes(skip));
        call(
          ...([f, 'copyPlanes', get(this.#to), wordOf('slicePlane')] as const),
          ...[bytes(wordOf('sliceWidth')), i32(4), from, wordOf('plane'), bytes(wordOf('width'))],
          ...[get(channels), get(this.#rows), get(this.#columns)],
        );
        f.set(to, sub(scratch(imageAt), mul(get(first), wordOf('slicePlane'))));
      },
      () => {
        const skip = add(mul(get(this.#top), wordOf('width')), wordOf('left'));
        f.set(to, add(get(image), bytes(skip)));
      },
    );
  }
}
