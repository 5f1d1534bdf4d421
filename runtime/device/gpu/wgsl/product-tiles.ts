import { invariant } from '../../../errors/invariant.ts';
import type { WgslWriter } from './wgsl-writer.ts';

/** The outputs and products of one workgroup, whose threads have `rows` × `columns` outputs each in registers. */
export interface Tile {
  readonly rowThreads: number;
  readonly columnThreads: number;
  /** The outputs per thread, in blocks of 4 along each dimension. */
  readonly rows: number;
  readonly columns: number;
  /** The number of products per step, the depth of workgroup memory. */
  readonly depth: number;
  /** The number of thread sets, each of which adds a slice of a step's products; their sums are added at the end. */
  readonly slices: number;
  /** Whether the next step's elements are loaded during a step, which takes registers. */
  readonly prefetches: boolean;
}

const square = (threads: number): Tile => ({
  rowThreads: threads,
  columnThreads: threads,
  rows: 4,
  columns: 4,
  depth: 16,
  slices: 1,
  prefetches: true,
});
const smallTile = square(8);
/** Few tiles leave most of a GPU idle, so each has four times the threads. */
const slicedTile: Tile = { ...smallTile, depth: 64, slices: 4 };
const middleTile = square(16);
/** Its two factors fill the 16 KiB of workgroup memory that every adapter has. */
const largeTile: Tile = {
  rowThreads: 8,
  columnThreads: 16,
  rows: 16,
  columns: 8,
  depth: 16,
  slices: 1,
  prefetches: false,
};

/** The number of workgroups that keep a GPU busy with tiles of this size. */
const enoughSmall = 256;
const enoughMiddle = 128;
const enoughLarge = 256;

/**
 * Returns the tile of a product; null if threads should share the sum of each output, because tiles would share
 * too little. `batches` is null for single matrices. Batched products are summed in the order of tiled attention.
 */
export function tileFor(m: number, k: number, n: number, batches: number | null): Tile | null {
  const least = Math.min(m, n);
  if (least <= 8 || k < 8) return null;
  const tiles = (tile: Tile) => tilesOf(tile, m, n) * (batches ?? 1);
  if (least > 64 && tiles(largeTile) >= enoughLarge) return largeTile;
  if (least > 32 && tiles(middleTile) >= enoughMiddle) return middleTile;
  const isSliced = batches === null && k >= slicedTile.depth && tiles(smallTile) < enoughSmall;
  return isSliced ? slicedTile : smallTile;
}

/** Whether a product has so few tiles, of this many steps each, that most of a GPU would be idle. */
export function areFewSums(m: number, k: number, n: number, batches: number): boolean {
  return k >= 128 && tilesOf(smallTile, m, n) * batches < 16;
}

/** Returns a tile for a product that also keeps other data in workgroup memory. */
export function withRoom(tile: Tile | null): Tile | null {
  if (tile === slicedTile) return smallTile;
  return tile === largeTile ? { ...tile, depth: 8 } : tile;
}

export function threadsOf(tile: Tile): number {
  return sliceThreads(tile) * tile.slices;
}

/** Returns the number of threads that cover all outputs of a tile. */
function sliceThreads({ rowThreads, columnThreads }: Tile): number {
  return rowThreads * columnThreads;
}

/** Returns the number of tiles of m × n outputs. */
export function tilesOf(tile: Tile, m: number, n: number): number {
  return Math.ceil(m / height(tile)) * Math.ceil(n / width(tile));
}

const height = ({ rowThreads, rows }: Tile): number => rowThreads * rows;
const width = ({ columnThreads, columns }: Tile): number => columnThreads * columns;

/** One factor of a product: the left one has an element per row and step, the right one per column and step. */
interface FactorTexts {
  /** Whether elements of adjacent steps are adjacent in memory, rather than of adjacent rows or columns. */
  readonly isAlongSteps: boolean;
  /**
   * Writes what depends only on the row or column, and returns a function for the element of step `k`, which has
   * index `slot` among the steps in workgroup memory.
   */
  readonly at: (outer: string) => (k: string, slot: string) => string;
}

/** A product as text. The numbers of rows, columns and steps are the same for all threads of a workgroup. */
export interface ProductTexts {
  readonly m: string;
  readonly n: string;
  readonly k: string;
  readonly left: FactorTexts;
  readonly right: FactorTexts;
  /** Writes what depends only on the column, and returns a function for the statement that stores an output. */
  readonly store: (column: string) => (row: string, value: string) => string;
  /** Writes what all threads share of step `k`; one thread executes it per step, before factors are read. */
  readonly prepare?: (k: string, slot: string) => void;
}

