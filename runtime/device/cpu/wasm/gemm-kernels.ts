import { tileAt } from '../scratch.ts';
import { type Code, f32x4, i32, load, memoryLane, op, store } from './code.ts';
import { type FunctionBuilder, get, type Local } from './function-builder.ts';
import { compile, lazily } from './module-builder.ts';
import { transposeFour } from './transpose-kernel.ts';

/**
 * The parts of a packed matrix product after Goto and van de Geijn, "Anatomy of high-performance
 * matrix multiplication" (TOMS 2008). Panels of 4 rows of A and of 8 columns of B lie so that the tile
 * loop reads both in order; the packers take any strides, or tables of offsets, so that transposes and
 * convolutions' patches are never materialised.
 */

/** 4 × 8 with one step of k per turn: larger tiles spill V8's 15 vector registers on Node 20. */
export const tileRows = 4;
export const tileColumns = 8;

const address = (base: Local, offset: Code): Code => op('i32.add', get(base), offset);

/** Four addresses whose vectors of consecutive k are wanted side by side. */
class LaneGroup {
  readonly #f: FunctionBuilder;
  readonly #lanes: readonly Local[];
  readonly #value: Local;
  readonly #transposed: readonly Local[];

  constructor(f: FunctionBuilder) {
    this.#f = f;
    this.#lanes = [0, 1, 2, 3].map(() => f.local('i32'));
    this.#value = f.local('v128');
    this.#transposed = [0, 1, 2, 3].map(() => f.local('v128'));
  }

  setLane(i: number, at: Code): void {
    this.#f.set(this.#lanes[i]!, at);
  }

  get adjacent(): Code {
    const [first, ...others] = this.#lanes as [Local, Local, Local, Local];
    const tests = others.map((lane, i) =>
      op('i32.eq', get(lane), op('i32.add', get(first), i32((i + 1) * 4))),
    );
    return tests.reduce((a, b) => op('i32.and', a, b));
  }

