import { threadsPerRow } from '../row-kernels.ts';
import { quad, quadFold } from '../thread-folds.ts';
import type { WgslWriter } from '../wgsl-writer.ts';
import { cell, columnInTile, rowInTile, rowNumber } from './cell-text.ts';
import type { TileText } from './product-text.ts';
import { columnsPerThread, threadsAcross, tileColumns, upTo } from './tile-layout.ts';
import type { TileStep } from './value-text.ts';

/**
 * The computation of a number of each row, as text, in the order of `row-kernels.ts`: columns with indices congruent
 * modulo 1, 8, 32 or 64 form one partial result; partial results are folded by fours, and the results of fours in
 * order.
 */
interface RowFoldText {
  /** Written before the first tile. */
  readonly start: () => void;
  /** Folds the cells of a tile. */
  readonly add: () => void;
  /** Written after the last tile: stores number `step` of the tile's rows in workgroup memory. */
  readonly finish: () => void;
}

/** Writes the functions `fold` and `neutral`, its initial value; sums with 0 for results. */
export function foldFunctions(w: WgslWriter, steps: readonly TileStep[]): void {
  const write = (signature: string, text: (step: TileStep) => string) => {
    w.function(signature, () => {
      steps.forEach((step, number) => {
        w.line(
          number < steps.length - 1
            ? `if (step == ${number}u) { return ${text(step)}; }`
            : `return ${text(step)};`,
        );
      });
    });
  };
  const foldOf = (step: TileStep) => (step.kind === 'number' ? step.number.fold.fold : null);
  write('neutral(step : u32) -> f32', (step) => foldOf(step)?.start ?? '0.0f');
  write('fold(step : u32, x : f32, v : f32) -> f32', (step) => foldOf(step)?.step ?? 'x + v');
}

/** Declares a partial result per row and thread along it, in workgroup memory. */
export function sharePartials({ w, perThread }: TileText): void {
  w.shared('partials', `array<f32, ${threadsAcross * perThread * threadsAcross}>`);
}

export function rowFoldText(t: TileText, columns: number): RowFoldText {
  const slices = threadsPerRow(columns);
  if (slices === 1) return singleThreadFold(t);
  return slices === threadsAcross ? byThreads(t) : byColumns(t, slices / tileColumns);
}

/** The number of groups of four threads along a row. */
const fours = threadsAcross / quad;

const step = (into: string, value: string) => `${into} = fold(step, ${into}, ${value});`;

/** For one partial result: one thread folds a row of the only tile. */
function singleThreadFold(t: TileText): RowFoldText {
  return {
    start: () => {},
    add: () => {
      t.w.line('workgroupBarrier();');
      eachRow(t, 'neutral(step)', [
        `for (var j = 0u; j < ${t.columns}; j = j + 1u) { ${step('x', cell('thread', 'j'))} }`,
      ]);
    },
    finish: () => {},
  };
}

/** For one partial result per thread along a row; a tile's width is a multiple of their number. */
function byThreads(t: TileText): RowFoldText {
  const indices = upTo(t.perThread);
  return {
    start: () => t.w.line(...indices.map((r) => `var x${r} = neutral(step);`)),
    add: () => {
      for (const r of indices) {
        for (const c of upTo(columnsPerThread)) {
          t.w.line(step(`x${r}`, cell(rowInTile(r), columnInTile(c))));
        }
      }
    },
    finish: () => foldPartials(t, (r) => `x${r}`, true),
  };
}

/** For one partial result per column of a tile, or of two tiles. */
function byColumns(t: TileText, tiles: number): RowFoldText {
  const { w, perThread } = t;
  const tileNumbers = upTo(tiles);
  const name = (tile: number, r: number, c: number) => `x${tile}_${r}_${c}`;
  const each = (body: (r: number, c: number) => string) =>
    upTo(columnsPerThread).flatMap((c) => upTo(perThread).map((r) => body(r, c)));
  const addTo = (tile: number) =>
    each((r, c) => step(name(tile, r, c), cell(rowInTile(r), columnInTile(c))));
  return {
    start: () => {
      for (const tile of tileNumbers) {
        w.line(...each((r, c) => `var ${name(tile, r, c)} = neutral(step);`));
      }
    },
    add: () => {
      for (const tile of tileNumbers) {
        w.line(`if ((column0 / ${tileColumns}u) % ${tiles}u == ${tile}u) {`, ...addTo(tile), '}');
      }
    },
    finish: () => {
      for (const tile of tileNumbers) {
        for (const c of upTo(columnsPerThread)) {
          foldPartials(t, (r) => name(tile, r, c), tile === 0 && c === 0);
        }
      }
    },
  };
}

/** Folds one partial result per thread along a row: by fours, then the results in thread order. */
function foldPartials(t: TileText, partial: (r: number) => string, isFirst: boolean): void {
  const { w, perThread } = t;
  const folded = (x: string, v: string) => `fold(step, ${x}, ${v})`;
  const bySubgroups = w.lanes >= quad;
  const width = bySubgroups ? fours : threadsAcross;
  for (const r of upTo(perThread)) {
    if (bySubgroups) {
      const four = quadFold(w, w.let(partial(r)), folded);
      const place = `partials[(${rowInTile(r)}) * ${fours}u + tx / ${quad}u]`;
      w.line(`if (tx % ${quad}u == 0u) { ${place} = ${four}; }`);
    } else w.line(`partials[(${rowInTile(r)}) * ${threadsAcross}u + tx] = ${partial(r)};`);
  }
  w.line('workgroupBarrier();');
  const own = (i: number) => `partials[thread * ${width}u + ${i}u]`;
  const four = (number: number) =>
    bySubgroups
      ? own(number)
      : upTo(quad)
          .map((i) => own(number * quad + i))
          .reduce(folded);
  const first = isFirst ? four(0) : rowNumber(t, 'step', 'thread');
  const others = upTo(fours).slice(isFirst ? 1 : 0);
  eachRow(
    t,
    first,
    others.map((number) => step('x', four(number))),
  );
}

/** Writes how one thread per row continues from `start` to the row's number, and a barrier. */
function eachRow(t: TileText, start: string, lines: readonly string[]): void {
  t.w.line(
    `if (thread < ${threadsAcross * t.perThread}u) {`,
    `var x = ${start};`,
    ...lines,
    `${rowNumber(t, 'step', 'thread')} = x;`,
    '}',
    'workgroupBarrier();',
  );
}
