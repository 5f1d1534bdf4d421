import { productName, productText, type TileText } from './product-text.ts';
import { columnsPerThread, tileColumns, upTo } from './tile-layout.ts';

/** The number of tiles whose products a thread keeps in registers, over all products: 16 numbers each. */
const mostHeld = 4;

/**
 * Returns the number of column tiles whose products are computed once and kept for all steps: a power of 2, so that
 * other sizes of the same class share the kernel. 0 for one tile or too many: each step then recomputes its products.
 */
export function heldTiles(columns: number, products: number): number {
  const tiles = 2 ** Math.ceil(Math.log2(Math.max(1, columns / tileColumns)));
  return tiles > 1 && tiles * products <= mostHeld ? tiles : 0;
}

const heldName = (tile: number, name: string): string => `h${tile}_${name}`;

/** Computes the products of all column tiles at `row0`. */
export function holdProducts(t: TileText, tiles: number): void {
  const { w, columns, factors } = t;
  for (const tile of upTo(tiles)) {
    w.line(...namesOf(t).map((name) => `var ${heldName(tile, name)} = 0.0f;`));
  }
  w.line(`for (var column0 = 0u; column0 < ${columns}; column0 = column0 + ${tileColumns}u) {`);
  for (const node of factors.keys()) productText(t, node);
  eachTile(t, tiles, (held, name) => `${held} = ${name};`);
  w.line('}');
}

/** Loads the kept products of the tile at `column0`. */
export function takeProducts(t: TileText, tiles: number): void {
  eachTile(t, tiles, (held, name) => `${name} = ${held};`);
}

function eachTile(t: TileText, tiles: number, line: (held: string, name: string) => string): void {
  for (const tile of upTo(tiles)) {
    const lines = namesOf(t).map((name) => line(heldName(tile, name), name));
    t.w.line(`if (column0 == ${tile * tileColumns}u) {`, ...lines, '}');
  }
}

/** Returns the names of the thread's elements of all products. */
function namesOf({ factors, perThread }: TileText): string[] {
  return [...factors.keys()].flatMap((node) =>
    upTo(perThread).flatMap((r) => upTo(columnsPerThread).map((c) => productName(node, r, c))),
  );
}