  advance(by: Code): void {
    for (const lane of this.#lanes) this.#f.add(lane, by);
  }

  /** One vector from adjacent lanes, at an offset. */
  storeAdjacent(to: Local, offset?: Code): void {
    const at = offset ? address(this.#lanes[0]!, offset) : get(this.#lanes[0]!);
    this.#f.emit(store('v128.store', get(to), load('v128.load', at)));
  }

  storeGathered(to: Local, offset?: Code): void {
    const at = (i: number) => (offset ? address(this.#lanes[i]!, offset) : get(this.#lanes[i]!));
    let vector = load('v128.load32_zero', at(0));
    for (let i = 1; i < 4; i++) {
      this.#f.set(this.#value, vector);
      vector = memoryLane('v128.load32_lane', at(i), get(this.#value), i);
    }
    this.#f.emit(store('v128.store', get(to), vector));
  }

  /** Four steps of k whose elements are adjacent in each lane: a 4 × 4 transpose. */
  storeTransposed(to: Local, step: number): void {
    const f = this.#f;
    const t = this.#transposed;
    this.#lanes.forEach((lane, i) => {
      f.set(t[i]!, load('v128.load', get(lane)));
    });
    transposeFour(f, t).forEach((column, i) => {
      f.emit(store('v128.store', get(to), column, i * step));
    });
  }
}

/** Index of a lane of the panel, the last one repeated: its results are thrown away. */
function clampedLane(left: Local, index: number): Code {
  const last = op('i32.sub', get(left), i32(1));
  return op('select', i32(index), last, op('i32.lt_s', i32(index), get(left)));
}

/** Loops over panels of `width` lanes, and over the groups of four in each. */
function forEachGroup(
  f: FunctionBuilder,
  width: number,
  { to, lanes, k }: { readonly to: Local; readonly lanes: Local; readonly k: Local },
  nextPanel: () => void,
  body: (firstLane: number, place: Local) => void,
): void {
  const place = f.local('i32');
  f.while(op('i32.gt_s', get(lanes), i32(0)), () => {
    for (let first = 0; first < width; first += 4) {
      f.set(place, op('i32.add', get(to), i32(first * 4)));
      body(first, place);
    }
    f.add(to, op('i32.mul', get(k), i32(width * 4)));
    f.add(lanes, -width);
    nextPanel();
  });
}

/** (to, from, lanes, laneStride, kStride, k): strides in bytes. */
function packStrided(width: number) {
  return (f: FunctionBuilder): void => {
    const [to, from, lanes, laneStride, kStride, k] = [0, 1, 2, 3, 4, 5].map(() => f.param()) as [
      Local,
      Local,
      Local,
      Local,
      Local,
      Local,
    ];
    const step = width * 4;
    const left = f.local('i32');
    const group = new LaneGroup(f);
    const nextPanel = () => f.add(from, op('i32.mul', get(laneStride), i32(width)));
    forEachGroup(f, width, { to, lanes, k }, nextPanel, (first, place) => {
      for (let i = 0; i < 4; i++) {
        const offset = op('i32.mul', clampedLane(lanes, first + i), get(laneStride));
        group.setLane(i, address(from, offset));
      }
      f.set(left, get(k));
      f.if(
        group.adjacent,
        () =>
          f.countDown(left, 1, () => {
            group.storeAdjacent(place);
            group.advance(get(kStride));
            f.add(place, step);
          }),
        () => {
          f.if(op('i32.eq', get(kStride), i32(4)), () =>
            f.countDown(left, 4, () => {
              group.storeTransposed(place, step);
              group.advance(i32(16));
              f.add(place, step * 4);
            }),
          );
          f.countDown(left, 1, () => {
            group.storeGathered(place);
            group.advance(get(kStride));
            f.add(place, step);
          });
        },
      );
    });
  };
}

/** (to, from, laneTable, lanes, kTable, k): element (lane, k) at from + laneTable[lane] + kTable[k]. */
function packTable(width: number) {
  return (f: FunctionBuilder): void => {
    const [to, from, laneTable, lanes, kTable, k] = [0, 1, 2, 3, 4, 5].map(() => f.param()) as [
      Local,
      Local,
      Local,
      Local,
      Local,
      Local,
    ];
    const step = width * 4;
    const left = f.local('i32');
    const entry = f.local('i32');
    const group = new LaneGroup(f);
    const nextPanel = () => f.add(laneTable, width * 4);
    forEachGroup(f, width, { to, lanes, k }, nextPanel, (first, place) => {
      for (let i = 0; i < 4; i++) {
        const index = op('i32.shl', clampedLane(lanes, first + i), i32(2));
        group.setLane(i, address(from, load('i32.load', address(laneTable, index))));
      }
      f.set(left, get(k));
      f.set(entry, get(kTable));
      const rows = (storeRow: (offset: Code) => void) => () =>
        f.countDown(left, 1, () => {
          storeRow(load('i32.load', get(entry)));
          f.add(place, step);
          f.add(entry, 4);
        });
      const offset = f.local('i32');
      f.if(
        group.adjacent,
        rows((code) => group.storeAdjacent(place, code)),
        rows((code) => {
          f.set(offset, code);
          group.storeGathered(place, get(offset));
        }),
      );
    });
  };
}

/**
 * (aPanels, bPanels, c, m, n, k, cRowBytes, accumulate): c (+)= a · b for one block. Columns of c are
 * adjacent. Tiles at the edges go through a scratch tile.
 */
function multiplyPanels(f: FunctionBuilder): void {
  const [aPanels, bPanels, c, m, n, k, cRow, accumulate] = [0, 1, 2, 3, 4, 5, 6, 7].map(() =>
    f.param(),
  ) as [Local, Local, Local, Local, Local, Local, Local, Local];
  const [a, b, rowsLeft, left, to, toRow, whole] = [0, 1, 2, 3, 4, 5, 6].map(() =>
    f.local('i32'),
  ) as [Local, Local, Local, Local, Local, Local, Local];
  const [b0, b1, scalar] = [0, 1, 2].map(() => f.local('v128')) as [Local, Local, Local];
  const sums = Array.from({ length: tileRows }, () => [f.local('v128'), f.local('v128')] as const);
  const tile = f.local('i32');

  const computeTile = () => {
    for (const row of sums) for (const sum of row) f.set(sum, f32x4(0));
    f.set(b, get(bPanels));
    f.set(left, get(k));
    f.countDown(left, 1, () => {
      f.set(b0, load('v128.load', get(b)));
      f.set(b1, load('v128.load', get(b), 16));
      sums.forEach(([sum0, sum1], r) => {
        f.set(scalar, load('v128.load32_splat', get(a), r * 4));
        f.set(sum0, op('f32x4.add', get(sum0), op('f32x4.mul', get(scalar), get(b0))));
        f.set(sum1, op('f32x4.add', get(sum1), op('f32x4.mul', get(scalar), get(b1))));
      });
      f.add(a, tileRows * 4);
      f.add(b, tileColumns * 4);
    });
  };

  const storeTile = () => {
    const wholeTile = op('i32.ge_s', get(n), i32(tileColumns));
    f.set(whole, op('i32.and', op('i32.ge_s', get(rowsLeft), i32(tileRows)), wholeTile));
    f.set(to, op('select', get(tile), i32(tileAt), get(whole)));
    f.set(toRow, op('select', get(cRow), i32(tileColumns * 4), get(whole)));
    f.if(op('i32.and', get(whole), get(accumulate)), () => {
      const at = f.local('i32', get(to));
      for (const row of sums) {
        row.forEach((sum, i) => {
          f.set(sum, op('f32x4.add', load('v128.load', get(at), i * 16), get(sum)));
        });
        f.add(at, get(toRow));
      }
    });
    for (const row of sums) {
      row.forEach((sum, i) => {
        f.emit(store('v128.store', get(to), get(sum), i * 16));
      });
      f.add(to, get(toRow));
    }
    f.if(op('i32.eqz', get(whole)), copyEdge);
  };

  const [edgeRows, edgeColumns, from, row] = [0, 1, 2, 3].map(() => f.local('i32')) as [
    Local,
    Local,
    Local,
    Local,
  ];
  const copyEdge = () => {
    const smaller = (x: Local, limit: number) =>
      op('select', get(x), i32(limit), op('i32.lt_s', get(x), i32(limit)));
    f.set(edgeRows, smaller(rowsLeft, tileRows));
    f.set(row, i32(0));
    f.countDown(edgeRows, 1, () => {
      f.set(edgeColumns, smaller(n, tileColumns));
      f.set(from, op('i32.add', i32(tileAt), op('i32.mul', get(row), i32(tileColumns * 4))));
      f.set(to, op('i32.add', get(tile), op('i32.mul', get(row), get(cRow))));
      f.countDown(edgeColumns, 1, () => {
        const added = op('f32.add', load('f32.load', get(to)), load('f32.load', get(from)));
        f.if(
          get(accumulate),
          () => f.emit(store('f32.store', get(to), added)),
          () => f.emit(store('f32.store', get(to), load('f32.load', get(from)))),
        );
        f.add(from, 4);
        f.add(to, 4);
      });
      f.add(row, 1);
    });
  };

  f.while(op('i32.gt_s', get(n), i32(0)), () => {
    f.set(a, get(aPanels));
    f.set(rowsLeft, get(m));
    f.set(tile, get(c));
    f.while(op('i32.gt_s', get(rowsLeft), i32(0)), () => {
      computeTile();
      storeTile();
      f.add(rowsLeft, -tileRows);
      f.add(tile, op('i32.mul', get(cRow), i32(tileRows)));
    });
    f.add(bPanels, op('i32.mul', get(k), i32(tileColumns * 4)));
    f.add(n, -tileColumns);
    f.add(c, tileColumns * 4);
  });
}

export const gemmKernels = lazily(() =>
  compile({
    packA: packStrided(tileRows),
    packB: packStrided(tileColumns),
    packTableA: packTable(tileRows),
    packTableB: packTable(tileColumns),
    multiplyPanels,
  }),
);
