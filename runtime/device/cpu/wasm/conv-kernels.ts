import {
  columnTableAt,
  imageAt,
  outTileAt,
  panelAAt,
  panelBAt,
  weightLaneTableAt,
} from '../scratch.ts';
import {
  type Code,
  callCode,
  fillMemory,
  i32,
  load,
  op,
  scratch,
  store,
} from './assembler/code.ts';
import { type FunctionBuilder, get, type Local } from './assembler/function-builder.ts';
import { compile, lazily, localIndex } from './assembler/module-builder.ts';
import { directGradRow, directRow } from './direct-conv.ts';
import { multiplyPanels, onto, tileColumns, tileRows } from './gemm-kernels.ts';
import { copyPlanes } from './image-kernel.ts';
import { packStrided, packTable } from './pack-kernels.ts';
import { blockM } from './product-blocks.ts';

/**
 * Convolutions as products with the matrix of patches, which is never built: packers read it through tables of
 * offsets. What holds for all parts of a convolution lies in memory as a list of words, `geometryWords`; its tables
 * follow. `conv/geometry.ts` makes both.
 */
export const geometryWords = [
  /** The source: rows and columns of a plane, bytes of a plane, bytes from image to image. */
  ...['height', 'width', 'plane', 'imageStep'],
  /** Positions in a line, and by how many rows and columns of the source neighbours are apart. */
  ...['positions', 'strideH', 'strideW'],
  /** First row and column that the first position reads; negative in the padding. */
  ...['top', 'left'],
  /** The slice of padded planes that positions read: its rows and columns, bytes of a plane; 0: the source itself. */
  ...['sliceHeight', 'sliceWidth', 'slicePlane', 'isSliced'],
  /** Bytes between rows of weights; address of the offsets of its entries. */
  ...['laneStep', 'weightTable'],
  /** Address of the offsets of patches' rows in a slice. */
  ...['rowTable'],
  /** Blocks of patches' rows that are summed apart: count, and the address of their `blockWords`. */
  ...['blocks', 'blockList'],
  /** The result: bytes from image to image, channel to channel, line to line, position to position. */
  ...['outStep', 'outChannel', 'outLine', 'outPosition'],
  /** 1: line by line without packing. */
  ...['isDirect'],
] as const;

/** First entry in the tables, entries, first channel, channels, and whether it is the first sum of its results. */
export const blockWords = 5;

export type GeometryWord = (typeof geometryWords)[number];

/** A geometry's word, as code. */
function word(base: Local, name: GeometryWord): Code {
  return load('i32.load', get(base), geometryWords.indexOf(name) * 4);
}

const functions = [
  ...['packTableA', 'packTableB', 'packA', 'multiplyPanels', 'copyPlanes', 'directRow'],
  ...['directGradRow'],
] as const;

function call(f: FunctionBuilder, name: (typeof functions)[number], ...args: Code[]): void {
  f.emit(callCode(localIndex(functions.indexOf(name)), ...args));
}

const add = (a: Code, b: Code): Code => op('i32.add', a, b);
const sub = (a: Code, b: Code): Code => op('i32.sub', a, b);
const mul = (a: Code, b: Code): Code => op('i32.mul', a, b);
const bytes = (elements: Code): Code => op('i32.shl', elements, i32(2));
const least = (a: Code, b: Code): Code => op('select', a, b, op('i32.lt_s', a, b));
const most = (a: Code, b: Code): Code => op('select', a, b, op('i32.gt_s', a, b));

/** Copies planes of an image to where the padding around them is zero already. */
class Slice {
  readonly #f: FunctionBuilder;
  readonly #geometry: Local;
  readonly #top: Local;
  readonly #rows: Local;
  readonly #firstRow: Local;
  readonly #columns: Local;
  readonly #firstColumn: Local;
  readonly #to: Local;

