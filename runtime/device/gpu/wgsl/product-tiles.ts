import type { WgslWriter } from './wgsl-writer.ts';

/** Outputs and products of one workgroup: each thread has `perThread` × `perThread` outputs in registers. */
export interface Tile {
  /** Threads along rows, and along columns. */
  readonly threads: number;
  readonly perThread: number;
  /** Products per step, the depth of what lies in workgroup memory. */
  readonly depth: number;
}

const middleTile: Tile = { threads: 8, perThread: 4, depth: 16 };
const largeTile: Tile = { threads: 16, perThread: 4, depth: 16 };

/** Null: one thread per output, which waits for no other one; what threads could share is too little. */
export function tileFor(m: number, k: number, n: number, batches: number): Tile | null {
  const least = Math.min(m, n);
  if (least <= 8 || k < 8) return null;
  const largeTiles = Math.ceil(m / 64) * Math.ceil(n / 64) * batches;
  return least > 32 && largeTiles >= 16 ? largeTile : middleTile;
}

/** Rows, and columns, of a tile's outputs. */
export function sideOf({ threads, perThread }: Tile): number {
  return threads * perThread;
}

/** One operand of a product: the left one has an element per row and step, the right one per column and step. */
export interface FactorTexts {
  /** Elements of neighbouring steps are neighbours in memory, rather than those of neighbouring rows or columns. */
  readonly isAlongSteps: boolean;
  /**
   * Writes what depends on the row or column alone, and returns what gives the element of step `k`, which has the
   * number `slot` among the steps in workgroup memory.
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
  /** Writes what depends on the column alone, and returns the statement that stores an output. */
  readonly store: (column: string) => (row: string, value: string) => string;
  /** Writes what all threads share of step `k`: one thread does for each step, before factors are read. */
  readonly prepare?: (k: string, slot: string) => void;
}

/** Writes the outputs of the tile with number `group`. */
export function tileText(w: WgslWriter, tile: Tile, t: ProductTexts): void {
  const { threads, perThread, depth } = tile;
  const side = sideOf(tile);
  const all = threads * threads;
  const elements = side * depth;
  const outputs = [...Array(perThread * perThread).keys()];
  const own = [...Array(perThread).keys()];
  w.line(
    `let across = (${t.n} + ${side - 1}u) / ${side}u;`,
    `let row0 = (group / across) * ${side}u;`,
    `let column0 = (group % across) * ${side}u;`,
    `let tx = thread % ${threads}u;`,
    `let ty = thread / ${threads}u;`,
    ...outputs.map((i) => `var sum${i} = 0.0f;`),
  );
  const loads = [
    loadText(w, tile, 'left', t.left, 'row0', t.m),
    loadText(w, tile, 'right', t.right, 'column0', t.n),
  ];
  const prepare = (first: string) => {
    if (!t.prepare) return;
    w.line(`if (thread < ${depth}u) {`);
    t.prepare(`${first} + thread`, 'thread');
    w.line('}');
  };
  prepare('0u');
  if (t.prepare) w.line('workgroupBarrier();');
  w.line(`for (var k0 = 0u; k0 < ${t.k}; k0 = k0 + ${depth}u) {`);
  w.line(`for (var i = thread; i < ${elements}u; i = i + ${all}u) {`);
  for (const load of loads) load(`k0`, t.k);
  w.line('}', 'workgroupBarrier();');
  // What the loads have read is free for the next steps'.
  prepare(`k0 + ${depth}u`);
  w.line(
    // Products of what lies beyond k would make NaN of 0 × Infinity.
    `let steps = min(${depth}u, ${t.k} - k0);`,
    'for (var j = 0u; j < steps; j = j + 1u) {',
    ...own.map((i) => `let a${i} = leftTile[j * ${side}u + ty + ${i * threads}u];`),
    ...own.map((i) => `let c${i} = rightTile[j * ${side}u + tx + ${i * threads}u];`),
    ...outputs.map((i) => {
      const [row, column] = [Math.floor(i / perThread), i % perThread];
      return `sum${i} = sum${i} + a${row} * c${column};`;
    }),
    '}',
    'workgroupBarrier();',
    '}',
  );
  for (const c of own) {
    const column = w.let(`column0 + tx + ${c * threads}u`);
    w.line(`if (${column} < ${t.n}) {`);
    const store = t.store(column);
    for (const r of own) {
      const row = `row0 + ty + ${r * threads}u`;
      w.line(`if (${row} < ${t.m}) { ${store(row, `sum${r * perThread + c}`)} }`);
    }
    w.line('}');
  }
}

/**
 * Declares a factor's part of workgroup memory, [depth, side], so that threads of a row read one element or
 * neighbours; returns what writes the load of its element `i`.
 */
function loadText(
  w: WgslWriter,
  tile: Tile,
  name: 'left' | 'right',
  { isAlongSteps, at }: FactorTexts,
  first: string,
  count: string,
) {
  const side = sideOf(tile);
  w.shared(`${name}Tile`, `array<f32, ${side * tile.depth}>`);
  // The number of threads is a multiple of the side: each thread loads of one row or column only.
  const hoisted = isAlongSteps ? null : w.let(`${first} + thread % ${side}u`);
  const elementOfHoisted = hoisted === null ? null : at(hoisted);
  return (k0: string, k: string): void => {
    const slot = w.let(isAlongSteps ? `i % ${tile.depth}u` : `i / ${side}u`);
    const outer = hoisted ?? w.let(`${first} + i / ${tile.depth}u`);
    const value = w.name();
    w.line(`var ${value} = 0.0f;`, `if (${outer} < ${count} && ${k0} + ${slot} < ${k}) {`);
    const element = (elementOfHoisted ?? at(outer))(`${k0} + ${slot}`, slot);
    w.line(`${value} = ${element};`, '}');
    w.line(`${name}Tile[${slot} * ${side}u + ${outer} - ${first}] = ${value};`);
  };
}
