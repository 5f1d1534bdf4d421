import { productName, type TileText } from './product-text.ts';
import { columnsPerThread, rowPitch, threadsAcross, upTo } from './tile-layout.ts';

/** The name of tile `array` in workgroup memory: each product has one; values use the first. */
const cellsName = (array: number): string => `cells${array}`;

/** Declares tiles of elements, and the numbers of rows, in workgroup memory. */
export function shareCells({ w, perThread, factors, numbers }: TileText): void {
  const rows = threadsAcross * perThread;
  [...factors.keys()].forEach((_, array) => {
    w.shared(cellsName(array), `array<f32, ${rows * rowPitch}>`);
  });
  w.shared('numbers', `array<f32, ${numbers * rows}>`);
}

/** Returns the text of a tile cell; `row` is relative to the tile. */
export function cell(row: string, column: string): string {
  return `${cellsName(0)}[(${row}) * ${rowPitch}u + ${column}]`;
}

/** The row or column within the tile of the thread's item `i`. */
export const rowInTile = (i: number): string => `ty + ${i * threadsAcross}u`;
export const columnInTile = (i: number): string => `tx + ${i * threadsAcross}u`;

/** Returns the text of a row's number, given the row's position in the tile. */
export function rowNumber({ perThread }: TileText, index: number | string, row: string): string {
  return `numbers[${index} * ${threadsAcross * perThread}u + ${row}]`;
}

/**
 * Writes the elements' contributions to step `step` into the thread's cells, and the neutral value outside the matrix.
 * Stores the thread's product elements first, so that a loop can index them.
 */
export function valuesText(t: TileText): void {
  const { w, perThread } = t;
  const products = [...t.factors.keys()];
  products.forEach((node, array) => {
    for (const r of upTo(perThread)) {
      for (const c of upTo(columnsPerThread)) {
        const at = `(${rowInTile(r)}) * ${rowPitch}u + ${columnInTile(c)}`;
        w.line(`${cellsName(array)}[${at}] = ${productName(node, r, c)};`);
      }
    }
  });
  const told = [
    'step',
    'z',
    'row0 + r',
    'column0 + c',
    ...products.map((_, array) => `${cellsName(array)}[place]`),
    ...upTo(t.numbers).map((index) => rowNumber(t, `${index}u`, 'r')),
  ];
  w.line(
    `for (var e = 0u; e < ${perThread * columnsPerThread}u; e = e + 1u) {`,
    `let r = ty + (e / ${columnsPerThread}u) * ${threadsAcross}u;`,
    `let c = tx + (e % ${columnsPerThread}u) * ${threadsAcross}u;`,
    `let place = r * ${rowPitch}u + c;`,
    'var found = neutral(step);',
    `if (row0 + r < ${t.rows} && column0 + c < ${t.columns}) {`,
    `found = value(${told.join(', ')});`,
    '}',
    `${cellsName(0)}[place] = found;`,
    '}',
  );
}