  /** `line`: of the first position. */
  constructor(f: FunctionBuilder, geometry: Local) {
    this.#f = f;
    this.#geometry = geometry;
    [this.#top, this.#rows, this.#firstRow, this.#columns, this.#firstColumn, this.#to] = f.locals(
      'i32',
      6,
    );
  }

  /** For positions from `line` on. */
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

  /** The address that offsets in the slice count from, for channels from `first` on. */
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

/**
 * (geometry, image, weight, out, images, column, columns, rows): the positions `column` and those that follow, for
 * several images and so many rows of weights. Without packing, positions are whole lines.
 */
function convolve(f: FunctionBuilder): void {
  const [geometry, image, weight, out, images, column, columns, rows] = f.params(8);
  const own = (name: GeometryWord) => word(geometry, name);
  const [line, block, blocksLeft, first, count, channel, channels, isFirst] = f.locals('i32', 8);
  const [imageAtNow, outAt, left, base, rowTable, weightTable] = f.locals('i32', 6);
  const slice = new Slice(f, geometry);
  const packed = new PackedPart(f, geometry, { weight, rows, columns });
  const direct = new DirectPart(f, geometry, { weight, rows, columns });

  f.set(line, op('i32.div_u', get(column), own('positions')));
  slice.setLine(line);
  f.if(op('i32.eqz', own('isDirect')), () => packed.setColumns(column, line));
  f.set(block, own('blockList'));
  f.set(blocksLeft, own('blocks'));
  f.countDown(blocksLeft, 1, () => {
    [first, count, channel, channels, isFirst].forEach((local, i) => {
      f.set(local, load('i32.load', get(block), i * 4));
    });
    f.add(block, blockWords * 4);
    f.set(rowTable, add(own('rowTable'), bytes(get(first))));
    f.set(weightTable, add(own('weightTable'), bytes(get(first))));
    f.if(own('isSliced'), () => slice.clear(channels));
    f.if(
      own('isDirect'),
      () => direct.packWeights(weightTable, count),
      () => packed.packWeights(weightTable, count),
    );
    f.set(left, get(images));
    f.set(imageAtNow, get(image));
    f.set(outAt, get(out));
    f.countDown(left, 1, () => {
      slice.place(base, imageAtNow, channel, channels);
      f.if(
        own('isDirect'),
        () => direct.run({ base, rowTable, count, outAt, line }),
        () => packed.run({ base, rowTable, weightTable, count, outAt, isFirst }),
      );
      f.add(imageAtNow, own('imageStep'));
      f.add(outAt, own('outStep'));
    });
  });
}

interface Factors {
  readonly weight: Local;
  readonly rows: Local;
  readonly columns: Local;
}

/** Positions packed into panels. */
class PackedPart {
  readonly #f: FunctionBuilder;
  readonly #geometry: Local;
  readonly #factors: Factors;
  readonly #outColumns: Local;
  readonly #outStart: Local;
  readonly #isAdjacent: Local;
  readonly #isOneBlock: Local;

