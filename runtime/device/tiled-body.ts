import type { Expr } from '../ops/expr/expr.ts';
import type { DType } from '../spec/dtype.ts';
import type { Shape } from '../spec/shape.ts';
import type { KernelOp } from './kernel-op.ts';

/** The source of an element in a tiled op: another node, or an operand of the whole op. */
export type TileSource = { readonly node: number } | { readonly operand: number };

/** Ops along rows whose per-row numbers a tiled kernel computes before the elements. */
type TileRowOp = 'softmax' | 'softmaxGrad';

/** The maximum number of products of operands in a tiled op: each has a tile in workgroup memory, which has 16 KiB. */
export const mostTileProducts = 2;

/** A matrix with one element per query and key. It reads only earlier nodes. */
export type TileNode =
  /** A product of operands: [.., rows, depth] × [.., depth, columns]. */
  | { readonly kind: 'product'; readonly left: number; readonly right: number }
  | {
      readonly kind: 'pointwise';
      readonly expr: Expr;
      readonly sources: readonly TileSource[];
      readonly dtype: DType;
      /** The shape that its operands broadcast to: batches, then rows and columns. */
      readonly shape: Shape;
      readonly part: number;
    }
  /** Uniform random numbers, one per element in memory order. */
  | { readonly kind: 'uniform'; readonly part: number }
  | { readonly kind: 'row'; readonly op: TileRowOp; readonly sources: readonly number[] };

/** A product with the matrix of a node, which is a result of the op. */
export interface TileProduct {
  readonly node: number;
  /** The operand that is the other factor. */
  readonly factor: number;
  /** Whether the product sums over the node's columns, which yields a result per row, or over its rows. */
  readonly over: 'columns' | 'rows';
  /** Whether the node's matrix is the left factor. */
  readonly isLeft: boolean;
}

/**
 * The computation of attention, or its gradient, as data: matrix products computed tile by tile, rows × columns, from
 * other products. Memory never contains a value with an element per row and column.
 */
export interface TiledBody {
  readonly batches: number;
  readonly rows: number;
  readonly columns: number;
  readonly nodes: readonly TileNode[];
  /** One product per result. */
  readonly products: readonly TileProduct[];
  /** The ops whose attributes are passed at launch, by part index. */
  readonly parts: readonly { readonly op: KernelOp; readonly part: number }[];
}

/** Returns these nodes and all nodes that they are computed from, in order. */
export function nodesBefore({ nodes }: TiledBody, indices: Iterable<number>): readonly number[] {
  const found = new Set(indices);
  for (let index = nodes.length - 1; index >= 0; index--) {
    if (found.has(index)) for (const each of nodesReadBy(nodes[index]!)) found.add(each);
  }
  return [...found].sort((a, b) => a - b);
}

function nodesReadBy(node: TileNode): readonly number[] {
  if (node.kind === 'row') return node.sources;
  if (node.kind !== 'pointwise') return [];
  return node.sources.flatMap((from) => ('node' in from ? [from.node] : []));
}

/** Returns the operands that some nodes are computed from, without duplicates. */
function operandsBefore(body: TiledBody, indices: Iterable<number>): readonly number[] {
  const read = nodesBefore(body, indices).flatMap((index) => {
    const node = body.nodes[index]!;
    if (node.kind === 'product') return [node.left, node.right];
    if (node.kind !== 'pointwise') return [];
    return node.sources.flatMap((from) => ('operand' in from ? [from.operand] : []));
  });
  return [...new Set(read)];
}

/** A pass over tiles that computes some of the results. */
export interface TilePass {
  readonly over: TileProduct['over'];
  /** Indices of the results it computes. */
  readonly results: readonly number[];
  /** Indices of the operands it reads. */
  readonly operands: readonly number[];
  /** Whether it writes row numbers for the next pass, or reads them. */
  readonly hasRowNumbers: boolean;
}

/**
 * Returns the passes of a tiled op: first by rows, which also computes row numbers such as softmax sums; then by
 * columns, if there are products over rows.
 */
export function tilePasses(body: TiledBody): readonly TilePass[] {
  const productsOver = (over: TilePass['over']) =>
    body.products.flatMap((product, i) => (product.over === over ? [i] : []));
  const hasColumns = productsOver('rows').length > 0;
  const pass = (over: TilePass['over']): TilePass => {
    const results = productsOver(over);
    const resultProducts = results.map((i) => body.products[i]!);
    const all = over === 'columns' ? body.products : resultProducts;
    const read = operandsBefore(
      body,
      all.map(({ node }) => node),
    );
    const operands = [...new Set([...read, ...resultProducts.map(({ factor }) => factor)])];
    return { over, results, operands, hasRowNumbers: hasColumns };
  };
  return hasColumns ? [pass('columns'), pass('rows')] : [pass('columns')];
}

/** Returns the maximum number of buffers that a kernel of the op binds. */
export function buffersOfTiles(body: TiledBody): number {
  return Math.max(
    ...tilePasses(body).map(
      ({ operands, results, hasRowNumbers }) =>
        operands.length + results.length + (hasRowNumbers ? 1 : 0),
    ),
  );
}
