import { identity } from '../../../ops/expr/expr-type.ts';
import type { TensorMeta } from '../../../tensor/meta.ts';
import { broadcastStrides, sizeOf } from '../../../tensor/shape.ts';
import { input, output } from '../kernel-plan.ts';
import { indexTexts, walksOf } from './index-text.ts';
import { bodyText, chosenByExponents, exponentNames } from './pointwise-kernel.ts';
import { type HeadBody, operandsUsed } from './staged-body.ts';
import type { WgslPlan, WgslStage } from './wgsl-plan.ts';
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
export function matmulPlan(
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): WgslPlan {
  const [out] = outputs;
  const copied = { expr: identity, operands: [{ operand: inputs.length }], dtype: out!.dtype };
  const body = { shape: out!.shape, parts: [copied], results: [0], writes: [] };
  return productPlan({ reads: [0, 1], body, attr: (_part, name) => name }, inputs, outputs);
}

/** A product and the pointwise ops on each of its elements, before it is stored. */
export function productPlan(
  { reads: factors, body, attr }: HeadBody,
  inputs: readonly TensorMeta[],
  outputs: readonly TensorMeta[],
): WgslPlan {
  const { shape } = body;
  const rank = shape.length;
  const batchShape = shape.slice(0, -2);
  const [m, n] = [shape[rank - 2]!, shape[rank - 1]!];
  const factorMetas = factors.map((index) => inputs[index]!);
  const k = factorMetas[0]!.shape[rank - 1]!;
  const batches = sizeOf(batchShape);
  const batchWalks = (strides: readonly (readonly number[])[]) =>
    walksOf(
      batchShape,
      strides.map((each) => each.slice(0, -2)),
    ).loops;
  const factorLoops = batchWalks(factorMetas.map(({ strides }) => strides));
  const [left, right] = factorMetas.map(({ strides }) => sidesOf(strides)) as [Sides, Sides];
  const metas = [...inputs, ...outputs];
  const used = operandsUsed(body);
  const strides = metas.map((meta, i) =>
    i < inputs.length && !used.has(i)
      ? shape.map(() => 0)
      : broadcastStrides(meta.shape, meta.strides, shape),
  );
  const loops = batchWalks(strides);
  const tile = tileFor(m, k, n, batches);
  const side = tile ? tile.threads * tile.perThread : 1;
  const tiles = Math.ceil(m / side) * Math.ceil(n / side);
  const threads = tile ? tile.threads * tile.threads : workgroupThreads;
  const stage: WgslStage = {
    operands: metas.map((meta, i) => ({
      slot: i < inputs.length ? input(i) : output(i - inputs.length),
      written: i >= inputs.length || body.writes.some(({ operand }) => operand === i),
      walk: factors.includes(i) ? null : strides[i]!.join(),
      elements: sizeOf(meta.shape),
    })),
    isEmpty: sizeOf(shape) === 0,
    chosenBy: chosenByExponents(exponentNames(body, attr)),
    write: ({ bindings, written, attrs }) => {
      const w = new WgslWriter({ threads, written });
      const counts = { m: w.count('m', m), n: w.count('n', n), k: w.count('k', k) };
      const times = (name: string, stride: number) =>
        stride === 1 ? '' : ` * ${w.count(name, stride)}`;
      const batch = w.count('batches', batches);
      w.line(`for (var z = at.z; z < ${batch}; z = z + count.z) {`);
      const bases = indexTexts(w, factorLoops, 'z', 'batch_');
      const first = bases.map((base, i) => w.let(`${w.offset(factors[i]!)} + ${base}`));
      const factor =
        (i: number, { row, column }: Sides) =>
        (r: string, c: string) =>
          `b${bindings[factors[i]!]!}[${first[i]!} + (${r})${times(`row${i}`, row)} + (${c})${times(`column${i}`, column)}]`;
      const texts: ProductTexts = {
        ...counts,
        a: factor(0, left),
        b: factor(1, right),
        aByRows: left.column === 1,
        bByRows: right.column === 1 || right.row !== 1,
      };
      if (tile) tileText(w, tile, texts);
      else directText(w, texts);
      w.line('}');
      w.function('finish(z : u32, row : u32, column : u32, product : f32)', () => {
        const own = indexTexts(w, loops, 'z', 'own_');
        const place = (i: number) => {
          const sides = sidesOf(strides[i]!);
          const term = (name: string, coordinate: string, stride: number) =>
            stride === 0 ? '' : ` + ${coordinate}${times(`${name}${i}_own`, stride)}`;
          return `b${bindings[i]!}[${w.offset(i)} + ${own[i]!}${term('row', 'row', sides.row)}${term('column', 'column', sides.column)}]`;
        };
        bodyText(w, body, {
          // The product is the operand after those of the op, and results come after these.
          place,
          firstResult: inputs.length,
          dtype: (i) => inputs[i]?.dtype ?? factorMetas[0]!.dtype,
          known: new Map([[inputs.length, 'product']]),
          attr: (part, name) => {
            const full = attr(part, name);
            return { field: `a_${full}`, name: full, value: Number(attrs[full]) };
          },
        });
      });
      return {
        text: w.text(),
        uniforms: w.uniforms,
        groups: groupsOf(
          tile ? tiles : Math.ceil(tiles / workgroupThreads),
          Math.min(batches, mostSlices),
        ),
      };
    },
  };
  return { scratch: [], stages: [stage] };
}

function sidesOf(strides: readonly number[]): Sides {
  const rank = strides.length;
  return { row: strides[rank - 2]!, column: strides[rank - 1]! };
}

/** Workgroups along z; more batches than these take several rounds. */
const mostSlices = 65535;

interface ProductTexts {
  readonly m: string;
  readonly n: string;
  readonly k: string;
  readonly a: (row: string, column: string) => string;
  readonly b: (row: string, column: string) => string;
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
    'finish(z, row, column, sum);',
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
    w.line(`if (${row} < ${t.m} && ${column} < ${t.n}) { finish(z, ${row}, ${column}, sum${i}); }`);
  }
}
