import type { TensorMeta } from '../../../tensor/meta.ts';
import { sizeOf } from '../../../tensor/shape.ts';
import { input, output } from '../kernel-plan.ts';
import { indexTexts, walksOf } from './index-text.ts';
import { chosenByNothing, type WgslPlan } from './wgsl-plan.ts';
import { groupsOf, workgroupThreads } from './wgsl-text.ts';
import { WgslWriter } from './wgsl-writer.ts';

/** Outputs and products of one workgroup: each thread has `perThread` × `perThread` outputs in registers. */
interface Tile {
  /** Threads along rows, and along columns. */
  readonly threads: number;
  readonly perThread: number;
  /** Products per step, the depth of what lies in workgroup memory. */
  readonly depth: number;
}

const middleTile: Tile = { threads: 8, perThread: 4, depth: 16 };
const largeTile: Tile = { threads: 16, perThread: 4, depth: 16 };

/** Null: one thread per output, which waits for no other one; what threads could share is too little. */
function tileFor(m: number, k: number, n: number, batches: number): Tile | null {
  const least = Math.min(m, n);
  if (least <= 8 || k < 8) return null;
  const largeTiles = Math.ceil(m / 64) * Math.ceil(n / 64) * batches;
  return least > 32 && largeTiles >= 16 ? largeTile : middleTile;
}

/** How an operand's rows and columns lie: which of both its neighbours in memory are. */
interface Sides {
  readonly row: number;
  readonly column: number;
}

/** [batches…, m, k] × [batches…, k, n], any strides; sums in the order of k. */
export function matmulPlan([a, b]: readonly TensorMeta[], [out]: readonly TensorMeta[]): WgslPlan {
  const rank = out!.shape.length;
  const batchShape = out!.shape.slice(0, -2);
  const [m, n] = [out!.shape[rank - 2]!, out!.shape[rank - 1]!];
  const k = a!.shape[rank - 1]!;
  const batches = sizeOf(batchShape);
  const metas = [a!, b!, out!];
  const { loops } = walksOf(
    batchShape,
    metas.map(({ strides }) => strides.slice(0, -2)),
  );
  const [left, right, result] = metas.map(
    ({ strides }): Sides => ({ row: strides[rank - 2]!, column: strides[rank - 1]! }),
  ) as [Sides, Sides, Sides];
  const tile = tileFor(m, k, n, batches);
  const side = tile ? tile.threads * tile.perThread : 1;
  const tiles = Math.ceil(m / side) * Math.ceil(n / side);
  const threads = tile ? tile.threads * tile.threads : workgroupThreads;
  return {
    scratch: [],
    stages: [
      {
        operands: metas.map((_, i) => ({
          slot: i < 2 ? input(i) : output(0),
          written: i === 2,
          walk: null,
          elements: i === 2 ? sizeOf(out!.shape) : 0,
        })),
        isEmpty: sizeOf(out!.shape) === 0,
        chosenBy: chosenByNothing,
        write: ({ bindings, written }) => {
          const w = new WgslWriter({ threads, written });
          const counts = { m: w.count('m', m), n: w.count('n', n), k: w.count('k', k) };
          const batch = w.count('batches', batches);
          w.line(`for (var z = at.z; z < ${batch}; z = z + count.z) {`);
          const bases = indexTexts(w, loops, 'z', 'batch_');
          const first = bases.map((base, i) => w.let(`${w.offset(i)} + ${base}`));
          const step = (name: string, stride: number) =>
            stride === 1 ? '' : ` * ${w.count(name, stride)}`;
          const texts: ProductTexts = {
            ...counts,
            a: (row, column) =>
              `b${bindings[0]!}[${first[0]!} + (${row})${step('aRow', left.row)} + (${column})${step('aColumn', left.column)}]`,
            b: (row, column) =>
              `b${bindings[1]!}[${first[1]!} + (${row})${step('bRow', right.row)} + (${column})${step('bColumn', right.column)}]`,
            out: (row, column) =>
              `b${bindings[2]!}[${first[2]!} + (${row})${step('outRow', result.row)} + (${column})${step('outColumn', result.column)}]`,
            aByRows: left.column === 1,
            bByRows: right.column === 1 || right.row !== 1,
          };
          if (tile) tileText(w, tile, texts);
          else directText(w, texts);
          w.line('}');
          return {
            text: w.text(),
            uniforms: w.uniforms,
            groups: groupsOf(
              tile ? tiles : Math.ceil(tiles / workgroupThreads),
              Math.min(batches, mostSlices),
            ),
          };
        },
      },
    ],
  };
}

