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
    const own = (name: GeometryWord) => word(this.#geometry, name);
    f.set(this.#top, add(own('top'), mul(get(line), own('strideH'))));
    f.set(this.#firstRow, most(get(this.#top), i32(0)));
    const end = least(add(get(this.#top), own('sliceHeight')), own('height'));
    f.set(this.#rows, most(sub(end, get(this.#firstRow)), i32(0)));
    f.set(this.#firstColumn, most(own('left'), i32(0)));
    const right = least(add(own('left'), own('sliceWidth')), own('width'));
    f.set(this.#columns, most(sub(right, get(this.#firstColumn)), i32(0)));
    const down = mul(sub(get(this.#firstRow), get(this.#top)), own('sliceWidth'));
    const across = sub(get(this.#firstColumn), own('left'));
    f.set(this.#to, add(scratch(imageAt), bytes(add(down, across))));
  }

  clear(channels: Local): void {
    const size = mul(get(channels), word(this.#geometry, 'slicePlane'));
    this.#f.emit(fillMemory(scratch(imageAt), i32(0), size));
  }

  /** Sets `to` to the base address of offsets in the slice, for channels starting at `first`. */
  place(to: Local, image: Local, first: Local, channels: Local): void {
    const f = this.#f;
    const own = (name: GeometryWord) => word(this.#geometry, name);
    f.if(
      own('isSliced'),
      () => {
        const skip = add(mul(get(this.#firstRow), own('width')), get(this.#firstColumn));
        const from = add(add(get(image), mul(get(first), own('plane'))), bytes(skip));
        call(
          ...([f, 'copyPlanes', get(this.#to), own('slicePlane')] as const),
          ...[bytes(own('sliceWidth')), i32(4), from, own('plane'), bytes(own('width'))],
          ...[get(channels), get(this.#rows), get(this.#columns)],
        );
        f.set(to, sub(scratch(imageAt), mul(get(first), own('slicePlane'))));
      },
      () => {
        const skip = add(mul(get(this.#top), own('width')), own('left'));
        f.set(to, add(get(image), bytes(skip)));
      },
    );
  }
}
