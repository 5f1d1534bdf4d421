import type { Expr } from '../ops/expr/expr.ts';
import type { DType } from '../spec/dtype.ts';
import type { Shape } from '../spec/shape.ts';
import type { KernelOp } from './kernel-op.ts';

/** Where a part of a tiled op finds an element: another node's, or that of an operand of the whole op. */
export type TileSource = { readonly node: number } | { readonly operand: number };

/** Ops along rows whose numbers per row a kernel by tiles finds before it computes their elements. */
export type TileRowOp = 'softmax' | 'softmaxGrad';

/** Products of operands that a tiled op has at most: each has a tile in workgroup memory, of which 16 KiB are there. */
export const mostTileProducts = 2;

/** A matrix with one element per query and key. Nodes that it reads come before it. */
export type TileNode =
  /** A product of operands: [.., rows, depth] × [.., depth, columns]. */
  | { readonly kind: 'product'; readonly left: number; readonly right: number }
  | {
      readonly kind: 'pointwise';
      readonly expr: Expr;
      readonly sources: readonly TileSource[];
      readonly dtype: DType;
      /** The shape to which its operands broadcast: batches, then rows and columns. */
      readonly shape: Shape;
      readonly part: number;
    }
  /** Uniform random numbers, one per element in their order in memory. */
  | { readonly kind: 'uniform'; readonly part: number }
  | { readonly kind: 'row'; readonly op: TileRowOp; readonly sources: readonly number[] };

/** A product with the matrix of a node, which is a result of the op. */
export interface TileProduct {
  readonly node: number;
  /** The operand that is the other factor. */
  readonly factor: number;
  /** Sums go over the columns of the node, so that each row has a result, or over the rows. */
  readonly over: 'columns' | 'rows';
  /** The node's matrix is the left factor; the right one otherwise. */
  readonly isLeft: boolean;
}

/**
 * The computation of attention, or of its gradient, as data: products of matrices that are computed tile by tile,
 * rows × columns, from other products. No value with an element per row and column is in memory.
 */
export interface TiledBody {
  readonly batches: number;
  readonly rows: number;
  readonly columns: number;
  readonly nodes: readonly TileNode[];
  /** One per result. */
  readonly products: readonly TileProduct[];
  /** The ops whose attributes are told at a launch, by their numbers among the parts. */
  readonly parts: readonly { readonly op: KernelOp; readonly part: number }[];
}

/** The numbers of the nodes that a node is computed from, and its own, in their order. */
export function nodesBefore({ nodes }: TiledBody, wanted: Iterable<number>): readonly number[] {
  const found = new Set(wanted);
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

/** The numbers of the operands that some nodes are computed from, each once. */
export function operandsBefore(body: TiledBody, wanted: Iterable<number>): readonly number[] {
  const read = nodesBefore(body, wanted).flatMap((index) => {
    const node = body.nodes[index]!;
    if (node.kind === 'product') return [node.left, node.right];
    if (node.kind !== 'pointwise') return [];
    return node.sources.flatMap((from) => ('operand' in from ? [from.operand] : []));
  });
  return [...new Set(read)];
}

/** A pass over tiles that makes some of the results. */
export interface TilePass {
  readonly over: TileProduct['over'];
  /** Results that it makes, by number. */
  readonly results: readonly number[];
  /** Operands that it reads, by number. */
  readonly operands: readonly number[];
  /** It writes the numbers of rows for the next pass, or reads them. */
  readonly hasRowNumbers: boolean;
}

/**
 * The passes of a tiled op: rows first, whose numbers such as the sums of a softmax it finds; then columns, if there
 * are products over rows.
 */
export function tilePasses(body: TiledBody): readonly TilePass[] {
  const made = (over: TilePass['over']) =>
    body.products.flatMap((product, i) => (product.over === over ? [i] : []));
  const hasColumns = made('rows').length > 0;
  const pass = (over: TilePass['over']): TilePass => {
    const results = made(over);
    const own = results.map((i) => body.products[i]!);
    const all = over === 'columns' ? body.products : own;
    const read = operandsBefore(
      body,
      all.map(({ node }) => node),
    );
    const operands = [...new Set([...read, ...own.map(({ factor }) => factor)])];
    return { over, results, operands, hasRowNumbers: hasColumns };
  };
  return hasColumns ? [pass('columns'), pass('rows')] : [pass('columns')];
}

/** Buffers that one kernel of the op binds at most. */
export function buffersOfTiles(body: TiledBody): number {
  return Math.max(
    ...tilePasses(body).map(
      ({ operands, results, hasRowNumbers }) =>
        operands.length + results.length + (hasRowNumbers ? 1 : 0),
    ),
  );
}
