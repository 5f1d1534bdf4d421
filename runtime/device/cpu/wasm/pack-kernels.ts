import { linesCountAt } from '../core/scratch.ts';
import { type Code, i32, load, memoryLane, op, store } from './assembler/code.ts';
import { type FunctionBuilder, get, type Local } from './assembler/function-builder.ts';
import { count } from './product-counts.ts';
import { transposeFour } from './transpose-kernel.ts';

/**
 * The packers of a matrix product. They accept any strides, or tables of offsets, so transposes and convolution patches
 * are never materialized.
 */

const address = (base: Local, offset: Code): Code => op('i32.add', get(base), offset);

/** Four addresses whose vectors of consecutive k are interleaved. */
class LaneGroup {
  readonly #f: FunctionBuilder;
  readonly #lanes: readonly Local[];
  readonly #value: Local;
  readonly #transposed: readonly Local[];

  constructor(f: FunctionBuilder) {
    this.#f = f;
    this.#lanes = f.locals('i32', 4);
    this.#value = f.local('v128');
    this.#transposed = f.locals('v128', 4);
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

  /** Stores one vector from adjacent lanes, at an offset. */
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

  /** Stores four steps of k whose elements are adjacent in each lane: a 4 × 4 transpose. */
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

/** Returns the index of a lane of the panel, clamped to the last one; the results of repeated lanes are discarded. */
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
    // The last group comes first: elements that it writes past the panel's lanes are then overwritten.
    for (let first = Math.ceil(width / 4) * 4 - 4; first >= 0; first -= 4) {
      f.set(place, op('i32.add', get(to), i32(first * 4)));
      body(first, place);
    }
    f.add(to, op('i32.mul', get(k), i32(width * 4)));
    f.add(lanes, -width);
    nextPanel();
  });
}

/** The number of lanes per cache line. */
const lineLanes = 16;

/** (to, from, lanes, laneStride, kStride, k): strides in bytes. */
export function packStrided(width: number) {
  return (f: FunctionBuilder): void => {
    const [to, from, lanes, laneStride, kStride, k] = f.params(6);
    const step = width * 4;
    const left = f.local('i32');
    if (lineLanes % width === 0) {
      f.if(op('i32.eq', get(laneStride), i32(4)), () => {
        packLines(f, width, { to, from, lanes, kStride, k });
      });
    }
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

/**
 * Packs panels of adjacent lanes, a cache line of lanes at a time: rows may be so far apart that few stay in the cache,
 * and each would be reread for the next panel.
 */
function packLines(
  f: FunctionBuilder,
  width: number,
  {
    to,
    from,
    lanes,
    kStride,
    k,
  }: Readonly<Record<'to' | 'from' | 'lanes' | 'kStride' | 'k', Local>>,
): void {
  const panels = Array.from({ length: lineLanes / width }, () => f.local('i32'));
  const [at, left] = f.locals('i32', 2);
  f.while(op('i32.ge_s', get(lanes), i32(lineLanes)), () => {
    count(f, linesCountAt);
    for (const panel of panels) {
      f.set(panel, get(to));
      f.add(to, op('i32.mul', get(k), i32(width * 4)));
    }
    f.set(at, get(from));
    f.set(left, get(k));
    f.countDown(left, 1, () => {
      panels.forEach((panel, p) => {
        for (let lane = 0; lane < width; lane += 4) {
          const vector = load('v128.load', get(at), (p * width + lane) * 4);
          f.emit(store('v128.store', get(panel), vector, lane * 4));
        }
        f.add(panel, width * 4);
      });
      f.add(at, get(kStride));
    });
    f.add(from, lineLanes * 4);
    f.add(lanes, -lineLanes);
  });
}

/** (to, from, laneTable, lanes, kTable, k): element (lane, k) is at from + laneTable[lane] + kTable[k]. */
export function packTable(width: number) {
  return (f: FunctionBuilder): void => {
    const [to, from, laneTable, lanes, kTable, k] = f.params(6);
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