const block = ['x', 'y', 'z', 'w'] as const;

/** Writes the outputs of tile `group`. */
export function tileText(w: WgslWriter, tile: Tile, t: ProductTexts): void {
  const { rowThreads, columnThreads, depth, slices } = tile;
  w.line(
    `let across = (${t.n} + ${width(tile) - 1}u) / ${width(tile)}u;`,
    `let row0 = (group / across) * ${height(tile)}u;`,
    `let column0 = (group % across) * ${width(tile)}u;`,
    `let tx = thread % ${columnThreads}u;`,
    `let ty = (thread / ${columnThreads}u) % ${rowThreads}u;`,
  );
  if (slices > 1) w.line(`let slice = thread / ${sliceThreads(tile)}u;`);
  for (const name of sumsOf(tile).flat()) w.line(`var ${name} = vec4<f32>();`);
  const factors = [
    factorText(w, tile, { name: 'left', side: height(tile), first: 'row0', count: t.m }, t.left),
    factorText(
      w,
      tile,
      { name: 'right', side: width(tile), first: 'column0', count: t.n },
      t.right,
    ),
  ];
  const load = () => {
    for (const factor of factors) factor.load('k0', t.k);
  };
  const prepare = (first: string) => {
    if (!t.prepare) return;
    w.line(`if (thread < ${depth}u) {`);
    t.prepare(`${first} + thread`, 'thread');
    w.line('}');
  };
  const store = () => {
    for (const factor of factors) factor.store();
  };
  if (tile.prefetches && !t.prepare) {
    // Each step computes with what the previous one loaded, hiding memory latency.
    w.line(`for (var k0 = 0u; k0 < ${t.k} + ${depth}u; k0 = k0 + ${depth}u) {`);
    load();
    w.line('if (k0 > 0u) {');
    stepsText(w, tile);
    w.line('}', 'workgroupBarrier();');
    store();
    w.line('workgroupBarrier();', '}');
  } else {
    prepare('0u');
    if (t.prepare) w.line('workgroupBarrier();');
    w.line(`for (var k0 = 0u; k0 < ${t.k}; k0 = k0 + ${depth}u) {`);
    load();
    store();
    w.line('workgroupBarrier();');
    // The data read by the loads can now be replaced for the next steps.
    prepare(`k0 + ${depth}u`);
    stepsText(w, tile);
    w.line('workgroupBarrier();', '}');
  }
  outputsText(w, tile, t);
}

/** Returns the names of a thread's sums, each of four adjacent columns, by row and block of columns. */
function sumsOf({ rows, columns }: Tile): string[][] {
  return Array.from({ length: rows }, (_, r) =>
    Array.from({ length: columns / 4 }, (_, v) => `sum${r}_${v}`),
  );
}

/** Adds the products of the steps in workgroup memory; steps past the last one are 0 · 0. */
function stepsText(w: WgslWriter, tile: Tile): void {
  const { rowThreads, columnThreads, rows, columns, depth, slices } = tile;
  const sliceDepth = depth / slices;
  const first = slices > 1 ? w.let(`slice * ${sliceDepth}u`) : '0u';
  const end = slices > 1 ? `${first} + ${sliceDepth}u` : `${sliceDepth}u`;
  w.line(`for (var j = ${first}; j < ${end}; j = j + 1u) {`);
  for (let i = 0; i < rows / 4; i++) {
    w.line(`let a${i} = leftTile[j * ${height(tile) / 4}u + ty + ${i * rowThreads}u];`);
  }
  for (let v = 0; v < columns / 4; v++) {
    w.line(`let c${v} = rightTile[j * ${width(tile) / 4}u + tx + ${v * columnThreads}u];`);
  }
  sumsOf(tile).forEach((sums, r) => {
    const factor = `a${r >> 2}.${block[r & 3]!}`;
    for (const [v, sum] of sums.entries()) w.line(`${sum} = ${sum} + ${factor} * c${v};`);
  });
  w.line('}');
}

/**
 * Stores the outputs, one row per thread at a time, through workgroup memory: adjacent threads store adjacent elements,
 * and an element's text occurs only once.
 */
