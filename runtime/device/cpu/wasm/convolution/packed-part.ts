import {
  columnTableAt,
  outTileAt,
  panelAAt,
  panelBAt,
  weightLaneTableAt,
} from '../../core/scratch.ts';
import { type Code, i32, load, op, scratch, store } from '../assembler/code.ts';
import { type FunctionBuilder, get, type Local } from '../assembler/function-builder.ts';
import { onto } from '../gemm-kernels.ts';
import { narrowColumns } from '../narrow-product.ts';
import { blockM } from '../product-blocks.ts';
import { add, bytes, call, least, mul, sub } from './conv-code.ts';
import { ConvPart, type Factors } from './conv-part.ts';
/** Positions packed into panels. */
export class PackedPart extends ConvPart {
  readonly #outColumns: Local;
  readonly #outStart: Local;
  readonly #isAdjacent: Local;
  readonly #isOneBlock: Local;
  /** Whether there are so few positions that weight rows are multiplied unpacked. */
  readonly #isNarrow: Local;

  constructor(f: FunctionBuilder, geometry: Local, factors: Factors) {
    super(f, geometry, factors);
    [this.#outColumns, this.#outStart, this.#isAdjacent, this.#isOneBlock, this.#isNarrow] =
      f.locals('i32', 5);
  }

  /** Writes the tables of the positions: offsets in the slice, and in the result if not adjacent there. */
  setColumns(column: Local, line: Local): void {
    const f = this.f;
    const [at, table, left, place, outTable, outPlace] = f.locals('i32', 6);
    f.set(this.#isAdjacent, op('i32.eq', this.own('outPosition'), i32(4)));
    const isWhole = op(
      'i32.eq',
      this.own('outLine'),
      mul(this.own('positions'), this.own('outPosition')),
    );
    f.set(this.#isAdjacent, op('i32.and', get(this.#isAdjacent), isWhole));
    f.set(this.#isOneBlock, op('i32.le_s', get(this.factors.rows), i32(blockM)));
    const isFew = op('i32.le_s', get(this.factors.columns), i32(narrowColumns));
    const isRun = op('i32.and', this.own('isRun'), get(this.#isAdjacent));
    f.set(this.#isNarrow, op('i32.and', isFew, isRun));
    f.set(this.#outColumns, scratch(columnTableAt + 2048));
    f.set(at, sub(get(column), mul(get(line), this.own('positions'))));
    f.set(place, bytes(mul(get(at), this.own('strideW'))));
    const start = mul(get(line), this.own('outLine'));
    f.set(this.#outStart, add(start, mul(get(at), this.own('outPosition'))));
    f.set(outPlace, i32(0));
    f.set(table, scratch(columnTableAt));
    f.set(outTable, get(this.#outColumns));
    f.set(left, get(this.factors.columns));
    f.countDown(left, 1, () => {
      f.emit(store('i32.store', get(table), get(place)));
      f.emit(store('i32.store', get(outTable), get(outPlace)));
      f.add(table, 4);
      f.add(outTable, 4);
      f.add(at, 1);
      f.add(place, bytes(this.own('strideW')));
      f.add(outPlace, this.own('outPosition'));
      f.if(op('i32.eq', get(at), this.own('positions')), () => {
        f.set(at, i32(0));
        const across = mul(this.own('positions'), this.own('strideW'));
        const down = mul(this.own('strideH'), this.own('sliceWidth'));
        f.add(place, bytes(sub(down, across)));
        const outAcross = mul(this.own('positions'), this.own('outPosition'));
        f.add(outPlace, sub(this.own('outLine'), outAcross));
      });
    });
  }

  #packRows(from: Local, rows: Local, weightTable: Local, count: Local): void {
    const f = this.f;
    const first = add(get(from), load('i32.load', get(weightTable)));
    f.if(
      this.own('isRun'),
      () =>
        call(
          ...([f, 'packA', scratch(panelAAt), first, get(rows), this.own('laneStep')] as const),
          ...[i32(4), get(count)],
        ),
      () => this.#packByTable(from, rows, weightTable, count),
    );
  }

  #packByTable(from: Local, rows: Local, weightTable: Local, count: Local): void {
    const f = this.f;
    const [lane, left, at] = f.locals('i32', 3);
    f.set(lane, scratch(weightLaneTableAt));
    f.set(left, get(rows));
    f.set(at, i32(0));
    f.countDown(left, 1, () => {
      f.emit(store('i32.store', get(lane), get(at)));
      f.add(lane, 4);
      f.add(at, this.own('laneStep'));
    });
    call(
      ...([f, 'packTableA', scratch(panelAAt), get(from), scratch(weightLaneTableAt)] as const),
      ...[get(rows), get(weightTable), get(count)],
    );
  }

  /** Packs once for all images if all rows fit. */
  packWeights(weightTable: Local, count: Local): void {
    const { weight, rows } = this.factors;
    const isPacked = op('i32.gt_u', get(this.#isOneBlock), get(this.#isNarrow));
    this.f.if(isPacked, () => this.#packRows(weight, rows, weightTable, count));
  }

  run(block: {
    readonly base: Local;
    readonly rowTable: Local;
    readonly weightTable: Local;
    readonly count: Local;
    readonly outAt: Local;
    readonly isFirst: Local;
  }): void {
    const f = this.f;
    const { columns, rows, weight } = this.factors;
    call(
      ...([f, 'packTableB', scratch(panelBAt), get(block.base), scratch(columnTableAt)] as const),
      ...[get(columns), get(block.rowTable), get(block.count)],
    );
    const [height, left, from, to] = f.locals('i32', 4);
    f.set(left, get(rows));
    f.set(from, get(weight));
    f.set(to, add(get(block.outAt), get(this.#outStart)));
    const kind = op('select', i32(onto.store), i32(onto.add), get(block.isFirst));
    f.if(get(this.#isNarrow), () => {
      const first = add(get(from), load('i32.load', get(block.weightTable)));
      call(
        ...([f, 'narrowProduct', first, this.own('laneStep'), scratch(panelBAt), get(to)] as const),
        ...[this.own('outChannel'), get(rows), get(columns), get(block.count), kind],
      );
      f.set(left, i32(0));
    });
    f.while(op('i32.gt_s', get(left), i32(0)), () => {
      f.set(height, least(get(left), i32(blockM)));
      f.if(op('i32.eqz', get(this.#isOneBlock)), () =>
        this.#packRows(from, height, block.weightTable, block.count),
      );
      f.if(
        get(this.#isAdjacent),
        () => {
          call(
            ...([f, 'multiplyPanels', scratch(panelAAt), scratch(panelBAt), get(to)] as const),
            ...[get(height), get(columns), get(block.count), this.own('outChannel'), kind],
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
      f.add(from, mul(this.own('laneStep'), i32(blockM)));
      f.add(to, mul(this.own('outChannel'), i32(blockM)));
    });
  }

  /** Copies the tile to its locations in the result. */
  #spread(to: Local, height: Local, isFirst: Local): void {
    const f = this.f;
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
    const tileElement = (): Code => load('f32.load', get(tile));
    f.countDown(rowsLeft, 1, () => {
      f.set(table, get(this.#outColumns));
      f.set(left, get(this.factors.columns));
      f.if(
        get(isFirst),
        () => along(tileElement),
        () => along(() => op('f32.add', load('f32.load', get(place)), tileElement())),
      );
      f.add(row, this.own('outChannel'));
    });
  }
}