  constructor(f: FunctionBuilder, geometry: Local, factors: Factors) {
    this.#f = f;
    this.#geometry = geometry;
    this.#factors = factors;
    [this.#outColumns, this.#outStart, this.#isAdjacent, this.#isOneBlock] = f.locals('i32', 4);
  }

  #own(name: GeometryWord): Code {
    return word(this.#geometry, name);
  }

  /** Tables of the positions: their offsets in the slice, and in the result where they aren't adjacent there. */
  setColumns(column: Local, line: Local): void {
    const f = this.#f;
    const [at, table, left, place, outTable, outPlace] = f.locals('i32', 6);
    f.set(this.#isAdjacent, op('i32.eq', this.#own('outPosition'), i32(4)));
    const isWhole = op(
      'i32.eq',
      this.#own('outLine'),
      mul(this.#own('positions'), this.#own('outPosition')),
    );
    f.set(this.#isAdjacent, op('i32.and', get(this.#isAdjacent), isWhole));
    f.set(this.#isOneBlock, op('i32.le_s', get(this.#factors.rows), i32(blockM)));
    f.set(this.#outColumns, scratch(columnTableAt + 2048));
    f.set(at, sub(get(column), mul(get(line), this.#own('positions'))));
    f.set(place, bytes(mul(get(at), this.#own('strideW'))));
    const start = mul(get(line), this.#own('outLine'));
    f.set(this.#outStart, add(start, mul(get(at), this.#own('outPosition'))));
    f.set(outPlace, i32(0));
    f.set(table, scratch(columnTableAt));
    f.set(outTable, get(this.#outColumns));
    f.set(left, get(this.#factors.columns));
    f.countDown(left, 1, () => {
      f.emit(store('i32.store', get(table), get(place)));
      f.emit(store('i32.store', get(outTable), get(outPlace)));
      f.add(table, 4);
      f.add(outTable, 4);
      f.add(at, 1);
      f.add(place, bytes(this.#own('strideW')));
      f.add(outPlace, this.#own('outPosition'));
      f.if(op('i32.eq', get(at), this.#own('positions')), () => {
        f.set(at, i32(0));
        const across = mul(this.#own('positions'), this.#own('strideW'));
        const down = mul(this.#own('strideH'), this.#own('sliceWidth'));
        f.add(place, bytes(sub(down, across)));
        const outAcross = mul(this.#own('positions'), this.#own('outPosition'));
        f.add(outPlace, sub(this.#own('outLine'), outAcross));
      });
    });
  }

  #packRows(from: Local, rows: Local, weightTable: Local, count: Local): void {
    const f = this.#f;
    const [lane, left, at] = f.locals('i32', 3);
    f.set(lane, scratch(weightLaneTableAt));
    f.set(left, get(rows));
    f.set(at, i32(0));
    f.countDown(left, 1, () => {
      f.emit(store('i32.store', get(lane), get(at)));
      f.add(lane, 4);
      f.add(at, this.#own('laneStep'));
    });
    call(
      ...([f, 'packTableA', scratch(panelAAt), get(from), scratch(weightLaneTableAt)] as const),
      ...[get(rows), get(weightTable), get(count)],
    );
  }

  /** Once for all images, where all rows fit. */
  packWeights(weightTable: Local, count: Local): void {
    const { weight, rows } = this.#factors;
    this.#f.if(get(this.#isOneBlock), () => this.#packRows(weight, rows, weightTable, count));
  }

  run(block: {
    readonly base: Local;
    readonly rowTable: Local;
    readonly weightTable: Local;
    readonly count: Local;
    readonly outAt: Local;
    readonly isFirst: Local;
  }): void {
    const f = this.#f;
    const { columns, rows, weight } = this.#factors;
    call(
      ...([f, 'packTableB', scratch(panelBAt), get(block.base), scratch(columnTableAt)] as const),
      ...[get(columns), get(block.rowTable), get(block.count)],
    );
    const [height, left, from, to] = f.locals('i32', 4);
    f.set(left, get(rows));
    f.set(from, get(weight));
    f.set(to, add(get(block.outAt), get(this.#outStart)));
    f.while(op('i32.gt_s', get(left), i32(0)), () => {
      f.set(height, least(get(left), i32(blockM)));
      f.if(op('i32.eqz', get(this.#isOneBlock)), () =>
        this.#packRows(from, height, block.weightTable, block.count),
      );
      f.if(
        get(this.#isAdjacent),
        () => {
          const kind = op('select', i32(onto.store), i32(onto.add), get(block.isFirst));
          call(
            ...([f, 'multiplyPanels', scratch(panelAAt), scratch(panelBAt), get(to)] as const),
            ...[get(height), get(columns), get(block.count), this.#own('outChannel'), kind],
          );
        },
        () => {
          call(
            ...([f, 'multiplyPanels', scratch(panelAAt), scratch(panelBAt)] as const),
            ...[scratch(outTileAt), get(height), get(columns), get(block.count)],
            ...[bytes(get(columns)), i32(onto.store)],
          );
          this.#spread(to, height, block.isFirst);
        },
      );
      f.add(left, -blockM);
      f.add(from, mul(this.#own('laneStep'), i32(blockM)));
      f.add(to, mul(this.#own('outChannel'), i32(blockM)));
    });
  }

  /** The tile to its places in the result. */
  #spread(to: Local, height: Local, isFirst: Local): void {
    const f = this.#f;
    const [tile, row, left, rowsLeft, table, place] = f.locals('i32', 6);
    f.set(tile, scratch(outTileAt));
    f.set(row, get(to));
    f.set(rowsLeft, get(height));
    const along = (value: () => Code): void => {
      f.countDown(left, 1, () => {
        f.set(place, add(get(row), load('i32.load', get(table))));
        f.emit(store('f32.store', get(place), value()));
        f.add(table, 4);
        f.add(tile, 4);
      });
    };
    const own = (): Code => load('f32.load', get(tile));
    f.countDown(rowsLeft, 1, () => {
      f.set(table, get(this.#outColumns));
      f.set(left, get(this.#factors.columns));
      f.if(
        get(isFirst),
        () => along(own),
        () => along(() => op('f32.add', load('f32.load', get(place)), own())),
      );
      f.add(row, this.#own('outChannel'));
    });
  }
}

/** Few rows of weights: each line of the result is a sum of lines of the slice. */
class DirectPart {
  readonly #f: FunctionBuilder;
  readonly #geometry: Local;
  readonly #factors: Factors;

  constructor(f: FunctionBuilder, geometry: Local, factors: Factors) {
    this.#f = f;
    this.#geometry = geometry;
    this.#factors = factors;
  }

  #own(name: GeometryWord): Code {
    return word(this.#geometry, name);
  }

  /** Row after row, in the order of the patches' rows. */
  packWeights(weightTable: Local, count: Local): void {
    const f = this.#f;
    const [row, rowsLeft, left, to, table] = f.locals('i32', 5);
    f.set(to, scratch(panelAAt));
    f.set(row, get(this.#factors.weight));
    f.set(rowsLeft, get(this.#factors.rows));
    f.countDown(rowsLeft, 1, () => {
      f.set(table, get(weightTable));
      f.set(left, get(count));
      f.countDown(left, 1, () => {
        const from = add(get(row), load('i32.load', get(table)));
        f.emit(store('i32.store', get(to), load('i32.load', from)));
        f.add(to, 4);
        f.add(table, 4);
      });
      f.add(row, this.#own('laneStep'));
    });
  }

  run(block: {
    readonly base: Local;
    readonly rowTable: Local;
    readonly count: Local;
    readonly outAt: Local;
    readonly line: Local;
  }): void {
    const f = this.#f;
    const [rowsLeft, weights, channel, from, to, left] = f.locals('i32', 6);
    f.set(weights, scratch(panelAAt));
    f.set(channel, add(get(block.outAt), mul(get(block.line), this.#own('outLine'))));
    f.set(rowsLeft, get(this.#factors.rows));
    f.countDown(rowsLeft, 1, () => {
      f.set(from, get(block.base));
      f.set(to, get(channel));
      f.set(left, op('i32.div_u', get(this.#factors.columns), this.#own('positions')));
      f.countDown(left, 1, () => {
        call(
          ...([f, 'directRow', get(from), get(block.rowTable), get(block.count)] as const),
          ...[get(weights), get(to), this.#own('outPosition'), this.#own('positions')],
          bytes(this.#own('strideW')),
        );
        f.add(from, bytes(mul(this.#own('strideH'), this.#own('sliceWidth'))));
        f.add(to, this.#own('outLine'));
      });
      f.add(weights, bytes(get(block.count)));
      f.add(channel, this.#own('outChannel'));
    });
  }
}

/**
 * (geometry, dy, image, out, images, first, rows, channel, channels, outChannels, columnTable, columns, sumColumns,
 * goesOn): the weights' gradient at patches' rows `first` to `first + rows`, which are of `channels` planes from
 * `channel` on; `columns` positions are summed `sumColumns` at a time, then over images. `out` is that of row 0.
 */
function convolveWeightGrad(f: FunctionBuilder): void {
  const [geometry, dy, image, out, images, first, rows, channel, channels, outChannels] =
    f.params(10);
  const [columnTable, columns, sumColumns, goesOn] = f.params(4);
  const own = (name: GeometryWord) => word(geometry, name);
  const [line, base, rowTable, column, width, left, kind, dyRow] = f.locals('i32', 8);
  const [channelsLeft, height, dyAt, to, started] = f.locals('i32', 5);
  const slice = new Slice(f, geometry);
  slice.setLine(line);
  f.if(own('isSliced'), () => slice.clear(channels));
  f.set(rowTable, add(own('rowTable'), bytes(get(first))));
  f.set(dyRow, bytes(get(columns)));
  f.set(started, get(goesOn));
  f.countDown(images, 1, () => {
    slice.place(base, image, channel, channels);
    f.if(
      own('isDirect'),
      () => {
        // The rows of the table are vectors here; see `directGradRow`.
        f.set(channelsLeft, get(outChannels));
        f.set(dyAt, get(dy));
        f.set(to, get(out));
        f.countDown(channelsLeft, 1, () => {
          call(
            ...([f, 'directGradRow', get(base), get(rowTable), get(rows), get(dyAt)] as const),
            ...[get(columnTable), get(columns), get(sumColumns), get(to), get(started)],
          );
          f.add(dyAt, get(dyRow));
          f.add(to, own('outChannel'));
        });
        f.set(started, i32(1));
      },
      () => {
        f.set(column, i32(0));
        f.set(left, get(columns));
        f.while(op('i32.gt_s', get(left), i32(0)), () => {
          f.set(width, least(get(left), get(sumColumns)));
          call(
            ...([f, 'packTableB', scratch(panelBAt), get(base), get(rowTable), get(rows)] as const),
            ...[add(get(columnTable), bytes(get(column))), get(width)],
          );
          f.set(kind, op('select', i32(onto.add), i32(onto.store), get(started)));
          f.set(started, i32(1));
          f.set(channelsLeft, get(outChannels));
          f.set(dyAt, add(get(dy), bytes(get(column))));
          f.set(to, add(get(out), bytes(get(first))));
          f.while(op('i32.gt_s', get(channelsLeft), i32(0)), () => {
            f.set(height, least(get(channelsLeft), i32(blockM)));
            call(
              ...([f, 'packA', scratch(panelAAt), get(dyAt), get(height), get(dyRow)] as const),
              ...[i32(4), get(width)],
            );
            call(
              ...([f, 'multiplyPanels', scratch(panelAAt), scratch(panelBAt), get(to)] as const),
              ...[get(height), get(rows), get(width), own('outChannel'), get(kind)],
            );
            f.add(channelsLeft, -blockM);
            f.add(dyAt, mul(get(dyRow), i32(blockM)));
            f.add(to, mul(own('outChannel'), i32(blockM)));
          });
          f.add(column, get(sumColumns));
          f.set(left, sub(get(left), get(sumColumns)));
        });
      },
    );
    f.add(image, own('imageStep'));
    f.add(dy, own('outStep'));
  });
}

export const convKernels = lazily(() =>
  compile({
    packTableA: packTable(tileRows()),
    packTableB: packTable(tileColumns),
    packA: packStrided(tileRows()),
    multiplyPanels,
    copyPlanes,
    directRow,
    directGradRow,
    convolve,
    convolveWeightGrad,
  }),
);