/** Workgroups along z; more batches than these take several rounds. */
const mostSlices = 65535;

interface ProductTexts {
  readonly m: string;
  readonly n: string;
  readonly k: string;
  readonly a: (row: string, column: string) => string;
  readonly b: (row: string, column: string) => string;
  readonly out: (row: string, column: string) => string;
  /** Whether threads that load neighbours of one row of it load neighbours in memory. */
  readonly aByRows: boolean;
  readonly bByRows: boolean;
}

function directText(w: WgslWriter, t: ProductTexts): void {
  w.line(
    `let i = group * ${workgroupThreads}u + thread;`,
    `let row = i / ${t.n};`,
    `let column = i - row * ${t.n};`,
    `if (row < ${t.m}) {`,
    'var sum = 0.0f;',
    `for (var j = 0u; j < ${t.k}; j = j + 1u) {`,
    `sum = sum + ${t.a('row', 'j')} * ${t.b('j', 'column')};`,
    '}',
    `${t.out('row', 'column')} = sum;`,
    '}',
  );
}

function tileText(w: WgslWriter, { threads, perThread, depth }: Tile, t: ProductTexts): void {
  const side = threads * perThread;
  const all = threads * threads;
  const elements = side * depth;
  w.shared('aTile', `array<f32, ${elements}>`);
  w.shared('bTile', `array<f32, ${elements}>`);
  const outputs = [...Array(perThread * perThread).keys()];
  const own = [...Array(perThread).keys()];
  w.line(
    `let across = (${t.n} + ${side - 1}u) / ${side}u;`,
    `let row0 = (group / across) * ${side}u;`,
    `let column0 = (group % across) * ${side}u;`,
  );
  w.line(`let tx = thread % ${threads}u;`, `let ty = thread / ${threads}u;`);
  w.line(...outputs.map((i) => `var sum${i} = 0.0f;`));
  w.line(`for (var k0 = 0u; k0 < ${t.k}; k0 = k0 + ${depth}u) {`);
  w.line(`for (var i = thread; i < ${elements}u; i = i + ${all}u) {`);
  // aTile is [depth, side], bTile [depth, side]: threads of a row read one element, or neighbours.
  const aPlace = t.aByRows
    ? [`let ak = i % ${depth}u;`, `let am = i / ${depth}u;`]
    : [`let am = i % ${side}u;`, `let ak = i / ${side}u;`];
  const bPlace = t.bByRows
    ? [`let bn = i % ${side}u;`, `let bk = i / ${side}u;`]
    : [`let bk = i % ${depth}u;`, `let bn = i / ${depth}u;`];
  w.line(
    ...aPlace,
    'var av = 0.0f;',
    `if (row0 + am < ${t.m} && k0 + ak < ${t.k}) { av = ${t.a('row0 + am', 'k0 + ak')}; }`,
    `aTile[ak * ${side}u + am] = av;`,
    ...bPlace,
    'var bv = 0.0f;',
    `if (column0 + bn < ${t.n} && k0 + bk < ${t.k}) { bv = ${t.b('k0 + bk', 'column0 + bn')}; }`,
    `bTile[bk * ${side}u + bn] = bv;`,
    '}',
    'workgroupBarrier();',
    // Products of what lies beyond k would make NaN of 0 × Infinity.
    `let steps = min(${depth}u, ${t.k} - k0);`,
    'for (var j = 0u; j < steps; j = j + 1u) {',
    ...own.map((i) => `let a${i} = aTile[j * ${side}u + ty + ${i * threads}u];`),
    ...own.map((i) => `let c${i} = bTile[j * ${side}u + tx + ${i * threads}u];`),
    ...outputs.map((i) => {
      const [row, column] = [Math.floor(i / perThread), i % perThread];
      return `sum${i} = sum${i} + a${row} * c${column};`;
    }),
    '}',
    'workgroupBarrier();',
    '}',
  );
  for (const i of outputs) {
    const row = `row0 + ty + ${Math.floor(i / perThread) * threads}u`;
    const column = `column0 + tx + ${(i % perThread) * threads}u`;
    w.line(`if (${row} < ${t.m} && ${column} < ${t.n}) { ${t.out(row, column)} = sum${i}; }`);
  }
}