function outputsText(w: WgslWriter, tile: Tile, t: ProductTexts): void {
  const { rowThreads, columnThreads, rows, slices } = tile;
  const side = width(tile);
  /** The number of blocks in one row per thread of a slice. */
  const blocks = (rowThreads * side) / 4;
  const firstBlock = slices > 1 ? `slice * ${blocks}u + ` : '';
  w.line(`for (var r = 0u; r < ${rows}u; r = r + 1u) {`);
  sumsOf(tile).forEach((sums, r) => {
    w.line(`if (r == ${r}u) {`);
    for (const [v, sum] of sums.entries()) {
      w.line(`leftTile[${firstBlock}ty * ${side / 4}u + tx + ${v * columnThreads}u] = ${sum};`);
    }
    w.line('}');
  });
  w.line(
    'workgroupBarrier();',
    `for (var i = thread; i < ${rowThreads * side}u; i = i + ${threadsOf(tile)}u) {`,
    `let column = column0 + i % ${side}u;`,
    // The blocks of 4 rows of all threads are consecutive.
    `let row = row0 + (i / ${side}u) * 4u + (r / 4u) * ${rowThreads * 4}u + r % 4u;`,
    `if (row < ${t.m} && column < ${t.n}) {`,
  );
  const partials = Array.from({ length: slices }, (_, slice) => {
    const from = slice > 0 ? `${slice * blocks}u + ` : '';
    return `leftTile[${from}i / 4u][i % 4u]`;
  });
  const value = w.let(partials.join(' + '));
  w.line(t.store('column')('row', value), '}', '}', 'workgroupBarrier();', '}');
}

interface TiledFactor {
  readonly name: 'left' | 'right';
  /** The rows or columns of a tile. */
  readonly side: number;
  /** The first row or column of the tile, and the number of all, as texts. */
  readonly first: string;
  readonly count: string;
}

/**
 * Writes a factor's part of workgroup memory, [depth, side] in blocks of 4 along the side. `load` reads a thread's
 * elements of the steps from `k0` on into registers, `store` writes them to workgroup memory.
 */
function factorText(
  w: WgslWriter,
  tile: Tile,
  { name, side, first, count }: TiledFactor,
  { isAlongSteps, at }: FactorTexts,
): { load: (k0: string, k: string) => void; store: () => void } {
  const { depth } = tile;
  const all = threadsOf(tile);
  const blocks = (side * depth) / 4;
  const across = isAlongSteps ? depth / 4 : side / 4;
  invariant(blocks % all === 0 && all % across === 0, 'threads share the loads of a tile evenly');
  w.shared(`${name}Tile`, `array<vec4<f32>, ${blocks}>`);
  const numbers = [...Array(blocks / all).keys()];
  const values = numbers.map((q) => `${name}${q}`);
  w.line(...values.map((value) => `var ${value} = vec4<f32>();`));
  // A thread's blocks are in one column of blocks.
  const inner = w.let(`(thread % ${across}u) * 4u`);
  const lines = numbers.map((q) => w.let(`thread / ${across}u + ${(q * all) / across}u`));
  const outers = (isAlongSteps ? lines : block.map((_, c) => `${inner} + ${c}u`)).map((each) =>
    w.let(`${first} + ${each}`),
  );
  const elements = outers.map((outer) => at(outer));
  /** Returns the indices of a block's element: of its row or column, and of its step. */
  const placeOf = (q: number, c: number): readonly [outer: number, slot: string] =>
    isAlongSteps ? [q, `${inner} + ${c}u`] : [c, lines[q]!];
  return {
    load: (k0, k) => {
      for (const [q, value] of values.entries()) {
        const lanes = block.map((_, c) => {
          const [outer, slot] = placeOf(q, c);
          const step = `${k0} + ${slot}`;
          const element = elements[outer]!(step, slot);
          // Without a branch: elements outside may be read, as arbitrary values.
          return `select(0.0f, ${element}, (${outers[outer]!} < ${count}) & (${step} < ${k}))`;
        });
        w.line(`${value} = vec4<f32>(${lanes.join(', ')});`);
      }
    },
    store: () => {
      for (const [q, value] of values.entries()) {
        const line = lines[q]!;
        if (!isAlongSteps) {
          w.line(`${name}Tile[${line} * ${side / 4}u + ${inner} / 4u] = ${value};`);
          continue;
        }
        for (const [c, lane] of block.entries()) {
          w.line(
            `${name}Tile[(${inner} + ${c}u) * ${side / 4}u + ${line} / 4u][${line} % 4u] = ${value}.${lane};`,
          );
        }
      }
    },
  };
}
